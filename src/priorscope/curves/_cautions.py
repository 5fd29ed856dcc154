"""What to be careful about in an extrapolation: the kind is state, the words are for the reader."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from priorscope.curves._shapes import Points

__all__ = ["CurveCaution", "CurveCautionKind", "cautions_of"]

_SURE = 3.0  # standard errors between two points that are called a rise
_FAR = 100.0  # times the largest size: farther than the curves the prior is learnt from reach


class CurveCautionKind(Enum):
    """Why an extrapolation should be taken with care; the value says it in few words.

    Example:
        >>> CurveCautionKind.FEW.value
        'one or two sizes'
    """

    FEW = "one or two sizes"
    RISES = "the error rises with more samples"
    FAR = "far beyond what was measured"
    NO_MISTAKES = "no or hardly any mistakes"


@dataclass(frozen=True)
class CurveCaution:
    """One thing to be careful about, with its figures.

    Example:
        >>> str(CurveCaution(CurveCautionKind.FEW, "one size was measured"))
        'one size was measured'
    """

    kind: CurveCautionKind
    words: str

    def __str__(self) -> str:
        return self.words


def cautions_of(
    points: Points, to: float, scatter: float, mistakes: float | None, counted: bool
) -> tuple[CurveCaution, ...]:
    """List what to be careful about; ``scatter``: what an ordinary point is off, ``mistakes``: at the last size."""
    found = []
    sizes = len(np.unique(points.sizes))
    if sizes < 3:
        seen = "one size was" if sizes == 1 else "two sizes were"
        found.append(
            CurveCaution(
                CurveCautionKind.FEW,
                f"only {seen} measured: how fast the error falls is what such predictors do elsewhere",
            )
        )
    noise = points.variance + scatter**2 / points.repeats
    apart = np.log(points.error[None, :] / points.error[:, None]) / np.sqrt(noise[:, None] + noise[None, :])
    later = np.where(points.sizes[None, :] > points.sizes[:, None], apart, -np.inf)
    if later.max() > _SURE:
        i, j = np.unravel_index(int(later.argmax()), later.shape)
        found.append(
            CurveCaution(
                CurveCautionKind.RISES,
                f"the error rises from {points.error[i]:.3g} at {points.sizes[i]:,.0f} samples to {points.error[j]:.3g} at "
                f"{points.sizes[j]:,.0f}, {later.max():.1f} standard errors: no falling curve explains that. Look for a peak "
                "near as many samples as parameters, a setting that fits one size only, or test rows seen in training",
            )
        )
    if to > _FAR * points.last:
        found.append(
            CurveCaution(
                CurveCautionKind.FAR,
                f"{to:,.0f} samples are {to / points.last:,.0f} times the largest size measured, beyond all checks",
            )
        )
    if mistakes is not None and mistakes < 5:
        found.append(
            CurveCaution(
                CurveCautionKind.NO_MISTAKES,
                f"about {mistakes:.0f} mistakes were counted at the largest size: more test rows would say more"
                if counted
                else "some losses are exactly zero: how small they truly are was not measured",
            )
        )
    return tuple(found)
