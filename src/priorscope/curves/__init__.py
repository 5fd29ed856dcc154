"""Learning curves beyond what was measured: one forecaster for anybody's points, with priors learnt from measured curves."""

from priorscope.curves._cautions import CurveCaution, CurveCautionKind
from priorscope.curves._extrapolate import KINDS, extrapolate
from priorscope.curves._many import Curve, Extrapolations, extrapolate_many, luck_correlation
from priorscope.curves._result import Extrapolation, Needed

__all__ = [
    "KINDS",
    "Curve",
    "CurveCaution",
    "CurveCautionKind",
    "Extrapolation",
    "Extrapolations",
    "Needed",
    "extrapolate",
    "extrapolate_many",
    "luck_correlation",
]
