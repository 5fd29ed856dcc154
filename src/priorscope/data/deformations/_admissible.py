"""The temperatures at which a field is a deformation: large enough to move pixels, small enough not to fold the image."""

from __future__ import annotations

import math

from priorscope.checks import NOT_NEGATIVE, checked, whole
from priorscope.data.deformations._modes import CUTOFF

__all__ = ["highest_temperature", "is_admissible", "lowest_temperature"]


@checked(cutoff=CUTOFF, size=whole())
def lowest_temperature(cutoff: float, size: int) -> float:
    r"""The temperature :math:`T_{min} = 1/(\pi n^2\ln c)` of δ = 1/2: below it results depend on the interpolation.

    Petrini et al. (2021), eq. 8. Infinite at c = 1, where the asymptotic δ is zero.

    Example:
        >>> f"{lowest_temperature(3, 32):.2e}"
        '2.83e-04'
    """
    return math.inf if cutoff == 1 else 1 / (math.pi * size**2 * math.log(cutoff))


@checked(cutoff=CUTOFF)
def highest_temperature(cutoff: float) -> float:
    r"""The temperature :math:`T_{max} = 4/(\pi^3 c^2\ln c)` above which half of the fields or more are taken to fold.

    Petrini et al. (2021), eq. 14. It is on the safe side: at T_max the share of maps that do not fold is measured as 0.85 to
    0.97 (strict rule), see :func:`fold_temperatures`. Infinite at c = 1.

    Example:
        >>> f"{highest_temperature(3):.2e}"
        '1.30e-02'
    """
    return math.inf if cutoff == 1 else 4 / (math.pi**3 * cutoff**2 * math.log(cutoff))


@checked(temperature=NOT_NEGATIVE, cutoff=CUTOFF, size=whole())
def is_admissible(temperature: float, cutoff: float, size: int) -> bool:
    r"""Whether :math:`T_{min} < T < T_{max}`; there are such temperatures where :math:`c < 2n/\pi` only.

    Example:
        >>> is_admissible(1e-3, 3, 32), is_admissible(1e-3, 15, 32)
        (True, False)
    """
    return lowest_temperature(cutoff, size) < temperature < highest_temperature(cutoff)
