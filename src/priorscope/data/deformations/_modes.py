"""Which Fourier modes a displacement field has, and the sums over them that fix its size."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from priorscope.checks import NOT_NEGATIVE, check, checked, number

__all__ = ["ModeRule", "kept_modes", "mean_square_gradient", "mode_sum"]

ModeRule: TypeAlias = Literal["padded", "strict"]
RULES = ("padded", "strict")
CUTOFF = number(least=1, advice="It counts half waves per image side: 3 is a common choice.")


@checked(cutoff=CUTOFF)
def kept_modes(cutoff: float, rule: ModeRule = "padded") -> Tensor:
    r"""The modes (i, j), both at least 1, of a field with this cutoff: a tensor (N, 2) of whole numbers.

    ``rule="strict"`` keeps :math:`i^2 + j^2 \le c^2`, as Petrini et al. (2021), "Relative stability toward diffeomorphisms
    indicates performance in deep nets", Sec. 2.1, print it; at c = 1 nothing is left, which is refused. ``"padded"`` keeps
    :math:`\sqrt{i^2 + j^2} < c + 1/2` with :math:`i, j \le c`, the rule behind their figures, where c = 1 keeps (1, 1).

    Example:
        >>> kept_modes(2, "strict").tolist(), len(kept_modes(2))
        ([[1, 1]], 3)
    """
    if rule not in RULES:
        raise ValueError(f"rule must be 'padded' or 'strict'; got {rule!r}.")
    side = torch.arange(1, math.floor(cutoff) + 1)
    i, j = torch.meshgrid(side, side, indexing="ij")
    squares = i**2 + j**2
    inside = squares <= cutoff**2 if rule == "strict" else squares.double().sqrt() < cutoff + 0.5
    modes = torch.stack([i[inside], j[inside]], 1)
    if not len(modes):
        raise ValueError(
            f"no mode has i² + j² <= {cutoff:g}²: the strict rule needs a cutoff of √2 at least; got {cutoff:g}. "
            "Use rule='padded', which keeps the mode (1, 1) there."
        )
    return modes


@lru_cache(maxsize=64)
def inverse_squares(cutoff: float, rule: ModeRule) -> Tensor:
    """The matrix (m, m) of 1/(i² + j²) over kept modes, zero elsewhere, in float64: variances at temperature 1."""
    modes = kept_modes(cutoff, rule)
    m = int(modes.max())
    found = torch.zeros(m, m, dtype=torch.float64)
    found[modes[:, 0] - 1, modes[:, 1] - 1] = 1 / modes.square().sum(1).double()
    return found


def mode_sum(cutoff: float, rule: ModeRule = "padded", *, odd: bool = False) -> float:
    r"""The sum :math:`S(c) = \sum 1/(i^2 + j^2)` over kept modes, or over those with both numbers ``odd``.

    S gives the mean displacement over the image; only odd modes move its centre. Petrini et al. (2021), Appendix B.

    Example:
        >>> round(mode_sum(3, "strict"), 4), mode_sum(3, "strict", odd=True)
        (1.025, 0.5)
    """
    modes = kept_modes(cutoff, rule)
    if odd:
        modes = modes[(modes % 2 == 1).all(1)]
    return float((1 / modes.square().sum(1).double()).sum())


@checked(temperature=NOT_NEGATIVE, cutoff=CUTOFF)
def mean_square_gradient(
    temperature: float, cutoff: float, rule: ModeRule = "padded", *, kind: Literal["exact", "asymptotic"] = "exact"
) -> float:
    r"""The mean of :math:`\|\nabla\tau\|^2`, integrated over the image: :math:`(\pi^2/2)\,T\,N(c)` with N(c) kept modes.

    ``kind="asymptotic"`` is its limit :math:`(\pi^3/8)\,c^2 T` of large c. Petrini et al. (2021), eqs. 1, 7 and Sec. 2.1.

    Example:
        >>> round(mean_square_gradient(1.0, 3, "strict"), 1)
        19.7
    """
    check("mean_square_gradient", "cutoff", cutoff, CUTOFF)
    if kind == "asymptotic":
        return math.pi**3 / 8 * cutoff**2 * temperature
    if kind != "exact":
        raise ValueError(f"kind must be 'exact' or 'asymptotic'; got {kind!r}.")
    return math.pi**2 / 2 * temperature * len(kept_modes(cutoff, rule))
