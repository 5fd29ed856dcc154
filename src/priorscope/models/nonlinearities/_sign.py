"""The sign function."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import torch
from torch import Tensor

from priorscope.models.kernels._instructions import SIGN
from priorscope.models.nonlinearities._nonlinearity import Nonlinearity, cosine
from priorscope.models.nonlinearities._rectifiers import arcsine

__all__ = ["Sign"]


@dataclass(frozen=True)
class Sign(Nonlinearity):
    r"""−1, 0 or 1: :math:`E[\phi\phi] = \frac{2}{\pi}\arcsin c` (Cho & Saul 2009, degree 0).

    The derivative map is zero, as for the finite network: automatic differentiation does not see the jump.

    Example:
        >>> import torch
        >>> Sign()(torch.tensor([-2.0, 3.0]))
        tensor([-1.,  1.])
    """

    @property
    def odd(self) -> bool:
        return True

    def __call__(self, x: Tensor) -> Tensor:
        return x.sign()

    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return (2 / pi) * arcsine(cosine(k12, k11, k22)[0])

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return torch.zeros_like(k12)

    def fused(self) -> tuple[int, tuple[float, ...]]:
        return SIGN, ()
