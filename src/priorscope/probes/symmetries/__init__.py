"""Symmetries of learning systems: kernel invariance, exact coupling, two-sample test."""

from priorscope.probes.symmetries._coupling import Coupling, couple
from priorscope.probes.symmetries._elements import moving_elements
from priorscope.probes.symmetries._energy import TwoSample, energy_test
from priorscope.probes.symmetries._equivariance import Equivariance, equivariance
from priorscope.probes.symmetries._symmetry import Symmetry, symmetry

__all__ = [
    "Coupling",
    "Equivariance",
    "Symmetry",
    "TwoSample",
    "couple",
    "energy_test",
    "equivariance",
    "moving_elements",
    "symmetry",
]
