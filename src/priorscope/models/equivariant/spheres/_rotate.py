"""Signals on the sphere and on SO(3) turned by a rotation, in the space of coefficients."""

from __future__ import annotations

from torch import Tensor

from priorscope.models.equivariant.spheres._fourier import s2_fft, s2_ifft, so3_fft, so3_ifft
from priorscope.models.equivariant.spheres._rotation import euler_angles
from priorscope.models.equivariant.spheres._wigner import wigner_D

__all__ = ["rotate_s2", "rotate_so3"]


def rotate_so3(signal: Tensor, rotation: Tensor) -> Tensor:
    r"""The signal :math:`[L_R f](Q) = f(R^{-1} Q)` on SO(3): its part of bandwidth b, turned exactly.

    .. math:: \widehat{L_R f}^l = \overline{D^l(R)}\,\hat f^l

    (derived from the definition of the transform). What the grid holds beyond its bandwidth is dropped.

    Example:
        >>> import torch
        >>> f = torch.randn(3, 4, 4, 4, generator=torch.Generator().manual_seed(0))
        >>> rotate_so3(f, torch.eye(3)).shape
        torch.Size([3, 4, 4, 4])
    """
    angles = euler_angles(rotation)
    blocks = [wigner_D(l, *angles).conj().to(block.dtype) @ block for l, block in enumerate(so3_fft(signal))]
    return so3_ifft(blocks, real=not signal.is_complex())


def rotate_s2(signal: Tensor, rotation: Tensor) -> Tensor:
    r"""The signal :math:`[L_R f](x) = f(R^{-1} x)` on the sphere: its part of bandwidth b, turned exactly.

    Example:
        >>> import torch, priorscope as ps
        >>> z = ps.models.spheres.soft_angles(4)[1].cos()[:, None].expand(8, 8)  # the height
        >>> over = torch.diag(torch.tensor([1.0, -1.0, -1.0]))  # half a turn about x
        >>> bool(torch.allclose(rotate_s2(z, over), -z))
        True
    """
    angles = euler_angles(rotation)
    blocks = [
        (wigner_D(l, *angles).conj().to(block.dtype) @ block[..., None])[..., 0]
        for l, block in enumerate(s2_fft(signal))
    ]
    return s2_ifft(blocks, real=not signal.is_complex())
