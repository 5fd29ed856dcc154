"""Loss landscape: gaps, overlaps, the Hessian in two parts, and how many parameters count."""

from __future__ import annotations

from priorscope.probes.landscapes._effective import count_cusps, effective_parameters
from priorscope.probes.landscapes._exponents import small_argument_exponent
from priorscope.probes.landscapes._hessian import (
    HessianOperators,
    HessianSplit,
    hessian_operators,
    hessian_split,
    lanczos_density,
)
from priorscope.probes.landscapes._landscape import Landscape, landscape

__all__ = [
    "HessianOperators",
    "HessianSplit",
    "Landscape",
    "count_cusps",
    "effective_parameters",
    "hessian_operators",
    "hessian_split",
    "lanczos_density",
    "landscape",
    "small_argument_exponent",
]
