"""Where diagonal networks end, between the least l2 and the least l1 norm, by their initial scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from priorscope.checks import POSITIVE, each, whole
from priorscope.contracts import guarded
from priorscope.inference import DeepEntropy, HyperbolicEntropy, Potential, Quadratic
from priorscope.printing import printed
from priorscope.probes.limits.implicit._minimum_norm import minimum_norm, minimum_potential, system

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = [
    "InitialScale",
    "diagonal_penalty",
    "diagonal_potential",
    "diagonal_solution",
    "distance_penalty",
    "distance_solution",
    "initial_scale",
]

Array = NDArray[np.float64]


@guarded(scale=POSITIVE, depth=whole())
def diagonal_potential(scale: float, depth: int = 2) -> Potential:
    r"""The potential :math:`Q_\alpha` that gradient flow of a diagonal network of initial scale α and this depth minimises.

    Hyperbolic at depth 2 (Woodworth et al. 2020, Theorem 1), :class:`priorscope.inference.DeepEntropy` beyond (their
    Theorem 3), quadratic at depth 1, a linear model.

    Example:
        >>> diagonal_potential(0.1, depth=4)
        DeepEntropy(width=0.00010000000000000002, power=2.0)
    """
    if depth == 1:
        return Quadratic()
    return HyperbolicEntropy(2 * scale**2) if depth == 2 else DeepEntropy(scale**depth, depth / (depth - 2))


@guarded(scale=POSITIVE, depth=whole())
def diagonal_penalty(coefficients: ArrayLike, scale: float, depth: int = 2) -> float:
    r"""What a diagonal network of initial scale α minimises: :math:`Q_\alpha(\beta) = \alpha^2\sum_jq(\beta_j/\alpha^2)`.

    .. math:: q(b) = 2 - \sqrt{4 + b^2} + b\,\mathrm{asinh}(b/2)

    for ``depth`` 2; :func:`diagonal_potential` gives that of any depth. Woodworth et al. (2020), Theorem 1; the slides of Srebro
    (2019) print :math:`\sqrt{4-b^2}`, which is complex above 2. Like :math:`\|\beta\|_2^2/4\alpha^2` at large α and
    :math:`\|\beta\|_1\log(1/\alpha^2)` at small.

    Example:
        >>> round(diagonal_penalty([1.0], 100.0) * 4 * 100.0**2, 6)
        1.0
    """
    import torch

    beta = torch.as_tensor(np.asarray(coefficients, dtype=np.float64)).reshape(-1)
    return float(diagonal_potential(scale, depth).value(beta).sum())


@guarded(scale=POSITIVE)
def distance_penalty(coefficients: ArrayLike, scale: float) -> float:
    r"""The least squared distance :math:`R_\alpha(\beta) = \min\|w - \alpha1\|^2` from the start of weights that give β.

    Explicit regularisation towards the start, to compare with :func:`diagonal_penalty`: the two differ, so that a small scale is
    not the same as a penalty on the distance moved (Srebro 2019; Woodworth et al. 2020, Sec. 4). Each coefficient's part is
    found from the one root that the condition :math:`w_+^2 - w_-^2 = \beta` leaves.

    Example:
        >>> round(distance_penalty([1.0], 1.0), 4), round(distance_penalty([20.0], 1.0), 3)
        (0.1184, 12.493)
    """
    beta = np.abs(np.asarray(coefficients, dtype=np.float64).reshape(-1)) / scale**2
    total = 0.0
    for b in beta:
        # Lagrange: w+ = 1/(1-m), w- = 1/(1+m), and 4m = b (1-m²)², whose sides rise and fall between 0 and 1
        m = float(brentq(lambda m, b=b: 4 * m - b * (1 - m * m) ** 2, 0.0, 1.0, xtol=1e-15))
        total += (1 / (1 - m) - 1) ** 2 + (1 / (1 + m) - 1) ** 2
    return scale**2 * total


@guarded(scale=POSITIVE, depth=whole())
def diagonal_solution(inputs: ArrayLike, targets: ArrayLike, scale: float, depth: int = 2) -> Array:
    r"""The coefficients at which gradient flow of a :class:`priorscope.models.DiagonalNetwork` of this scale ends.

    :math:`\arg\min Q_\alpha(\beta)` subject to :math:`X\beta = y` (Woodworth et al. 2020, Theorems 1 and 3), by Newton iteration
    on the dual, at depth 2 :math:`\beta = 2\alpha^2\sinh(X^\top\nu)`, instead of a flow that slows down with the scale.

    Example:
        >>> diagonal_solution([[3.0, 4.0]], [5.0], 10.0).round(3).tolist()
        [0.6, 0.8]
        >>> diagonal_solution([[3.0, 4.0]], [5.0], 1e-4).round(1).tolist()  # towards [0, 1.25]
        [0.0, 1.2]
    """
    return minimum_potential(inputs, targets, diagonal_potential(scale, depth))


@guarded(scale=POSITIVE)
def distance_solution(inputs: ArrayLike, targets: ArrayLike, scale: float) -> Array:
    r"""The fit whose weights are closest to their start: :math:`\arg\min R_\alpha(\beta)` subject to :math:`X\beta = y`.

    What explicit regularisation towards the start would choose, in place of early weights that are small
    (:func:`distance_penalty`; Srebro 2019). By the conditions of Lagrange :math:`\beta = \alpha^2((1-m)^{-2} - (1+m)^{-2})` with
    :math:`m = X^\top\nu`, so that the dual is that of a diagonal network of depth 4 with :math:`\alpha^2` for
    :math:`\alpha^4` (derived here).

    Example:
        >>> distance_solution([[3.0, 4.0]], [5.0], 10.0).round(2).tolist()
        [0.6, 0.8]
    """
    return minimum_potential(inputs, targets, DeepEntropy(scale**2, 2.0))


@printed
@dataclass(frozen=True, eq=False)
class InitialScale:
    """Linear predictors by the initial scale of the diagonal network that finds them.

    ``to_l1`` and ``to_l2`` are distances to the fits of least norm, relative to the distance between those two; ``error`` is the
    mean squared error on samples that took no part (NaN without them).

    Example:
        >>> x = np.random.default_rng(0).normal(size=(5, 20))
        >>> found = initial_scale(x, x[:, 0], scales=(1e-6, 1.0, 100.0))
        >>> bool(found.to_l1[0] < 0.2), bool(found.to_l2[-1] < 0.01)  # rich, kernel
        (True, True)
    """

    scales: Array
    to_l1: Array
    to_l2: Array
    error: Array
    coefficients: Array = field(repr=False)  # (scales, d)

    @property
    def transition(self) -> float:
        """The scale at which the predictor is as far from the one end as from the other; NaN where that is not seen."""
        log, apart = np.log(self.scales), self.to_l1 - self.to_l2
        at = np.flatnonzero((apart[:-1] < 0) & (apart[1:] >= 0))
        if not len(at):
            return float("nan")
        i = int(at[0])
        share = apart[i] / (apart[i] - apart[i + 1])
        return float(np.exp(log[i] + share * (log[i + 1] - log[i])))

    @property
    def best(self) -> float:
        """The scale with the least error; NaN where there were no samples apart."""
        return float("nan") if np.isnan(self.error).all() else float(self.scales[int(np.nanargmin(self.error))])

    def sentence(self) -> str:
        """What the scale does here, in one sentence."""
        said = f"Between the kernel regime and the rich one lies an initial scale of about {self.transition:.2g}"
        if np.isnan(self.best):
            return said + "."
        small, large = float(self.error[0]), float(self.error[-1])
        side = (
            "small initial weights (sparse coefficients)" if small < large else "large initial weights (least l2 norm)"
        )
        return f"{said}; {side} predict better here: squared error {min(small, large):.3g} against {max(small, large):.3g}."

    def table(self) -> pd.DataFrame:
        """One row per scale."""
        import pandas as pd

        return pd.DataFrame(
            {"scale": self.scales, "to_l1": self.to_l1, "to_l2": self.to_l2, "error": self.error}
            | {"l1_norm": np.abs(self.coefficients).sum(1), "l2_norm": np.linalg.norm(self.coefficients, axis=1)}
        )

    def chart(self) -> alt.TopLevelMixin:
        """Distances to both ends against the scale."""
        import altair as alt

        names = {"to_l1": "fit of least l1 norm", "to_l2": "fit of least l2 norm"}
        long = self.table().melt("scale", list(names), var_name="end", value_name="distance")
        long["end"] = long["end"].map(names)
        lines: alt.Chart = (
            alt.Chart(long)
            .mark_line(point=True)
            .encode(
                x=alt.X("scale:Q", title="initial scale α").scale(type="log"),
                y=alt.Y("distance:Q", title="distance to"),
                color=alt.Color("end:N", title=None),
            )
        )
        return lines


@guarded(scales=each(POSITIVE), depth=whole(2))
def initial_scale(
    inputs: ArrayLike,
    targets: ArrayLike,
    *,
    scales: Sequence[float] = tuple(10.0 ** np.arange(-4, 1.5, 0.5)),
    apart: tuple[ArrayLike, ArrayLike] | None = None,
    depth: int = 2,
) -> InitialScale:
    """From rich to kernel: the fits of diagonal networks of several initial scales to your samples.

    Needs more features than samples (n < d), so that many linear functions fit. ``apart`` are inputs and targets that take no
    part, to see which end predicts better; ``depth`` is that of the networks. Woodworth et al. (2020), Sec. 3. Scales are sorted.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(60, 50))
        >>> y = x[:, 0] - x[:, 1]
        >>> found = initial_scale(x[:20], y[:20], apart=(x[20:], y[20:]))
        >>> found.best < 0.05  # two of fifty features matter
        True
    """
    X, y = system("initial_scale", inputs, targets)
    if len(X) >= X.shape[1]:
        raise ValueError(
            f"initial_scale needs more features than samples, so that many fits are left to choose from; got {len(X)} samples of "
            f"{X.shape[1]} features."
        )
    sparse, dense = minimum_norm(X, y, "l1"), minimum_norm(X, y, "l2")
    between = float(np.linalg.norm(sparse - dense))
    if between < 1e-9 * float(np.linalg.norm(dense)):
        raise ValueError(
            "initial_scale: the fits of least l1 and least l2 norm are the same here; nothing to tell apart."
        )
    sizes = np.sort(np.asarray(scales, dtype=np.float64))
    found = np.stack([diagonal_solution(X, y, float(a), depth) for a in sizes])
    error = np.full(len(sizes), np.nan)
    if apart is not None:
        X1, y1 = system("initial_scale", *apart)
        error = np.mean((found @ X1.T - y1) ** 2, axis=1)
    return InitialScale(
        sizes,
        np.linalg.norm(found - sparse, axis=1) / between,
        np.linalg.norm(found - dense, axis=1) / between,
        error,
        found,
    )
