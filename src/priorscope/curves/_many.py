"""Several predictors of one data set, extrapolated together: draws with the luck of the test rows shared, and who is best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from priorscope.checks import NOT_NEGATIVE, checked
from priorscope.curves._extrapolate import extrapolate
from priorscope.curves._prior import learnt_prior
from priorscope.curves._result import Extrapolation
from priorscope.printing import printed
from priorscope.statistics import Interval

__all__ = ["Curve", "Extrapolations", "extrapolate_many", "luck_correlation"]

Array = NDArray[np.float64]
_DRAWS = 2000
_NORMAL = np.linspace(-4.0, 4.0, 81)  # where quantiles are computed; draws are read between them


@dataclass(frozen=True)
class Curve:
    """One predictor's measured errors, as :func:`extrapolate` takes them.

    Example:
        >>> Curve([64, 128], [0.3, 0.2], tests=500, kind="tree").kind
        'tree'
    """

    sizes: ArrayLike
    errors: ArrayLike
    tests: ArrayLike | None = None
    kind: str | None = None
    errors_se: ArrayLike | None = None
    repeats: float = 1.0


def luck_correlation(losses: ArrayLike) -> Array:
    """Correlation between predictors of the loss per test row, from losses of shape (rows, predictors).

    Test rows that are hard for all move all errors alike. A predictor whose losses are all equal has no luck to share.

    Example:
        >>> wrong = np.array([[1, 1, 0], [0, 0, 0], [1, 1, 0], [0, 0, 0]])
        >>> luck_correlation(wrong).tolist()
        [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    rows = np.asarray(losses, dtype=float)
    if rows.ndim != 2 or len(rows) < 2 or not np.isfinite(rows).all():
        raise ValueError(
            f"luck_correlation needs finite losses of shape (rows, predictors), two rows or more; got {rows.shape}."
        )
    centred = rows - rows.mean(0)
    norm = np.sqrt((centred**2).sum(0))
    found: Array = centred.T @ centred / np.outer(np.where(norm > 0, norm, 1.0), np.where(norm > 0, norm, 1.0))
    found = found.round(12)
    np.fill_diagonal(found, 1.0)
    return found


@printed
@dataclass(frozen=True)
class Extrapolations:
    """Extrapolations of several predictors to one size, and draws of all errors there and of all floors: (draws, predictors).

    Example:
        >>> good, bad = Curve([64, 128, 256], [0.2, 0.15, 0.11], 1000), Curve([64, 128, 256], [0.4, 0.38, 0.37], 1000)
        >>> both = extrapolate_many({"good": good, "bad": bad}, to=512)
        >>> both.probability_within(0.1).round(1).to_dict()
        {'good': 1.0, 'bad': 0.0}
    """

    each: Mapping[str, Extrapolation]
    to: float
    draws: Array = field(repr=False)
    floors: Array = field(repr=False)

    def __getitem__(self, name: str) -> Extrapolation:
        return self.each[name]

    @property
    def estimates(self) -> dict[str, Interval]:
        """The error of each predictor at the size asked about."""
        return {name: one.estimate for name, one in self.each.items()}

    @checked(margin=NOT_NEGATIVE, least=NOT_NEGATIVE)
    def probability_within(self, margin: float = 0.1, least: float = 0.0) -> pd.Series[float]:
        """Probability that a predictor's error lies within ``margin`` of the best error (a share of it), or within ``least``."""
        best = self.draws.min(1, keepdims=True)
        near = self.draws <= best + np.maximum(margin * best, least)
        return pd.Series(near.mean(0), index=list(self.each))

    def probability_best(self) -> pd.Series[float]:
        """Probability that a predictor has the lowest error of all."""
        return pd.Series(
            np.bincount(self.draws.argmin(1), minlength=len(self.each)) / len(self.draws), index=list(self.each)
        )

    def regret(self) -> pd.Series[float]:
        """By how much a predictor's error is expected to lie above the best one."""
        return pd.Series((self.draws - self.draws.min(1, keepdims=True)).mean(0), index=list(self.each))

    def best_error(self) -> Interval:
        """The lowest error of all at the size asked about, whoever has it: its median and interval over draws."""
        return self._interval(self.draws.min(1))

    def floor(self) -> Interval:
        """What the best of these predictors falls to with endless samples, the least of their floors in each draw."""
        return self._interval(self.floors.min(1))

    def _interval(self, draws: Array) -> Interval:
        level = next(iter(self.each.values())).level
        low, middle, high = np.quantile(draws, [0.5 - level / 2, 0.5, 0.5 + level / 2])
        return Interval(float(middle), float(low), float(high))

    def crossing(self, first: str, second: str, beyond: float = 100.0) -> float:
        """Smallest size at which ``first`` is no worse than ``second`` by their medians, up to ``beyond`` times the largest size.

        Infinity where that never happens.
        """
        one, other = self.each[first].posterior, self.each[second].posterior
        top = max(one.points.last, other.points.last)
        half = np.array([0.5])
        for n in np.geomspace(top, beyond * top, 40):
            if one.quantiles(float(n), half)[0] <= other.quantiles(float(n), half)[0]:
                return float(n)
        return float(np.inf)

    def table(self) -> pd.DataFrame:
        """One row per predictor, best first: error with interval, and how likely it is within a tenth of the best."""
        found = pd.DataFrame(
            {
                "error": [e.value for e in self.estimates.values()],
                "low": [e.low for e in self.estimates.values()],
                "high": [e.high for e in self.estimates.values()],
                "near the best": self.probability_within().to_numpy(),
            },
            index=list(self.each),
        )
        return found.sort_values("error", kind="stable")


def extrapolate_many(
    curves: Mapping[str, Curve],
    *,
    to: float,
    correlation: ArrayLike | None = None,
    level: float = 0.9,
    seed: int = 0,
) -> Extrapolations:
    """Extrapolate several predictors measured on one data set.

    ``correlation`` (predictors, predictors) says how alike the luck of the shared test rows is, see :func:`luck_correlation`;
    without it each has luck of its own.

    Example:
        >>> curve = Curve([100, 200, 400], [0.3, 0.25, 0.22], tests=300)
        >>> apart = extrapolate_many({"a": curve, "b": curve}, to=400)
        >>> alike = extrapolate_many({"a": curve, "b": curve}, to=400, correlation=[[1, 1], [1, 1]])
        >>> bool(alike.regret()["a"] < apart.regret()["a"])
        True
    """
    if not curves:
        raise ValueError("extrapolate_many needs at least one curve; got none.")
    names = list(curves)
    luck = np.eye(len(names)) if correlation is None else np.asarray(correlation, dtype=float)
    if luck.shape != (len(names), len(names)) or not np.allclose(luck, luck.T) or not np.allclose(np.diag(luck), 1):
        raise ValueError(
            f"extrapolate_many needs a symmetric correlation ({len(names)}, {len(names)}) with ones on its diagonal; got shape "
            f"{luck.shape}. luck_correlation makes one from losses per test row."
        )
    each = {
        name: extrapolate(
            c.sizes,
            c.errors,
            to=to,
            tests=c.tests,
            kind=c.kind,
            errors_se=c.errors_se,
            repeats=c.repeats,
            level=level,
        )
        for name, c in curves.items()
    }
    q = ndtr(_NORMAL)
    there = np.log([one.posterior.quantiles(to, q) for one in each.values()])  # (predictor, q)
    last = np.log([one.posterior.quantiles(one.posterior.points.last, q) for one in each.values()])
    lucky = np.array([one.posterior.luck_variance for one in each.values()])
    values, vectors = np.linalg.eigh(_likeness(there, last, lucky, luck))
    normal = (
        np.random.default_rng(seed).standard_normal((_DRAWS, len(names)))
        @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    )
    most = np.array([1.0 if one.share else np.inf for one in each.values()])
    draws = np.minimum(np.exp(_drawn(there, normal)), most)
    floors = _drawn(np.array([one.posterior.floor(q) for one in each.values()]), normal)
    return Extrapolations(each, float(to), draws, floors)


def _drawn(table: Array, normal: Array) -> Array:
    """Quantiles of each predictor (predictor, q) at normal scores (draw, predictor), straight between those of the table."""
    at = np.clip((normal - _NORMAL[0]) / (_NORMAL[1] - _NORMAL[0]), 0, len(_NORMAL) - 1.001)
    first, own = at.astype(int), np.arange(len(table))
    found: Array = table[own, first] + (at - first) * (table[own, first + 1] - table[own, first])
    return found


def _likeness(there: Array, last: Array, lucky: Array, luck: Array) -> Array:
    """Correlation of the logarithms of the errors at the size asked about, by their quantiles there and at the last size.

    Of each variance one part is luck of the test rows, correlated as ``luck`` says; what grew since the largest size measured is
    as ``alike`` as forecasts for different predictors of one data set were off; the rest is each predictor's own.
    """
    one = len(_NORMAL) // 2 + round(float(1 / (_NORMAL[1] - _NORMAL[0])))  # where a standard normal variable is 1
    spread = [np.maximum((v[:, one] - v[:, -1 - one]) / 2, 1e-9) ** 2 for v in (there, last)]
    fortune = np.sqrt(np.minimum(lucky / spread[0], 1.0))
    grown = np.sqrt(np.clip(1 - spread[1] / spread[0], 0.0, 1 - fortune**2))
    found: Array = luck * np.outer(fortune, fortune) + learnt_prior().alike * np.outer(grown, grown)
    np.fill_diagonal(found, 1.0)
    return found
