"""The learning curve that the spectrum of a kernel and the coefficients of a target give, by the self-consistent equation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from priorscope.checks import NOT_NEGATIVE
from priorscope.contracts import guarded
from priorscope.printing import printed
from priorscope.probes.limits._mode_learnability import effective_regularisation

if TYPE_CHECKING:
    import altair as alt

__all__ = ["SpectralCurve", "spectral_curve"]

Array = NDArray[np.float64]


@printed
@dataclass(frozen=True)
class SpectralCurve:
    """Expected errors at the sizes, and beside them the power of the modes beyond the n-th: what is not learned at all.

    Example:
        >>> lam = np.arange(1.0, 5001.0) ** -2
        >>> curve = spectral_curve(lam, lam, [10, 100])
        >>> round(float(np.log10(curve.errors[0] / curve.errors[1])), 1)
        1.0
    """

    sizes: Array
    kappa: Array
    errors: Array
    tails: Array

    def table(self) -> pd.DataFrame:
        """One row per size."""
        return pd.DataFrame({"n": self.sizes, "error": self.errors, "tail": self.tails, "kappa": self.kappa})

    def chart(self) -> alt.TopLevelMixin:
        """Error (solid) and tail (dashed) against the number of samples on log axes."""
        import altair as alt

        long = self.table().melt("n", ["error", "tail"], "curve", "value")
        x = alt.X("n:Q", title="training samples n").scale(type="log")
        y = alt.Y("value:Q", title="expected squared error").scale(type="log")
        shown = alt.Chart(long, title="learning curve from the spectrum").mark_line()
        chart: alt.TopLevelMixin = shown.encode(x, y, color="curve:N", strokeDash="curve:N")
        return chart


@guarded(ridge=NOT_NEGATIVE)
def spectral_curve(
    eigenvalues: ArrayLike,
    power: ArrayLike,
    sizes: ArrayLike,
    *,
    multiplicities: ArrayLike | None = None,
    ridge: float = 0.0,
) -> SpectralCurve:
    r"""Errors of kernel regression at many sizes from its eigenvalues λ and the target's power :math:`q_\rho^2` in its modes.

    .. math:: n = \sum_\rho\frac{\lambda_\rho}{\lambda_\rho+\kappa} + \frac{r}{\kappa}, \qquad
        E = \frac{1}{1-g}\sum_\rho\frac{q_\rho^2\,\kappa^2}{(\lambda_\rho+\kappa)^2}, \qquad
        g = \frac1n\sum_\rho\frac{\lambda_\rho^2}{(\lambda_\rho+\kappa)^2}

    (Bordelon, Canatar & Pehlevan 2020; Spigler, Geiger & Wyart 2020, eqs. 51 to 55 with κ = t/n). With ``multiplicities`` every
    eigenvalue stands for so many modes, and ``power`` is that of one of them. The tail is
    :math:`\sum_{\rho\ge n}q_\rho^2` (their eq. 12): the same exponent where the teacher limits, far below the error
    where the student does.

    Example:
        >>> curve = spectral_curve([1.0] * 10, [1.0] * 10, [5])  # kappa = 1, g = 1/2
        >>> round(float(curve.kappa[0]), 6), round(float(curve.errors[0]), 6), float(curve.tails[0])
        (1.0, 5.0, 5.0)
    """
    lam, q2 = np.asarray(eigenvalues, dtype=float).ravel(), np.asarray(power, dtype=float).ravel()
    count = np.ones_like(lam) if multiplicities is None else np.asarray(multiplicities, dtype=float).ravel()
    if not lam.shape == q2.shape == count.shape:
        raise ValueError(
            f"spectral_curve needs one power (and multiplicity) per eigenvalue; got {lam.size}, {q2.size} and {count.size}."
        )
    n = np.atleast_1d(np.asarray(sizes, dtype=float))
    if n.max() >= count[lam > 0].sum() and ridge == 0:
        raise ValueError(
            f"a kernel with {count[lam > 0].sum():.0f} modes learns all of them from as many samples; got n = {n.max():.0f}. "
            "Give more modes."
        )
    kappa = effective_regularisation(lam, n, ridge=ridge, multiplicities=count)
    missed = kappa[:, None] / (lam + kappa[:, None])  # (sizes, modes)
    g = (count * (1 - missed) ** 2).sum(1) / n
    errors = (count * q2 * missed**2).sum(1) / (1 - g)
    order = np.argsort(-lam, kind="stable")
    above = np.cumsum(count[order])
    left = np.clip(above[None] - n[:, None], 0, count[order])  # modes of each eigenvalue beyond the n-th
    return SpectralCurve(n, kappa, errors, (left * q2[order]).sum(1))
