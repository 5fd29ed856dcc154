"""A published result as the lab sees it: a grid of points, one run, claims, a chart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from priorscope.lab._claim import Claim
from priorscope.lab._point import Metrics, Point, point_key

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["SCALES", "Paper"]

SCALES = ("tiny", "small", "paper")
"""``tiny`` for tests (seconds, no verdicts), ``small`` for a laptop (minutes), ``paper`` for the published sizes.

Example:
    >>> SCALES
    ('tiny', 'small', 'paper')
"""


@dataclass(frozen=True)
class Paper:
    """A published result that one command reproduces.

    ``grid(scale)`` lists the points, dicts of JSON values with a ``seed``. ``run(point)`` is a pure function at the top
    level of a module (so that other processes can import it) and gives a dict of JSON values and numpy arrays. Raise
    ``version`` whenever ``run`` changes what it measures: runs of older versions are then left aside.

    Example:
        >>> def run(point):
        ...     return {"square": point["x"] ** 2}
        >>> paper = Paper("squares", "Squares", "Euclid", 1, lambda scale: [{"x": 3, "seed": 0}], run, (), None)
        >>> paper.points("tiny")
        [{'x': 3, 'seed': 0}]
    """

    name: str
    title: str
    source: str
    version: int
    grid: Callable[[str], list[Point]]
    run: Callable[[Point], Metrics]
    claims: tuple[Claim, ...] = ()
    chart: Callable[[pd.DataFrame], alt.TopLevelMixin] | None = None

    def points(self, scale: str) -> list[Point]:
        """The points of a scale, checked: JSON values, a seed each, none twice."""
        if scale not in SCALES:
            raise ValueError(f"a scale is one of {', '.join(map(repr, SCALES))}; got {scale!r}.")
        points = self.grid(scale)
        seen: dict[str, Point] = {}
        for point in points:
            if "seed" not in point:
                raise ValueError(f"every point of {self.name!r} needs a 'seed'; got {point!r}.")
            key = self.key(point)
            if key in seen:
                raise ValueError(f"the {scale} grid of {self.name!r} lists the point {point!r} twice.")
            seen[key] = point
        return points

    def key(self, point: Point) -> str:
        """The name of a point in the store: a hash of paper, version, parameters and seed."""
        return point_key(self.name, self.version, point)
