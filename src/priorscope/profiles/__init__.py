"""The flagship: profile any data with any model before training."""

from priorscope.profiles._candidates import Candidate
from priorscope.profiles._kind import Kind
from priorscope.profiles._metric import Metric
from priorscope.profiles._page_folded import Folded, Table
from priorscope.profiles._profile import profile
from priorscope.profiles._progress import Step
from priorscope.profiles._result import CandidateProfile, Profile
from priorscope.profiles._row import ErrorCurve, EstimatorRecipe, KernelRecipe, NetworkRecipe, Row
from priorscope.profiles._scene import Scene
from priorscope.profiles._standing import Standing
from priorscope.profiles.sections import Finding, Section, register_section
from priorscope.profiles.sources import EstimatorOffer, Source, register_source

__all__ = [
    "Candidate",
    "CandidateProfile",
    "ErrorCurve",
    "EstimatorOffer",
    "EstimatorRecipe",
    "Finding",
    "Folded",
    "KernelRecipe",
    "Kind",
    "Metric",
    "NetworkRecipe",
    "Profile",
    "Row",
    "Scene",
    "Section",
    "Source",
    "Standing",
    "Step",
    "Table",
    "profile",
    "register_section",
    "register_source",
]
