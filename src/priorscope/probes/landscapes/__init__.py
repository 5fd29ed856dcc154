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
from priorscope.probes.landscapes._network import count_weights, plain_network, random_patterns

__all__ = [
    "HessianOperators",
    "HessianSplit",
    "Landscape",
    "count_cusps",
    "count_weights",
    "effective_parameters",
    "hessian_operators",
    "hessian_split",
    "lanczos_density",
    "landscape",
    "plain_network",
    "random_patterns",
    "small_argument_exponent",
]
