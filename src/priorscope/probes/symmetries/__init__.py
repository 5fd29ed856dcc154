"""Symmetries of learning systems, of kernels and of labels: groups, exact coupling, two-sample test, single moves."""

from priorscope.probes.symmetries._coupling import Coupling, couple
from priorscope.probes.symmetries._elements import moving_elements
from priorscope.probes.symmetries._energy import TwoSample, energy_test
from priorscope.probes.symmetries._equivariance import Equivariance, equivariance
from priorscope.probes.symmetries._kernel_moves import Kept, KernelMoves, kernel_moves, relative_change
from priorscope.probes.symmetries._label_moves import LabelMove, LabelMoves, label_moves
from priorscope.probes.symmetries._neighbours import Shared, agreement_by_chance, neighbour_agreement, shared_by
from priorscope.probes.symmetries._symmetry import Symmetry, symmetry

__all__ = [
    "Coupling",
    "Equivariance",
    "KernelMoves",
    "Kept",
    "LabelMove",
    "LabelMoves",
    "Shared",
    "Symmetry",
    "TwoSample",
    "agreement_by_chance",
    "couple",
    "energy_test",
    "equivariance",
    "kernel_moves",
    "label_moves",
    "moving_elements",
    "neighbour_agreement",
    "relative_change",
    "shared_by",
    "symmetry",
]
