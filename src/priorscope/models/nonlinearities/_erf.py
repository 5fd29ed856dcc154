"""The error function."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import torch
from torch import Tensor

from priorscope.models.nonlinearities._nonlinearity import Nonlinearity

__all__ = ["Erf"]


@dataclass(frozen=True)
class Erf(Nonlinearity):
    r"""erf(x), with torch's normalisation.

    .. math:: E[\phi\phi] = \frac{2}{\pi}\arcsin\frac{2k_{12}}{\sqrt{(1+2k_{11})(1+2k_{22})}}, \qquad
        E[\phi'\phi'] = \frac{4}{\pi}\big((1+2k_{11})(1+2k_{22}) - 4k_{12}^2\big)^{-1/2}

    Williams (1997), "Computing with infinite networks".

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
        return (2 / pi) * torch.asin(2 * k12 / ((1 + 2 * k11) * (1 + 2 * k22)).sqrt())

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return (4 / pi) / ((1 + 2 * k11) * (1 + 2 * k22) - 4 * k12 * k12).sqrt()
