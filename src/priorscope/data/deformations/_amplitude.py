"""How far a field moves pixels, and the temperature that moves them so far."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from priorscope.checks import NOT_NEGATIVE, checked, whole
from priorscope.data.deformations._modes import CUTOFF, ModeRule, mode_sum

__all__ = ["Displacement", "mean_displacement", "temperature_for"]

Displacement: TypeAlias = Literal["asymptotic", "image", "centre"]


def _square_per_temperature(cutoff: float, kind: Displacement, rule: ModeRule) -> float:
    r"""The factor of :math:`n^2 T` in :math:`\delta^2`."""
    if kind == "image":
        return mode_sum(cutoff, rule) / 2
    if kind == "centre":
        return 2 * mode_sum(cutoff, rule, odd=True)
    if kind != "asymptotic":
        raise ValueError(f"kind must be 'asymptotic', 'image' or 'centre'; got {kind!r}.")
    if cutoff <= 1:
        raise ValueError(
            f"the asymptotic displacement is proportional to ln(cutoff), which is 0 at cutoff 1; got {cutoff:g}. "
            "Use kind='image' or 'centre', which are exact, or a larger cutoff."
        )
    return math.pi / 4 * math.log(cutoff)


@checked(temperature=NOT_NEGATIVE, cutoff=CUTOFF, size=whole())
def mean_displacement(
    temperature: float, cutoff: float, size: int, *, kind: Displacement = "asymptotic", rule: ModeRule = "padded"
) -> float:
    r"""Root mean square displacement δ in pixels of images of ``size`` × ``size`` pixels.

    .. math:: \delta^2 = \tfrac\pi4 n^2 T\ln c \ (\text{asymptotic}),\quad \tfrac12 n^2 T S(c)\ (\text{image}),\quad
        2 n^2 T S_{odd}(c)\ (\text{centre})

    with the sums of :func:`mode_sum`. Petrini et al. (2021) define it at the centre (Sec. 2.2) and over the image (Appendix B);
    both have the limit of eq. 3 at large c, and differ by up to a factor of two in δ² at c = 3. Default asymptotic, as theirs.

    Example:
        >>> T = temperature_for(1.0, cutoff=3, size=32)
        >>> [round(mean_displacement(T, 3, 32, kind=kind), 2) for kind in ("asymptotic", "image", "centre")]
        [1.0, 0.84, 1.27]
    """
    return size * math.sqrt(temperature * _square_per_temperature(cutoff, kind, rule))


@checked(delta=NOT_NEGATIVE, cutoff=CUTOFF, size=whole())
def temperature_for(
    delta: float, cutoff: float, size: int, *, kind: Displacement = "asymptotic", rule: ModeRule = "padded"
) -> float:
    r"""The temperature at which pixels move by ``delta``: :math:`T = 4\delta^2/(\pi n^2\ln c)`, or from the exact sums.

    The inverse of :func:`mean_displacement`.

    Example:
        >>> f"{temperature_for(1.0, cutoff=3, size=28):.2e}"
        '1.48e-03'
    """
    return delta**2 / (size**2 * _square_per_temperature(cutoff, kind, rule))
