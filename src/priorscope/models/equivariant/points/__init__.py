"""Networks on clouds of points, on e3nn: rotations, shifts and mirrors; tensors taken apart; what would break a symmetry."""

from __future__ import annotations

from priorscope.models.equivariant.points._breaking import breaking_gradients
from priorscope.models.equivariant.points._convolution import PointConvolution
from priorscope.models.equivariant.points._decomposition import TensorDecomposition, decompose_tensor
from priorscope.models.equivariant.points._network import PointNetwork

__all__ = ["PointConvolution", "PointNetwork", "TensorDecomposition", "breaking_gradients", "decompose_tensor"]
