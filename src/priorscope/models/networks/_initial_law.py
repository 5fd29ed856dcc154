"""The law of one parameter at initialisation: what a layer draws its weights by, and by which they are drawn again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Literal, Protocol, runtime_checkable

import torch
from torch import Tensor

from priorscope.checks import ANY_NUMBER, checked, whole

__all__ = ["InitialLaw", "StatesLaws"]


@checked(size=ANY_NUMBER, fan_in=whole(), sites=whole())
@dataclass(frozen=True)
class InitialLaw:
    r"""How the entries of one parameter are drawn.

    ``normal``: :math:`N(0, s^2)`; ``uniform``: :math:`U(-s, s)`; ``constant``: all s; ``orthogonal``: Haar-distributed
    orthonormal rows or columns of ``sites`` matrices with ``fan_in`` columns, scaled to entries of mean square
    :math:`s^2`. ``size`` is s.

    Example:
        >>> InitialLaw("constant", 2.0).draw((3,), torch.Generator(), torch.float32).tolist()
        [2.0, 2.0, 2.0]
        >>> round(InitialLaw("uniform", 3.0).mean_square, 6)
        3.0
    """

    kind: Literal["normal", "uniform", "constant", "orthogonal"]
    size: float
    fan_in: int = 1
    sites: int = 1

    @property
    def mean_square(self) -> float:
        """Expected square of an entry."""
        return self.size**2 / 3 if self.kind == "uniform" else self.size**2

    def draw(
        self, shape: tuple[int, ...], generator: torch.Generator | None, dtype: torch.dtype, n: int | None = None
    ) -> Tensor:
        """One draw (shape), or ``n`` of them (n, *shape); from torch's own generator where none is given."""
        whole = shape if n is None else (n, *shape)
        if self.kind == "constant":
            return torch.full(whole, self.size, dtype=dtype)
        if self.kind == "uniform":
            return self.size * (2 * torch.rand(whole, generator=generator, dtype=dtype) - 1)
        omega = torch.randn(whole, generator=generator, dtype=dtype)
        if self.kind == "orthogonal":
            omega = _orthonormal(omega.reshape(self.sites * (n or 1), -1, self.fan_in)).reshape(whole)
        return self.size * omega


@runtime_checkable
class StatesLaws(Protocol):
    """A module that states the laws of its own parameters by name, as the layers of this library do.

    Example:
        >>> isinstance(torch.nn.Linear(2, 1), StatesLaws)
        False
    """

    laws: Mapping[str, InitialLaw]


def _orthonormal(gaussian: Tensor) -> Tensor:
    """Haar-distributed (semi-)orthogonal matrices from Gaussian ones, scaled to unit mean square."""
    rows, columns = gaussian.shape[-2:]
    tall = gaussian if rows >= columns else gaussian.mT
    q, r = torch.linalg.qr(tall)
    signs = r.diagonal(dim1=-2, dim2=-1).sign()  # without them QR is not Haar
    q = q * signs[..., None, :]
    found: Tensor = (q if rows >= columns else q.mT) * sqrt(max(rows, columns))
    return found
