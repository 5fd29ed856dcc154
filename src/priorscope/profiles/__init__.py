"""The flagship: profile any data with any model before training."""

from priorscope.profiles._architecture import ArchitectureProfile
from priorscope.profiles._baseline import Baseline
from priorscope.profiles._candidates import Candidate
from priorscope.profiles._contender import Contender
from priorscope.profiles._kind import Kind
from priorscope.profiles._offers import register_offer
from priorscope.profiles._page_folded import Folded, Table
from priorscope.profiles._profile import profile
from priorscope.profiles._progress import Step
from priorscope.profiles._result import Profile
from priorscope.profiles._row import ErrorCurve, Row
from priorscope.profiles._scene import Paired, Scene
from priorscope.profiles.sections import Finding, Section, register_section

__all__ = [
    "ArchitectureProfile",
    "Baseline",
    "Candidate",
    "Contender",
    "ErrorCurve",
    "Finding",
    "Folded",
    "Kind",
    "Paired",
    "Profile",
    "Row",
    "Scene",
    "Section",
    "Step",
    "Table",
    "profile",
    "register_offer",
    "register_section",
]
