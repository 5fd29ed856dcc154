"""The flagship: profile any data with any model before training."""

from priorscope.profiles._baseline import Baseline
from priorscope.profiles._candidates import Candidate
from priorscope.profiles._contender import Contender
from priorscope.profiles._kind import Kind
from priorscope.profiles._offers import register_offer
from priorscope.profiles._profile import profile
from priorscope.profiles._progress import Step
from priorscope.profiles._race import Race
from priorscope.profiles._result import Profile
from priorscope.profiles._row import ErrorCurve, Row

__all__ = [
    "Baseline",
    "Candidate",
    "Contender",
    "ErrorCurve",
    "Kind",
    "Profile",
    "Race",
    "Row",
    "Step",
    "profile",
    "register_offer",
]
