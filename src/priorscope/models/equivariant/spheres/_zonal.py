"""The convolution of Driscoll & Healy on the sphere, whose filters cannot tell directions: for contrast."""

from __future__ import annotations

from torch import Tensor

from priorscope.models.equivariant.spheres._fourier import s2_fft, s2_ifft
from priorscope.models.equivariant.spheres._grid import bandwidth_of

__all__ = ["zonal_convolution"]


def zonal_convolution(signal: Tensor, psi: Tensor) -> Tensor:
    r"""Signals (…, 2b, 2b) convolved with a filter (2b, 2b) in the sense of Driscoll & Healy (1994).

    .. math:: [f * \psi](x) = \int_{SO(3)} f(Rn)\,\psi(R^{-1}x)\,dR, \qquad \hat{}\,^l_m = \hat f^l_m\,\hat\psi^l_0

    (Cohen et al. 2018, appendix C, eq. 18.) The result lives on the sphere, and the filter enters by its mean over turns about
    the pole alone: :class:`S2Correlation` has no such blindness.

    Example:
        >>> import torch
        >>> bump = torch.rand(8, 8, generator=torch.Generator().manual_seed(0))
        >>> same = torch.allclose(zonal_convolution(bump, bump), zonal_convolution(bump, bump.roll(3, 1)), atol=1e-6)
        >>> same  # the filter turned about the pole
        True
    """
    if bandwidth_of(signal, 2) != bandwidth_of(psi, 2) or psi.ndim != 2:
        raise ValueError(
            f"wanted a filter (2b, 2b) on the grid of the signal; got {tuple(psi.shape)} for signals {tuple(signal.shape)}."
        )
    pairs = zip(s2_fft(signal), s2_fft(psi.to(signal.dtype)))
    blocks = [f * p[..., l : l + 1] for l, (f, p) in enumerate(pairs)]
    return s2_ifft(blocks, real=not (signal.is_complex() or psi.is_complex()))
