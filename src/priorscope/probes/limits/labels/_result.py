"""What was found about the labels: how many look wrong, which, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priorscope.probes.limits.labels._early_stopping import EarlyStopping
from priorscope.statistics import Interval

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["LabelNoise"]

Array = NDArray[np.float64]
CLEAN = 0.02  # rates whose lower end is below this are told as labels that look right


@dataclass(frozen=True, eq=False)
class LabelNoise:
    """Labels that look wrong: the ``rate`` with its interval, and for every sample how probably its label is wrong.

    ``rows`` are places in the training split, ``labels`` what they say and ``suggested`` what the left-out prediction says,
    ``suspicion`` the label's left-out score minus that of the best other class (lowest first when sorted),
    ``wrong`` the probability, ``scores`` (n, classes) the left-out scores.
    ``kernels`` were averaged. ``dimension`` leading directions of the best kernel (before its
    widest gap) hold the share ``information`` of the label signal; labels at random would have dimension / n there.

    Example:
        >>> import priorscope as ps
        >>> found = ps.probes.label_noise(ps.data.digits().subset(200, seed=0))
        >>> found.rate.value < 0.03, len(found.wrong)
        (True, 200)
    """

    rate: Interval
    rows: NDArray[np.int64] = field(repr=False)
    labels: NDArray[np.int64] = field(repr=False)
    suggested: NDArray[np.int64] = field(repr=False)
    suspicion: Array = field(repr=False)
    wrong: Array = field(repr=False)
    disagreement: float
    kernels: tuple[str, ...]
    dimension: int
    information: float
    stopping: EarlyStopping = field(repr=False)
    classes: tuple[str, ...]
    scores: Array = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Samples looked at."""
        return len(self.labels)

    @property
    def count(self) -> int:
        """The estimated number of wrong labels."""
        return round(self.rate.value * self.n)

    @property
    def left_out(self) -> float:
        """Share of the labels that the kernels predict when they are left out."""
        return float((self.suspicion > 0).mean())

    @property
    def largest_class(self) -> float:
        """Share of the most frequent label: what a predictor gets that always says it."""
        return float(np.bincount(self.labels).max() / self.n)

    @property
    def learnt(self) -> bool:
        """Whether left-out labels are predicted better than by the largest class, by two standard errors."""
        noise = float(np.sqrt(self.left_out * (1 - self.left_out) / self.n))
        return self.left_out - 2 * noise > self.largest_class

    def order(self) -> NDArray[np.int64]:
        """Positions from the most to the least suspicious label."""
        return np.argsort(self.suspicion, kind="stable")

    def flagged(self) -> NDArray[np.int64]:
        """Positions of labels that are more probably wrong than right, the most suspicious first.

        Example:
            >>> import priorscope as ps
            >>> len(ps.probes.label_noise(ps.data.digits().subset(200, seed=0)).flagged()) < 10
            True
        """
        order = self.order()
        return order[self.wrong[order] > 0.5]

    def worst(self, count: int | None = None) -> pd.DataFrame:
        """The most suspicious labels (those flagged unless told how many): place, label, suggestion, probability."""
        import pandas as pd

        first = self.flagged() if count is None else self.order()[:count]
        return pd.DataFrame(
            {
                "row": self.rows[first],
                "label": [self.classes[c] for c in self.labels[first]],
                "suggested": [self.classes[c] for c in self.suggested[first]],
                "wrong": self.wrong[first],
            }
        )

    def table(self) -> pd.DataFrame:
        """All samples, the most suspicious first."""
        return self.worst(self.n)

    def sentences(self) -> list[str]:
        """How many labels look wrong, where the label signal lies, and when to stop training."""
        low, high = 100 * self.rate.low, 100 * self.rate.high
        flagged = len(self.flagged())
        if not self.learnt:
            first = (
                f"Nothing can be said of single labels: left out, {100 * self.left_out:.0f} % of the {self.n:,} labels are "
                f"predicted, no better than by always saying the largest class ({100 * self.largest_class:.0f} %)."
            )
            named = " Either most labels are wrong, or these inputs do not tell the classes apart."
        elif self.rate.low < CLEAN and self.rate.value < 2 * CLEAN:
            first = f"The labels look right: at most {high:.0f} % of the {self.n:,} looked at seem wrong"
            named = f"; {flagged} of them deserve{'s' if flagged == 1 else ''} a look." if flagged else "."
        else:
            first = (
                f"About {100 * self.rate.value:.0f} % of the {self.n:,} labels looked at seem wrong "
                f"({low:.0f} to {high:.0f} %)"
            )
            named = f"; {flagged} can be named. Classes that the inputs do not tell apart would look the same."
        share = (
            f"{100 * self.information:.0f} % of the label signal lies in the {self.dimension} leading directions of "
            f"{self.kernels[0]}'s kernel, which are learnt first (labels at random: {100 * self.dimension / self.n:.0f} %)."
        )
        return [first + named, share, self.stopping.sentence()]

    def __str__(self) -> str:
        return "\n".join([*self.sentences(), *self.notes])

    def chart(self) -> alt.TopLevelMixin:
        """How many samples have which suspicion; those flagged are told apart by colour."""
        import altair as alt
        import pandas as pd

        table = pd.DataFrame(
            {
                "margin": self.suspicion,
                "label": np.where(self.wrong > 0.5, "looks wrong", "looks right"),
            }
        )
        bars: alt.Chart = (
            alt.Chart(table)
            .mark_bar()
            .encode(
                x=alt.X("margin:Q", title="left-out score of the label minus the best other").bin(maxbins=50),
                y=alt.Y("count():Q", title="samples"),
                color=alt.Color("label:N", title=None).scale(
                    domain=["looks right", "looks wrong"], range=["#4c78a8", "#e45756"]
                ),
            )
        )
        return bars
