"""Gaussian error linear unit."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import torch
from torch import Tensor

from priorscope.models.kernels._instructions import GELU as GELU_KIND
from priorscope.models.nonlinearities._nonlinearity import Nonlinearity, determinant

__all__ = ["GELU"]


@dataclass(frozen=True)
class GELU(Nonlinearity):
    r"""x Φ(x), exact (not the tanh approximation).

    With :math:`\Delta = k_{11}k_{22} - k_{12}^2`, :math:`D^2 = 1 + k_{11} + k_{22} + \Delta` and
    :math:`B = E[\Phi(u)\Phi(v)] = \tfrac14 + \tfrac{1}{2\pi}\arctan\tfrac{k_{12}}{D}`,

    .. math:: E[\phi\phi] = k_{12}B
        + \frac{1}{2\pi D}\left(\Delta + \tfrac{k_{12}^2}{1+k_{11}} + \tfrac{k_{12}^2}{1+k_{22}}\right),
        \qquad E[\phi'\phi'] = B + \frac{k_{12}}{2\pi D}\,
        \frac{3 + k_{11} + k_{22} + k_{12}^2/D^2}{(1+k_{11})(1+k_{22})}

    from Stein's lemma applied twice; Tsuchida et al. (2021) give an equivalent form. The derivative map is the derivative in
    :math:`k_{12}` (Price's theorem). In this form no terms cancel at large variances.

    Example:
        >>> import torch
        >>> GELU()(torch.zeros(1))
        tensor([0.])
    """

    def __call__(self, x: Tensor) -> Tensor:
        return torch.nn.functional.gelu(x)

    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        gap = determinant(k12, k11, k22)
        d = (1 + k11 + k22 + gap).sqrt()
        both = 0.25 + torch.atan2(k12, d) / (2 * pi)
        return k12 * both + (gap + k12 * k12 * (1 / (1 + k11) + 1 / (1 + k22))) / (2 * pi * d)

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        d = (1 + k11 + k22 + determinant(k12, k11, k22)).sqrt()
        both = 0.25 + torch.atan2(k12, d) / (2 * pi)
        ratio = k12 / d
        return both + ratio * ((3 + k11 + k22 + ratio * ratio) / ((1 + k11) * (1 + k22))) / (2 * pi)

    def fused(self) -> tuple[int, tuple[float, ...]]:
        return GELU_KIND, ()
