"""The other way round to the jamming point: how many patterns one network can fit, found by bisection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from priorscope.checks import each, whole
from priorscope.contracts import Inference, Samples, guarded
from priorscope.models import count_weights
from priorscope.probes.landscapes._jamming_point import Trained, finished, parts_of

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["JammingLoad", "jamming_load"]


@dataclass(frozen=True)
class JammingLoad:
    """Numbers of patterns that were tried with one network, and the share of seeds that fitted all of them.

    ``p_star`` is P at half success, interpolated in log P; ``low`` and ``high`` are the largest P that every seed and the
    smallest that no seed fitted.

    Example:
        >>> load = JammingLoad((10, 40), (1.0, 0.0), 10, 3)
        >>> round(load.p_star), load.low, load.high, round(load.ratio)
        (20, 10, 40, 2)
    """

    n_train: tuple[int, ...]
    success: tuple[float, ...]
    n_weights: int
    n_seeds: int

    @property
    def p_star(self) -> float:
        """P at half success; NaN when the sizes do not reach both sides."""
        for (p0, s0), (p1, s1) in pairwise(zip(self.n_train, self.success)):
            if s0 >= 0.5 > s1:
                return float(np.exp(np.log(p0) + (s0 - 0.5) / (s0 - s1) * np.log(p1 / p0)))
        return float("nan")

    @property
    def low(self) -> int:
        """Largest P that every seed fitted; 0 when there is none."""
        return max((p for p, s in zip(self.n_train, self.success) if s == 1), default=0)

    @property
    def high(self) -> float:
        """Smallest P that no seed fitted; infinite when there is none."""
        return min((p for p, s in zip(self.n_train, self.success) if s == 0), default=float("inf"))

    @property
    def ratio(self) -> float:
        """P* / N at the transition."""
        return self.p_star / self.n_weights

    def table(self) -> pd.DataFrame:
        """One row per number of patterns."""
        import pandas as pd

        rows = {"n_train": self.n_train, "success": self.success}
        return pd.DataFrame(rows).assign(n_weights=self.n_weights, n_seeds=self.n_seeds)

    def chart(self) -> alt.TopLevelMixin:
        """Success against the number of patterns, with the transition marked."""
        import altair as alt
        import pandas as pd

        points: alt.Chart = alt.Chart(self.table()).mark_line(point=True)
        points = points.encode(
            alt.X("n_train:Q", title="number of patterns P", scale=alt.Scale(type="log", nice=False, padding=12)),
            alt.Y("success:Q", title="part of seeds that fit all points"),
        )
        if not np.isfinite(self.p_star):
            return points
        rule = alt.Chart(pd.DataFrame({"n_train": [self.p_star]})).mark_rule(strokeDash=[4, 4])
        chart: alt.TopLevelMixin = points + rule.encode(x="n_train:Q")
        return chart


@guarded(sizes=each(whole(), empty=True), seeds=whole())
def jamming_load(
    model: Trained,
    data: Samples | None = None,
    sizes: Sequence[int] = (),
    *,
    seeds: int = 3,
    inference: Inference | None = None,
) -> JammingLoad:
    r"""Find :math:`P^*(N)`, the number of patterns at which half of the seeds still reach zero loss, for one network.

    ``model`` is a System, an architecture, or a function ``seed -> network``. ``data`` (the System's unless given) is anything
    with ``inputs`` and ``targets``; seed s trains on the first P rows of a shuffle of its own in which classes (signs of one
    output, the largest of several) keep their proportion, so that larger sets contain the smaller ones: Geiger et al. (2019),
    Fig. 9, vary P at fixed N likewise. P moves in finer steps than N can. ``inference`` as for :func:`jamming_point`; the
    position depends on its budget.

    Example:
        >>> from priorscope.inference import AllFitted, GradientDescent
        >>> from priorscope.data import random_patterns
        >>> from priorscope.models import plain_network
        >>> quick = GradientDescent(optimiser="adam", learning_rate=0.02, steps=200, loss="quadratic-hinge", stop=AllFitted())
        >>> patterns = random_patterns(60, 3)
        >>> load = jamming_load(lambda s: plain_network(3, 3, 1, seed=s), patterns, [4, 60], seeds=1, inference=quick)
        >>> load.success
        (1.0, 0.0)
    """
    ladder = sorted(set(sizes))
    build, samples, method = parts_of(model, data, inference, "jamming_load")
    x, y = samples.inputs, samples.targets
    if len(ladder) < 2 or ladder[0] < 2 or ladder[-1] > len(x) or seeds < 1:
        raise ValueError(
            f"jamming_load needs two or more sizes from 2 to the {len(x)} patterns there are and one seed; got sizes "
            f"{list(sizes)}, seeds {seeds}."
        )
    targets = np.asarray(y).reshape(len(x), -1)
    labels = targets[:, 0] > 0 if targets.shape[1] == 1 else targets.argmax(1)
    orders = [_shuffle(labels, seed) for seed in range(seeds)]
    done: dict[int, float] = {}

    def success(index: int) -> float:
        n = ladder[index]
        if n not in done:
            parts = [SimpleNamespace(inputs=x[order[:n]], targets=y[order[:n]]) for order in orders]
            fitted = [bool(finished(method.fit(build(None, s), part, seed=s)).all()) for s, part in enumerate(parts)]
            done[n] = sum(fitted) / seeds
        return done[n]

    low, high = 0, len(ladder) - 1
    if success(low) >= 0.5 > success(high):
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if success(middle) >= 0.5 else (low, middle)
    ordered = tuple(sorted(done))
    return JammingLoad(ordered, tuple(done[n] for n in ordered), count_weights(build(None, 0)), seeds)


def _shuffle(labels: np.ndarray, seed: int) -> np.ndarray:
    """Shuffle so that every beginning of the order has all labels in their proportion."""
    rng = np.random.default_rng(seed)
    place = np.empty(len(labels))
    for label in np.unique(labels)[::-1]:
        rows = rng.permutation(np.flatnonzero(labels == label))
        place[rows] = (np.arange(len(rows)) + 0.5) / max(len(rows), 1)
    return np.argsort(place, kind="stable")
