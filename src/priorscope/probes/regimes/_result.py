"""In which regime a network trains: the result, in numbers, in a sentence, and as a point on the phase diagram."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import gmean, sem

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["Regime", "crossing"]


def crossing(alphas: np.ndarray, change: np.ndarray) -> float:
    """Alpha (ascending) at which the mean log change (A, seeds) passes zero from above, by interpolation; NaN if it does not.

    Example:
        >>> round(crossing(np.array([0.1, 10.0]), np.array([[10.0], [0.1]])), 6)
        1.0
    """
    level, a = np.log(np.maximum(change, 1e-300)).mean(1), np.log(alphas)  # falls with alpha
    for i in range(len(a) - 1):
        if level[i] >= 0 > level[i + 1]:
            return float(np.exp(a[i] + level[i] / (level[i] - level[i + 1]) * (a[i + 1] - a[i])))
    return float("nan")


@dataclass(frozen=True)
class Regime:
    r"""Change of kernel, weights and activations at each output scale, one value per member (alpha, seed).

    ``kernel_change`` is :math:`\|\Theta_T-\Theta_0\|/\|\Theta_0\|` on test inputs, ``weight_change`` is
    :math:`\|w_T-w_0\|/\|w_0\|`, ``activation_change`` the same of the activations the readout sees, ``half_time`` the time
    :math:`t_1` at which the loss is half its initial value. ``n_star`` is the number of weights at which networks begin
    to fit: measured, or the estimate P / 2.85 of random labels, above which structured labels are fitted too.

    Example:
        >>> ones = np.ones((2, 1))
        >>> r = Regime(64, np.array([0.1, 10.0]), np.array([[10.0], [0.1]]), ones, ones, ones, 1.0)
        >>> round(r.crossover, 6), r.name
        (1.0, 'crossover')
    """

    width: int
    alphas: np.ndarray  # (A,), ascending
    kernel_change: np.ndarray  # (A, seeds)
    weight_change: np.ndarray
    half_time: np.ndarray
    test_error: np.ndarray
    alpha: float
    activation_change: np.ndarray | None = None
    fitted: np.ndarray | None = None  # (A, seeds): whether the stop rule was met
    n_weights: int | None = None
    n_star: float | None = None
    star_width: float | None = None  # width at which the architecture has n_star weights
    star_measured: bool = False
    n_trained: int | None = field(default=None)  # samples the probe trained on

    @property
    def crossover(self) -> float:
        """Alpha at which the kernel changes by its own size, by log-log interpolation; NaN outside the ladder."""
        return crossing(self.alphas, self.kernel_change)

    @property
    def rescaled(self) -> tuple[float, float]:
        r"""The position :math:`(h, \sqrt h\,\alpha)` on the phase diagram."""
        return float(self.width), float(np.sqrt(self.width) * self.alpha)

    @property
    def row(self) -> int:
        """Which of the alphas is the system's own (or nearest to it)."""
        return int(np.abs(np.log(self.alphas / self.alpha)).argmin())

    @property
    def name(self) -> str:
        """Which side of the crossover the system's own alpha lies on; within a factor 3 it is the crossover."""
        if not np.isfinite(self.crossover):
            return "lazy" if _mean(self.kernel_change[self.row]) < 1 else "feature"
        if abs(np.log(self.alpha / self.crossover)) < np.log(3):
            return "crossover"
        return "lazy" if self.alpha > self.crossover else "feature"

    @property
    def distance_to_jamming(self) -> float:
        """Weights over those at which networks begin to fit, N / N*; NaN when it is not known."""
        return self.n_weights / self.n_star if self.n_weights and self.n_star else float("nan")

    @property
    def words(self) -> str:
        """In which regime the network trains, what another output scale would do, and how far it is from jamming."""
        moved = _mean(self.kernel_change[self.row])
        parts = {
            "lazy": f"trains in the lazy regime: its kernel changes by {moved:.2g} of its size, features stay as drawn",
            "feature": f"trains in the feature regime: its kernel changes by {moved:.2g} times its size",
            "crossover": f"trains at the crossover: its kernel changes by about its own size ({moved:.2g})",
        }
        does = parts[self.name]
        if self.fitted is not None and float(self.fitted[self.row].mean()) < 1 and moved < 1:
            does = f"had changed its kernel by {moved:.2g} of its size when it was cut off: lazy so far, which may not last"
        said = [f"At width {self.width} and output scale {self.alpha:g} the network {does}."]
        if self.fitted is not None and float(self.fitted.mean()) < 1:
            said.append("Some runs were cut off before they met the stop rule: their movement is a lower bound.")
        star = self.crossover
        if np.isfinite(star):
            side = "smaller" if star < self.alpha else "larger"
            factor = max(star / self.alpha, self.alpha / star)
            said.append(
                f"The crossover lies at an output scale of {star:.2g} (√h α = {star * self.width**0.5:.2g}), "
                f"{factor:.2g} times {side}: below it the network learns features, above it it is its initial kernel."
            )
        else:
            lower = "smaller" if self.name == "lazy" else "larger"
            said.append(
                f"No crossover seen between output scales {self.alphas[0]:.2g} and {self.alphas[-1]:.2g}; look at a {lower} one."
            )
        said.append(self._errors())
        if np.isfinite(self.distance_to_jamming):
            how = (
                "measured"
                if self.star_measured
                else "estimated as that of random labels, P/2.85; real labels need fewer"
            )
            near = self.distance_to_jamming
            count = f"{near:.0f}" if near >= 10 else f"{near:.2g}"
            tail = " That is near jamming: expect slow training and large fluctuations." if near < 2 else ""
            said.append(f"It has {count} times the weights N* at which networks begin to fit ({how}).{tail}")
        return " ".join(s for s in said if s)

    def _errors(self) -> str:
        """Test errors at both ends of the ladder; which is better only where seeds can tell (two standard errors)."""
        low, high = (self.test_error[i][np.isfinite(self.test_error[i])] for i in (0, -1))
        if len(self.alphas) < 2 or not len(low) or not len(high):
            return ""
        said = f"Test error {low.mean():.3g} at output scale {self.alphas[0]:.2g}, {high.mean():.3g} at {self.alphas[-1]:.2g}"
        if min(len(low), len(high)) < 2:
            return f"{said} (one seed: not enough to say which is better)."
        noise = 2 * float(np.hypot(sem(low), sem(high)))
        gap = float(low.mean() - high.mean())
        tail = "no difference beyond the seeds" if abs(gap) <= noise else ("the larger" if gap > 0 else "the smaller")
        return f"{said}: {tail}{'' if tail.startswith('no') else ' one does better'}."

    def table(self) -> pd.DataFrame:
        """Tidy table: one row per member."""
        import pandas as pd

        n_seeds = self.kernel_change.shape[1]
        columns = {
            "alpha": np.repeat(self.alphas, n_seeds),
            "rescaled_alpha": np.repeat(self.alphas, n_seeds) * np.sqrt(self.width),
            "seed": np.tile(np.arange(n_seeds), len(self.alphas)),
        }
        names = ("kernel_change", "weight_change", "activation_change", "half_time", "test_error", "fitted")
        columns |= {n: np.asarray(getattr(self, n)).ravel() for n in names if getattr(self, n) is not None}
        return pd.DataFrame(columns)

    def phase_chart(self) -> alt.TopLevelMixin:
        """The plane of width and output scale with this network's point on it."""
        from priorscope.probes.regimes._chart import phase_chart

        return phase_chart(self)

    def chart(self) -> alt.TopLevelMixin:
        """Left: how far kernel, weights and activations move at each output scale. Right: the point on the phase diagram."""
        import altair as alt

        from priorscope.probes.regimes._chart import movement_chart, phase_chart

        chart: alt.TopLevelMixin = alt.hconcat(movement_chart(self), phase_chart(self)).resolve_scale(
            color="independent"
        )
        return chart


def _mean(values: np.ndarray) -> float:
    return float(gmean(np.maximum(values, 1e-300)))
