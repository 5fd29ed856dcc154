"""The exponent of a measured learning curve: in a fixed window, up to every size, and between neighbouring sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from priorscope.checks import FRACTION, POSITIVE, optional
from priorscope.contracts import guarded
from priorscope.statistics import Interval, PowerLaw, fit_power_law

if TYPE_CHECKING:
    import altair as alt

__all__ = ["CurveExponent", "learning_curve_exponent"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CurveExponent:
    """Slopes of log error against log n: ``fixed`` from ``n_min`` on, ``running`` up to every size, ``local`` between neighbours.

    Example:
        >>> found = learning_curve_exponent([10, 20, 40, 80], [[8.0, 4.0, 2.0, 1.0], [8.8, 4.4, 2.2, 1.1]])
        >>> round(found.fixed.exponent, 6), found.table().kind.value_counts().to_dict()
        (-1.0, {'local': 3, 'running': 2, 'fixed': 1})
    """

    sizes: Array = field(repr=False)
    errors: Array = field(repr=False)
    n_min: float
    fixed: PowerLaw
    running: tuple[tuple[float, Interval], ...] = field(repr=False)
    local: tuple[tuple[float, Interval], ...] = field(repr=False)

    @property
    def beta(self) -> Interval:
        """β of :math:`E \\sim n^{-\\beta}` in the fixed window."""
        return Interval(-self.fixed.exponent, -self.fixed.high, -self.fixed.low)

    def table(self) -> pd.DataFrame:
        """One row per slope: kind, the size it belongs to, slope and interval."""
        rows = [("fixed", self.n_min, self.fixed.interval)]
        rows += [("running", n, found) for n, found in self.running] + [("local", n, found) for n, found in self.local]
        return pd.DataFrame(
            [{"kind": kind, "n": n, "slope": i.value, "low": i.low, "high": i.high} for kind, n, i in rows]
        )

    def chart(self) -> alt.TopLevelMixin:
        """Left: the curve, every repetition as points, with the fitted law. Right: running and local slopes, with intervals."""
        import altair as alt

        reps = self.errors.reshape(-1, len(self.sizes))
        points = pd.DataFrame({"n": np.tile(self.sizes, len(reps)), "error": reps.ravel()})
        x = alt.X("n:Q", title="training samples n").scale(type="log", nice=False)
        y = alt.Y("error:Q", title="test error").scale(type="log", nice=False)
        law = pd.DataFrame({"n": self.sizes[self.sizes >= self.n_min]}).assign(error=lambda f: self.fixed(f.n))
        left = alt.layer(
            alt.Chart(points).mark_point(filled=True, size=22, opacity=0.5).encode(x, y),
            alt.Chart(law, title=f"slope {self.fixed.exponent:.3f}").mark_line(color="black").encode(x, y),
        )
        slopes = self.table()
        slopes = slopes[(slopes.kind != "fixed") & np.isfinite(slopes.low)]
        base = alt.Chart(slopes).encode(x, color=alt.Color("kind:N", title=None))
        right = alt.layer(
            base.mark_rule().encode(y="low:Q", y2="high:Q"),
            base.mark_line(point=True).encode(y=alt.Y("slope:Q", title="slope").scale(zero=False)),
        )
        return alt.hconcat(left.properties(width=300), right.properties(width=300))


@guarded(n_min=optional(POSITIVE), level=FRACTION)
def learning_curve_exponent(
    curve: Any, errors: ArrayLike | None = None, *, n_min: float | None = None, level: float = 0.95
) -> CurveExponent:
    r"""The exponent of a learning curve, three ways, each with its interval.

    .. math:: E(n) \sim n^{-\beta}

    (least squares of log E on log n; Spigler, Geiger & Wyart 2020, Figs. 1 and 2, fit the last decade, all points up to n, and
    from n = 700 on).

    Args: ``curve`` is a result of :func:`learning_curve` or :func:`teacher_student`, or the sizes, with ``errors`` (sizes,) or
    (repetitions, sizes). ``n_min`` starts the fixed window; default the last decade, as in their Fig. 1. Intervals come from the
    repetitions; of a curve measured on a pilot, from its bootstrap over samples.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits(classes="parity")
        >>> found = learning_curve_exponent(ps.probes.learning_curve(data, ps.models.laplace(), pilot=200))
        >>> 0.2 < found.beta.value < 0.9
        True
    """
    bootstrap = None
    if curve is None:
        raise TypeError("learning_curve_exponent needs curve as a learning curve, or its sizes; got None.")
    if errors is None:
        sizes = np.asarray(curve.sizes, dtype=float)
        bootstrap = getattr(curve, "draws", None)
        values = np.asarray(curve.error if bootstrap is not None else curve.errors, dtype=float)
    else:
        sizes, values = np.asarray(curve, dtype=float), np.asarray(errors, dtype=float)
    if sizes.ndim != 1 or len(sizes) < 3 or (np.diff(sizes) <= 0).any() or values.shape[-1] != len(sizes):
        raise ValueError(
            f"learning_curve_exponent needs three or more rising sizes with an error each; got sizes {sizes.shape} and errors "
            f"{values.shape}."
        )
    start = sizes[-1] / 10 if n_min is None else n_min
    if (sizes >= start).sum() < 2:
        start = float(sizes[-2])

    def fit(rows: slice | NDArray[np.bool_]) -> PowerLaw:
        found = fit_power_law(sizes[rows], values[..., rows], level=level)
        if bootstrap is None:
            return found
        slopes = [fit_power_law(sizes[rows], draw[rows]).exponent for draw in np.asarray(bootstrap)]
        low, high = np.quantile(slopes, [(1 - level) / 2, (1 + level) / 2])
        return PowerLaw(found.exponent, float(low), float(high), found.prefactor, found.fit_range)

    running = tuple((float(sizes[k - 1]), fit(slice(0, k)).interval) for k in range(3, len(sizes) + 1))
    local = tuple(
        (float(np.sqrt(sizes[k] * sizes[k + 1])), fit(slice(k, k + 2)).interval) for k in range(len(sizes) - 1)
    )
    return CurveExponent(sizes, values, float(start), fit(sizes >= start), running, local)
