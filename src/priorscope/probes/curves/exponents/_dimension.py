"""The effective dimension of data from distances between nearest neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from priorscope.checks import SEED, each, number, optional, whole
from priorscope.contracts import Samples, guarded, missing
from priorscope.statistics import Interval, fit_power_law

if TYPE_CHECKING:
    import altair as alt

__all__ = ["EffectiveDimension", "effective_dimension", "sphere_distance"]

Array = NDArray[np.float64]
LARGEST = 12_000  # rows looked at; more would take minutes and move the slope little
HIGHEST = 200.0


@guarded(dim=number(above=0))
def sphere_distance(dim: float, n: ArrayLike) -> Array:
    r"""The mean distance to the nearest of n − 1 other points that are uniform on the unit sphere S^d, exactly.

    .. math:: \delta(n) = \int_0^\pi (1 - F(\theta))^{n-1}\cos(\theta/2)\,d\theta, \qquad
        F(\theta) = \tfrac12 I_{\sin^2\theta}(\tfrac d2, \tfrac12)\ \text{for}\ \theta\le\pi/2

    with F the share of a cap (Li 2011, "Concise formulas for the area and volume of a hyperspherical cap") and 2
    sin(θ/2) the distance. ``dim`` need not be whole.

    Example:
        >>> delta = sphere_distance(2, [1000, 4000])
        >>> round(float(np.log2(delta[0] / delta[1])), 2)  # n^(-1/2)
        1.0
    """
    from scipy.special import betainc, betaincinv

    u, w = np.polynomial.legendre.leggauss(400)
    sizes = np.atleast_1d(np.asarray(n, dtype=float))
    found = []
    for size in sizes:
        share = 45 / size  # beyond the cap of this share nothing is left: e^-45
        reach = np.pi if share >= 0.5 else float(np.arcsin(np.sqrt(betaincinv(dim / 2, 0.5, 2 * share))))
        theta = reach * (u + 1) / 2
        cap = 0.5 * betainc(dim / 2, 0.5, np.sin(theta) ** 2)
        cap = np.where(theta <= np.pi / 2, cap, 1 - cap)
        found.append(
            float(
                reach / 2 * (w * np.exp((size - 1) * np.log1p(-np.minimum(cap, 1 - 1e-16))) * np.cos(theta / 2)).sum()
            )
        )
    return np.array(found).reshape(np.shape(n))


@dataclass(frozen=True)
class EffectiveDimension:
    """Mean nearest-neighbour distances (subsets, sizes), and the dimension that their slope and an overlay of spheres give.

    Example:
        >>> import priorscope as ps
        >>> found = effective_dimension(ps.data.sphere(2000, 3, seed=0))  # S² in three dimensions
        >>> 1.8 < found.overlay < 2.2, found.ambient
        (True, 3)
    """

    sizes: NDArray[np.int64] = field(repr=False)
    distances: Array = field(repr=False)
    slope: Interval
    local: Array = field(repr=False)
    overlay: float
    residual: float
    ambient: int
    n: int
    repeated: int

    def table(self) -> pd.DataFrame:
        """One row per size: mean distance, its standard deviation over subsets, the local dimension to the next size."""
        return pd.DataFrame(
            {
                "n": self.sizes,
                "distance": self.distances.mean(0),
                "spread": self.distances.std(0),
                "local dimension": np.append(self.local, np.nan),
            }
        )

    def sentence(self) -> str:
        """What was found, in a sentence."""
        repeated = f" ({self.repeated} repeated rows left out)" if self.repeated else ""
        return (
            f"The data look {self.overlay:.0f}-dimensional (of {self.ambient} numbers per input): nearest neighbours of up to "
            f"{self.sizes[-1]} samples{repeated} lie as on a sphere of that dimension; the slope alone gives "
            f"{self.slope.value:.1f}."
        )

    def chart(self) -> alt.TopLevelMixin:
        """Points: mean distance to the nearest neighbour. Line: points on the sphere of the dimension found, rescaled."""
        import altair as alt

        frame = self.table()
        sphere = sphere_distance(self.overlay, self.sizes)
        shift = np.exp(np.mean(np.log(frame.distance / sphere)))
        x = alt.X("n:Q", title="samples n").scale(type="log", nice=False)
        y = alt.Y("distance:Q", title="distance to the nearest neighbour").scale(type="log", nice=False)
        line = frame.assign(distance=shift * sphere)
        title = f"nearest neighbours: dimension {self.overlay:.1f} of {self.ambient}"
        return alt.layer(
            alt.Chart(line, title=title).mark_line(color="black").encode(x, y),
            alt.Chart(frame).mark_point(filled=True, size=50).encode(x, y, tooltip=["n:Q", "distance:Q"]),
        )


def _rows(data: Samples | ArrayLike) -> Array:
    inputs = data if missing(data, Samples) else cast(Samples, data).inputs
    rows = np.asarray(inputs, dtype=np.float64)
    rows = rows.reshape(len(rows), -1)
    if not np.isfinite(rows).all():
        raise ValueError(
            "effective_dimension needs inputs without NaN or infinite values. Remove or impute those rows first."
        )
    return rows


def _nearest(rows: Array) -> float:
    """Mean distance to the nearest other row."""
    from sklearn.neighbors import NearestNeighbors

    how = "kd_tree" if rows.shape[1] <= 8 else "brute"
    values = rows if rows.shape[1] <= 64 else rows.astype(np.float32)
    distances, _ = NearestNeighbors(n_neighbors=2, algorithm=how).fit(values).kneighbors(values)
    return float(distances[:, 1].mean())


def _fit_sphere(sizes: Array, logs: Array) -> tuple[float, float]:
    """The dimension whose rescaled sphere lies closest to the curve in the logarithm, and the residual (rms)."""
    from scipy.optimize import minimize_scalar

    def left(log_dim: float) -> float:
        gap = logs - np.log(sphere_distance(float(np.exp(log_dim)), sizes))
        return float(np.var(gap))

    grid = np.linspace(np.log(0.5), np.log(HIGHEST), 40)
    best = int(np.argmin([left(g) for g in grid]))
    ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(left, bounds=ends, method="bounded", options={"xatol": 1e-4})
    return float(np.exp(found.x)), float(found.fun) ** 0.5


@guarded(sizes=optional(each(whole(3))), subsets=whole(), seed=SEED)
def effective_dimension(
    data: Samples | ArrayLike, sizes: Sequence[int] | None = None, *, subsets: int = 5, seed: int = 0
) -> EffectiveDimension:
    r"""The dimension d in which the data look uniform to a nearest-neighbour rule.

    .. math:: \delta_{\min}(n) \sim n^{-1/d}

    the mean distance to the nearest neighbour in random subsets of n (Spigler, Geiger & Wyart 2020, eq. 15). ``slope`` fits it on
    the upper half of the sizes (in the logarithm); above d ≈ 15 it is too low at any size in reach, so ``overlay``
    takes the dimension of the sphere whose exact curve (:func:`sphere_distance`), rescaled, fits best, as in their
    Fig. 4. Repeated rows are left out, and of more than 12,000 rows as many are drawn.

    Args: ``data`` a data set or an array (n, …); ``sizes`` default ten from 50 (or n/16) to n.

    Example:
        >>> import priorscope as ps
        >>> found = effective_dimension(ps.data.digits())
        >>> 6 < found.slope.value < 12, found.ambient
        (True, 64)
    """
    rows = _rows(data)
    kept = np.unique(rows, axis=0)
    repeated = len(rows) - len(kept)
    rng = np.random.default_rng(seed)
    rows = kept[rng.permutation(len(kept))[:LARGEST]]
    n = len(rows)
    if n < 20:
        raise ValueError(f"effective_dimension needs 20 or more different inputs; got {n}.")
    grid = (
        np.unique(np.round(np.geomspace(min(50, max(n // 16, 5)), n, 10)).astype(int))
        if sizes is None
        else np.unique(sizes)
    )
    if grid[-1] > n or len(grid) < 3:
        raise ValueError(
            f"effective_dimension needs three or more sizes up to the {n} different inputs; got {grid.tolist()}."
        )
    distances = np.empty((subsets, len(grid)))
    for k, size in enumerate(grid):
        for s in range(subsets):
            if size == n and s > 0:
                distances[s, k] = distances[0, k]
            else:
                distances[s, k] = _nearest(rows[rng.permutation(n)[:size]])
    logs = np.log(distances.mean(0))
    local = -np.diff(np.log(grid)) / np.diff(logs)
    upper = grid >= np.sqrt(grid[0] * grid[-1])
    fit = fit_power_law(grid[upper], distances[:, upper])
    slope = Interval(-1 / fit.exponent, -1 / fit.low, -1 / fit.high if fit.high < 0 else np.inf)
    overlay, residual = _fit_sphere(grid.astype(float), logs)
    return EffectiveDimension(grid, distances, slope, local, overlay, residual, rows.shape[1], n, repeated)
