"""Spherical networks: Fourier transforms on the sphere and on SO(3), correlation layers, pools and what is built of them."""

from __future__ import annotations

from priorscope.models.equivariant.spheres._correlation import S2Correlation, SO3Correlation
from priorscope.models.equivariant.spheres._filters import identity_filter, local_filter, ring_filter
from priorscope.models.equivariant.spheres._fourier import s2_fft, s2_ifft, so3_fft, so3_ifft
from priorscope.models.equivariant.spheres._grid import soft_angles, soft_weights
from priorscope.models.equivariant.spheres._molecules import MoleculeNetwork
from priorscope.models.equivariant.spheres._pooling import SO3Integral, SO3Max
from priorscope.models.equivariant.spheres._residual import SphericalResidual
from priorscope.models.equivariant.spheres._rotate import rotate_s2, rotate_so3
from priorscope.models.equivariant.spheres._rotation import euler_angles, rotation_matrix
from priorscope.models.equivariant.spheres._wigner import wigner_D, wigner_d
from priorscope.models.equivariant.spheres._zonal import zonal_convolution

__all__ = [
    "MoleculeNetwork",
    "S2Correlation",
    "SO3Correlation",
    "SO3Integral",
    "SO3Max",
    "SphericalResidual",
    "euler_angles",
    "identity_filter",
    "local_filter",
    "ring_filter",
    "rotate_s2",
    "rotate_so3",
    "rotation_matrix",
    "s2_fft",
    "s2_ifft",
    "so3_fft",
    "so3_ifft",
    "soft_angles",
    "soft_weights",
    "wigner_D",
    "wigner_d",
    "zonal_convolution",
]
