"""Noise of initialisation in trained networks: output variance, error of ensembles, and the error at infinite size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import sem

from priorscope.checks import each, whole
from priorscope.contracts import guarded
from priorscope.statistics import Interval, seed_interval

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["ExcessError", "Fluctuations", "excess_error", "fluctuations"]


@dataclass(frozen=True)
class Fluctuations:
    """Variance of the outputs over members, and the mean error of ensembles of each size.

    Example:
        >>> f = Fluctuations(Interval(0.1, 0.05, 0.2), np.array([1, 2]), np.array([0.2, 0.1]), np.array([0.0, 0.0]))
        >>> f.table()["error"].tolist()
        [0.2, 0.1]
    """

    variance: Interval
    sizes: np.ndarray  # (S,)
    error: np.ndarray  # (S,), mean over disjoint ensembles
    spread: np.ndarray  # (S,), standard error of that mean; NaN where there is one ensemble

    def table(self) -> pd.DataFrame:
        """One row per ensemble size."""
        import pandas as pd

        return pd.DataFrame({"size": self.sizes, "error": self.error, "standard_error": self.spread})

    def chart(self) -> alt.TopLevelMixin:
        """Error against the size of the ensemble."""
        import altair as alt

        x = alt.X("size:Q", title="members M", scale=alt.Scale(type="log"))
        chart: alt.TopLevelMixin = (
            alt.Chart(self.table()).mark_line(point=True).encode(x, alt.Y("error:Q", title="error of the mean output"))
        )
        return chart


@guarded(sizes=each(whole()))
def fluctuations(outputs: ArrayLike, targets: ArrayLike, sizes: Sequence[int] = (1, 2, 4, 8, 16)) -> Fluctuations:
    r"""Output variance and ensemble errors of K trained members with outputs (K, n) or (K, n, 1) on n test points.

    Variance: :math:`\frac{1}{K-1}\sum_k\langle(F_k-\bar F)^2\rangle`, mean over points, with a jackknife over members
    (infinite ends for two). Errors: signs of outputs averaged over disjoint groups of M members (outputs, not votes),
    against ±1 targets. Theory: the excess over infinite M falls like 1/M. Geiger et al. (2020),
    "Scaling description of generalization".

    Example:
        >>> found = fluctuations([[1.0, -1.0], [1.0, 3.0]], [1.0, -1.0], sizes=(1, 2))
        >>> found.variance.value, found.error.tolist()
        (4.0, [0.25, 0.5])
    """
    y = np.asarray(targets, dtype=float).ravel()
    F = np.asarray(outputs, dtype=float)
    F = F[..., 0] if F.ndim == 3 and F.shape[2] == 1 else F
    if F.ndim != 2 or len(F) < 2 or F.shape[1] != len(y):
        raise ValueError(
            f"fluctuations needs outputs (K, n) of at least two members and n targets; got {F.shape} and {len(y)} targets."
        )
    chosen = [m for m in sizes if 1 <= m <= len(F)]
    error, spread = [], []
    for m in chosen:
        groups = F[: len(F) // m * m].reshape(-1, m, len(y)).mean(1)
        errors = (groups * y <= 0).mean(1)
        error.append(errors.mean())
        spread.append(float(sem(errors)) if len(errors) > 1 else np.nan)
    value = float(F.var(0, ddof=1).mean())
    variance = Interval(value, -np.inf, np.inf)  # two members say nothing about the error of their variance
    if len(F) > 2:
        variance = seed_interval(F, lambda members: float(members.var(0, ddof=1).mean()))
    return Fluctuations(variance, np.array(chosen), np.array(error), np.array(spread))


@dataclass(frozen=True)
class ExcessError:
    r"""A fit :math:`\epsilon(N) = \epsilon_\infty + B N^{-1/2}`, with intervals over seeds.

    Example:
        >>> ExcessError(Interval(0.05, 0.04, 0.06), Interval(2.0, 1.0, 3.0))(400)
        0.15000000000000002
    """

    limit: Interval
    slope: Interval

    def __call__(self, n_weights: float) -> float:
        """The fitted error of a network of this many weights."""
        found: float = self.limit.value + self.slope.value / n_weights**0.5
        return found


@guarded()
def excess_error(n_weights: ArrayLike, errors: ArrayLike) -> ExcessError:
    r"""Extrapolate errors (seeds, sizes) of single networks to infinite size, :math:`\epsilon_\infty + BN^{-1/2}`.

    The exponent is imposed: with a free one and a free limit the fit returns an apparent exponent below one half. Geiger et
    al. (2020), "Scaling description of generalization", Sec. 5. Use sizes above the jamming point only.

    Example:
        >>> fit = excess_error([100, 400], [[0.15, 0.1], [0.15, 0.1]])
        >>> round(fit.limit.value, 6), round(fit.slope.value, 6)
        (0.05, 1.0)
    """
    x = np.asarray(n_weights, dtype=float) ** -0.5
    e = np.asarray(errors, dtype=float)
    if e.ndim != 2 or e.shape[1] != len(x) or len(x) < 2:
        raise ValueError(
            f"excess_error needs errors (seeds, sizes) at two sizes or more; got {e.shape} and {len(x)} sizes."
        )

    def fit(values: np.ndarray) -> np.ndarray:
        return np.asarray(np.polyfit(x, values.mean(0), 1))

    limit = seed_interval(e, lambda v: float(fit(v)[1]))
    return ExcessError(limit, seed_interval(e, lambda v: float(fit(v)[0])))
