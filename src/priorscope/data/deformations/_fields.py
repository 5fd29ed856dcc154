"""Random displacement fields of maximum entropy: Gaussian coefficients of sine modes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from priorscope.checks import checked, whole
from priorscope.data.deformations._modes import CUTOFF, ModeRule, inverse_squares
from priorscope.printing import printed

__all__ = ["Fields", "sample_fields"]


@printed
@dataclass(frozen=True, eq=False)
class Fields:
    r"""Displacement fields :math:`\tau = (\tau_u, \tau_v)` of N images, given by their coefficients.

    .. math:: \tau_u(u, v) = \sum_{ij} C_{ij}\sin(i\pi u)\sin(j\pi v)

    on the unit square, and :math:`\tau_v` likewise; ``coefficients`` are (N, 2, m, m), those of u first, i before j. They vanish
    on the frame. u runs along rows, v down the columns, and lengths are in units of the image side: Petrini et al.
    (2021), eq. 2.

    Example:
        >>> fields = sample_fields(5, cutoff=3, temperature=1e-3, seed=0)
        >>> tuple(fields.pixels(32).shape), len(fields)
        ((5, 2, 32, 32), 5)
    """

    coefficients: Tensor

    def __post_init__(self) -> None:
        shape = tuple(self.coefficients.shape)
        if len(shape) != 4 or shape[1] != 2 or shape[2] != shape[3]:
            raise ValueError(f"coefficients of fields have shape (N, 2, m, m); got {shape}.")

    def __len__(self) -> int:
        return len(self.coefficients)

    def values(self, points: int) -> Tensor:
        """The fields on a grid of ``points`` × ``points`` that includes the frame: (N, 2, v, u)."""
        return _combine(self.coefficients, _sines(self, points), _sines(self, points))

    def pixels(self, size: int) -> Tensor:
        """Displacements in pixels (N, 2, size, size): ``size`` times the values."""
        return Fields(self.coefficients * size).values(size)

    def gradient(self, points: int) -> Tensor:
        """Derivatives (N, component, direction, v, u) on a grid, from the series: those of sin(iπu) are iπ cos(iπu)."""
        s, c = _sines(self, points), _cosines(self, points)
        along = _combine(self.coefficients, c, s)  # d/du
        down = _combine(self.coefficients, s, c)  # d/dv
        return torch.stack([along, down], 2)

    def square_gradient(self) -> Tensor:
        r"""The integral :math:`\|\nabla\tau\|^2 = \frac{\pi^2}4\sum(C_{ij}^2 + D_{ij}^2)(i^2 + j^2)` of each field (eq. 7)."""
        k = torch.arange(1, self.coefficients.shape[-1] + 1, device=self.coefficients.device).square()
        return math.pi**2 / 4 * (self.coefficients.square() * (k[:, None] + k)).sum((1, 2, 3))


@checked(n_fields=whole(), cutoff=CUTOFF)
def sample_fields(
    n_fields: int,
    cutoff: float,
    temperature: float | Tensor = 1.0,
    *,
    rule: ModeRule = "padded",
    seed: int | torch.Generator | None = None,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> Fields:
    r"""Independent fields of the ensemble of maximum entropy at a fixed mean of :math:`\|\nabla\tau\|^2`.

    Coefficients are independent normal with variance :math:`T/(i^2 + j^2)` over :func:`kept_modes`: Petrini et al. (2021), eq. 2
    and Appendix A. A ``temperature`` that is a tensor can be differentiated. ``seed`` is a whole number, a generator (of the
    same device), or None for torch's own.

    Example:
        >>> sample_fields(2, cutoff=1, temperature=0.0, seed=0).values(3).abs().max().item()
        0.0
    """
    if not isinstance(temperature, Tensor) and not (0 <= temperature < math.inf):
        raise ValueError(f"sample_fields needs a finite temperature >= 0; got {temperature!r}.")
    generator = seed if isinstance(seed, torch.Generator) else None
    if seed is not None and not isinstance(seed, torch.Generator):
        generator = torch.Generator(device or "cpu").manual_seed(int(seed))
    scale = inverse_squares(cutoff, rule).sqrt().to(dtype=dtype, device=device)
    m = len(scale)
    draws = torch.randn(n_fields, 2, m, m, generator=generator, dtype=dtype, device=device)
    if isinstance(temperature, Tensor):
        return Fields(draws * scale * temperature.to(scale).sqrt())
    return Fields(draws * (scale * math.sqrt(temperature)))


def _sines(fields: Fields, points: int) -> Tensor:
    return _waves(points, fields.coefficients.shape[-1], True).to(fields.coefficients)


def _cosines(fields: Fields, points: int) -> Tensor:
    return _waves(points, fields.coefficients.shape[-1], False).to(fields.coefficients)


@lru_cache(maxsize=64)
def _waves(points: int, m: int, sine: bool) -> Tensor:
    """sin(iπu), exactly zero on the frame, or iπ cos(iπu), at equispaced u from 0 to 1: (points, m)."""
    u = torch.linspace(0, 1, points, dtype=torch.float64)
    k = math.pi * torch.arange(1, m + 1, dtype=torch.float64)
    if not sine:
        return k * torch.cos(u[:, None] * k)
    found = torch.sin(u[:, None] * k)
    found[0] = found[-1] = 0
    return found


def _combine(coefficients: Tensor, along: Tensor, down: Tensor) -> Tensor:
    """Sum of C_ij along_i(u) down_j(v): the transform of one axis after the other, (N, 2, v, u)."""
    N, _, m, _ = coefficients.shape
    first = coefficients.reshape(-1, m, m).mT @ along.mT  # (2N, j, u)
    found: Tensor = (down @ first).unflatten(0, (N, 2))
    return found
