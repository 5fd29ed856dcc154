"""Implicit bias: which of many fits descent chooses, found by convex programming instead."""

from priorscope.probes.limits.implicit._completion import CompletionScale, completion_scale
from priorscope.probes.limits.implicit._diagonal import (
    InitialScale,
    diagonal_penalty,
    diagonal_potential,
    diagonal_solution,
    distance_penalty,
    distance_solution,
    initial_scale,
)
from priorscope.probes.limits.implicit._maximum_margin import hard_margin, maximum_margin, norm_of
from priorscope.probes.limits.implicit._minimum_norm import minimum_norm, minimum_potential
from priorscope.probes.limits.implicit._nuclear_norm import minimum_nuclear_norm

__all__ = [
    "CompletionScale",
    "InitialScale",
    "completion_scale",
    "diagonal_penalty",
    "diagonal_potential",
    "diagonal_solution",
    "distance_penalty",
    "distance_solution",
    "hard_margin",
    "initial_scale",
    "maximum_margin",
    "minimum_norm",
    "minimum_nuclear_norm",
    "minimum_potential",
    "norm_of",
]
