"""The flagship: profile any data with any model before training."""

from priorscope.profiles._candidates import Candidate
from priorscope.profiles._kind import Kind
from priorscope.profiles._metric import Metric
from priorscope.profiles._profile import profile
from priorscope.profiles._progress import Step
from priorscope.profiles._result import CandidateProfile, Profile
from priorscope.profiles._row import ErrorCurve, EstimatorRecipe, KernelRecipe, NetworkRecipe, Row
from priorscope.profiles._standing import Standing

__all__ = [
    "Candidate",
    "CandidateProfile",
    "ErrorCurve",
    "EstimatorRecipe",
    "KernelRecipe",
    "Kind",
    "Metric",
    "NetworkRecipe",
    "Profile",
    "Row",
    "Standing",
    "Step",
    "profile",
]
