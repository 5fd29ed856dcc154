"""The error function."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import torch
from torch import Tensor

from priorscope.models.kernels._instructions import ERF
from priorscope.models.nonlinearities._nonlinearity import UNSURE, Nonlinearity, determinant, refuse_unresolved, steep

__all__ = ["Erf"]


@dataclass(frozen=True)
class Erf(Nonlinearity):
    r"""erf(x), with torch's normalisation.

    .. math:: E[\phi\phi] = \frac{2}{\pi}\arcsin\frac{2k_{12}}{\sqrt{(1+2k_{11})(1+2k_{22})}}, \qquad
        E[\phi'\phi'] = \frac{4}{\pi}\big((1+2k_{11})(1+2k_{22}) - 4k_{12}^2\big)^{-1/2}

    Williams (1997), "Computing with infinite networks". Computed as the arc tangent of :math:`2k_{12}/\sqrt D` with
    :math:`D = 1 + 2k_{11} + 2k_{22} + 4(k_{11}k_{22} - k_{12}^2)`, whose terms do not cancel: right at all scales.

    Example:
        >>> import torch
        >>> Erf()(torch.zeros(1))
        tensor([0.])
    """

    @property
    def odd(self) -> bool:
        return True

    def __call__(self, x: Tensor) -> Tensor:
        return torch.erf(x)

    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return (2 / pi) * torch.atan2(2 * k12, self._root(k12, k11, k22))

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return (4 / pi) / self._root(k12, k11, k22)

    def _root(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        d = 1 + 2 * (k11 + k22) + 4 * determinant(k12, k11, k22)
        if steep(k11, k22):
            refuse_unresolved("Erf", 4 * k11 * k22 * UNSURE / d, k12, k11, k22)
        return d.sqrt()

    def fused(self) -> tuple[int, tuple[float, ...]]:
        return ERF, ()
