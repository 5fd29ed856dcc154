"""How stable a network is to a family of transformations: numbers with intervals, a chart, pictures, one sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor

from priorscope.printing import printed
from priorscope.probes.stability._pictures import pictures
from priorscope.statistics import Interval, seed_interval

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Sensitivity", "Stability", "log_interval"]

SYMBOLS = {"D": "to the moves, D", "G": "to noise, G", "R": "relative, R = D / G"}


def log_interval(values: NDArray[np.float64]) -> Interval:
    """The geometric mean over draws with Student's interval of the logarithm; one draw has no interval.

    Example:
        >>> log_interval(np.array([1.0, 4.0])).value
        2.0
    """
    if (values <= 0).any():
        return Interval(float(values.mean()), 0.0, float(values.max()))
    found = seed_interval(np.log(values))
    ends = np.exp([found.value, found.low, min(found.high, 700.0)])
    return Interval(float(ends[0]), float(ends[1]), float("inf") if found.high > 700 else float(ends[2]))


class Sensitivity(StrEnum):
    """How sensitive a network is to moves compared with noise of the same size; the value is the word in sentences.

    Example:
        >>> f"{Sensitivity.ALIKE} sensitive {Sensitivity.ALIKE.than} noise"
        'about as sensitive as to noise'
    """

    LESS = "less"
    ALIKE = "about as"
    MORE = "more"

    @property
    def than(self) -> str:
        """The words that follow."""
        return "as to" if self is Sensitivity.ALIKE else "than to"


@printed
@dataclass(frozen=True)
class Stability:
    r"""Stability of a network to moves and to noise of the same size; ``D``, ``G`` and ``R`` are those of its output.

    Larger numbers mean less stable. ``values`` (draws, layers, 2) holds D and G of every draw; averages over draws are
    geometric, and intervals are Student's, of the logarithm. ``examples`` holds images, moved images and noisy ones (k, 3, …).

    Example:
        >>> import torch
        >>> found = Stability("net", "shifts by 1 pixel", ("output",), np.full((3, 1, 2), [[0.1, 0.4]]), "median", 2.0, 9)
        >>> round(found.R.value, 6), found.sentence
        (0.25, 'net is less sensitive to shifts by 1 pixel than to noise of the same size: R = 0.25 [0.25, 0.25].')
    """

    subject: str
    family: str
    layers: tuple[str, ...]
    values: NDArray[np.float64]
    average: str
    radius: float
    n_images: int
    notes: tuple[str, ...] = ()
    examples: Tensor | None = field(default=None, repr=False, compare=False)

    def interval(self, name: str, layer: int = -1) -> Interval:
        """D, G or R of a layer with its interval over draws."""
        columns = {"D": self.values[:, layer, 0], "G": self.values[:, layer, 1]}
        columns["R"] = columns["D"] / columns["G"]
        if name not in columns:
            raise ValueError(f"there are D, G and R; got {name!r}.")
        return log_interval(columns[name])

    @property
    def D(self) -> Interval:
        """Change of the output under the moves, relative to that between two images."""
        return self.interval("D")

    @property
    def G(self) -> Interval:
        """Change of the output under noise of the same size, relative to that between two images."""
        return self.interval("G")

    @property
    def R(self) -> Interval:
        """Relative stability D / G: below one, the network is less sensitive to the moves than to noise."""
        return self.interval("R")

    @property
    def answer(self) -> Sensitivity:
        """How sensitive the network is to the moves, compared with noise."""
        R = self.R
        return Sensitivity.LESS if R.high < 1 else Sensitivity.MORE if R.low > 1 else Sensitivity.ALIKE

    @property
    def sentence(self) -> str:
        """What the numbers say, in one sentence."""
        R = self.R
        ends = f" [{R.low:.3g}, {R.high:.3g}]" if np.isfinite([R.low, R.high]).all() else ", one draw"
        return (
            f"{self.subject} is {self.answer} sensitive to {self.family} {self.answer.than} noise of the same size: "
            f"R = {R.value:.3g}{ends}."
        )

    def table(self) -> pd.DataFrame:
        """One row per layer: name, relative depth, and D, G, R with the ends of their intervals."""
        rows = []
        for k, name in enumerate(self.layers):
            row: dict[str, object] = {"layer": name, "depth": k / max(len(self.layers) - 1, 1)}
            for symbol in SYMBOLS:
                found = self.interval(symbol, k)
                row |= {symbol: found.value, f"{symbol}_low": found.low, f"{symbol}_high": found.high}
            rows.append(row)
        return pd.DataFrame(rows)

    def long_table(self) -> pd.DataFrame:
        """One row per layer and symbol, as the chart draws them; ends of intervals only where there are several draws."""
        table = self.table()
        parts = []
        for symbol, words in SYMBOLS.items():
            ends = {"value": table[symbol], "low": table[f"{symbol}_low"], "high": table[f"{symbol}_high"]}
            parts.append(pd.DataFrame({"layer": table.layer, "depth": table.depth, "of": words, **ends}))
        found = pd.concat(parts, ignore_index=True)
        known = np.isfinite(found.low) & np.isfinite(found.high) & (found.low > 0)
        return found.assign(low=found.low.where(known, found.value), high=found.high.where(known, found.value))

    def chart(self) -> alt.TopLevelMixin:
        """D, G and R on a log axis with their intervals: of the output, or against depth where layers were asked for."""
        import altair as alt

        table = self.long_table()
        colour = alt.Color("of:N", title=None, sort=list(SYMBOLS.values()), legend=alt.Legend(orient="top"))
        base = alt.Chart(table, title=f"{self.subject}, {self.family}")
        scale = alt.Scale(type="log")
        line = alt.Chart(pd.DataFrame({"value": [1.0]})).mark_rule(strokeDash=[4, 4])
        if len(self.layers) == 1:
            across = alt.X("value:Q", title="stability (smaller is more stable)", scale=scale)
            rows = alt.Y("of:N", title=None, sort=list(SYMBOLS.values()), axis=alt.Axis(labelLimit=260))
            marks = base.mark_point(filled=True, size=70).encode(across, rows, tooltip=["of", "value", "low", "high"])
            ends = base.mark_rule().encode(alt.X("low:Q", scale=scale), rows, alt.X2("high:Q"))
            flat: alt.TopLevelMixin = (line.encode(x="value:Q") + ends + marks).properties(width=380, height=90)
            return flat
        along = alt.X("depth:Q", title="depth (0 first layer, 1 output)")
        up = alt.Y("value:Q", title="stability (smaller is more stable)", scale=scale)
        tips = ["layer", "of", "value", "low", "high"]
        drawn = base.mark_line(point=True).encode(along, up, colour, tooltip=tips)
        ends = base.mark_rule().encode(along, alt.Y("low:Q", scale=scale), alt.Y2("high:Q"), colour)
        deep: alt.TopLevelMixin = (line.encode(y="value:Q") + ends + drawn).properties(width=380, height=260)
        return deep

    def pictures(self, limit: int = 3) -> alt.TopLevelMixin:
        """Some images x, moved τx, and with noise x + η at the same distance."""
        if self.examples is None:
            raise ValueError("there are no pictures: the inputs are not images (channels, height, width).")
        return pictures(self.examples[:limit], self.radius)
