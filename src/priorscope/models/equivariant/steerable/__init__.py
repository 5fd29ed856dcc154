"""Steerable convolution on voxels: kernels that commute with rotations, what goes between them, export to plain modules."""

from __future__ import annotations

from priorscope.models.equivariant.steerable._basis import CUTOFFS, kernel_basis
from priorscope.models.equivariant.steerable._batch_norm import FieldBatchNorm, fold
from priorscope.models.equivariant.steerable._convolution import SteerableConv3d
from priorscope.models.equivariant.steerable._fields import channels_of, field_matrix, rotate_fields
from priorscope.models.equivariant.steerable._low_pass import LowPass
from priorscope.models.equivariant.steerable._nonlinearities import Gate, NormReLU, TensorProduct

__all__ = [
    "CUTOFFS",
    "FieldBatchNorm",
    "Gate",
    "LowPass",
    "NormReLU",
    "SteerableConv3d",
    "TensorProduct",
    "channels_of",
    "field_matrix",
    "fold",
    "kernel_basis",
    "rotate_fields",
]
