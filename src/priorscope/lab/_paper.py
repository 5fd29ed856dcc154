"""A published result as the lab sees it: a grid of points, one run, claims, a chart."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from priorscope.lab._claim import Claim
from priorscope.lab._point import Metrics, Point, point_key

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

SCALES = ("tiny", "small", "overnight", "paper")
"""``tiny`` for tests (seconds, no verdicts), ``small`` for a laptop (minutes), ``overnight`` for two cores and twelve hours (the
source's data and criteria, as large as that goes; of papers that have it), ``paper`` for the published sizes.

Example:
    >>> SCALES
    ('tiny', 'small', 'overnight', 'paper')
"""


@dataclass(frozen=True)
class Paper:
    """A published result that one command reproduces.

    ``grid(scale)`` lists the points, dicts of JSON values with a ``seed``. ``run(point)`` is a pure function at the top
    level of a module (so that other processes can import it) and gives a dict of JSON values and numpy arrays. Raise
    ``version`` whenever ``run`` changes what it measures: runs of older versions are then left aside. Where one point trains
    several independent members (initialisations or training sets), ``members`` names the field of the point that counts them,
    and the ledger counts members as seeds. ``place`` says where a paper of the user's own is (``file.py:PAPER``); who loads it
    by that text fills it in. ``overnight`` says that the grid knows that scale.

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
    members: str = ""
    place: str = ""
    overnight: bool = False

    @property
    def scales(self) -> tuple[str, ...]:
        """The scales of its grid, from small to large.

        Example:
            >>> Paper("x", "X", "Y", 1, lambda scale: [], lambda point: {}).scales
            ('tiny', 'small', 'paper')
        """
        return tuple(scale for scale in SCALES if scale != "overnight" or self.overnight)

    @property
    def address(self) -> str:
        """What ``priorscope reproduce`` is told to find it: its place, or the name of a paper of the library.

        A paper that was not loaded by text is looked up in the module of its run, where that is not the library's.
        """
        home = inspect.getmodule(self.run)
        file = Path(getattr(home, "__file__", None) or "")
        if self.place or home is None or Path(__file__).parents[1] in file.parents:
            return self.place or self.name
        known = next((name for name, value in vars(home).items() if value is self), None)
        return self.name if known is None else f"{file if home.__spec__ is None else home.__spec__.name}:{known}"

    def command(self, scale: str) -> str:
        """The line that runs it again.

        Example:
            >>> Paper("x", "X", "Y", 1, lambda scale: [], lambda point: {}, place="my file.py:PAPER").command("small")
            "priorscope reproduce 'my file.py:PAPER' --scale small"
        """
        return f"priorscope reproduce {shlex.quote(self.address)} --scale {scale}"

    def points(self, scale: str) -> list[Point]:
        """The points of a scale, checked: JSON values, each with a seed, none twice."""
        if scale not in SCALES:
            raise ValueError(f"a scale is one of {', '.join(map(repr, SCALES))}; got {scale!r}.")
        if scale not in self.scales:
            raise ValueError(f"{self.name!r} has no scale {scale!r}; it has {', '.join(self.scales)}.")
        points = self.grid(scale)
        seen: dict[str, Point] = {}
        for point in points:
            if "seed" not in point:
                raise ValueError(f"every point of {self.name!r} needs a 'seed'; got {point!r}.")
            if self.members and not (isinstance(point.get(self.members), int) and point[self.members] > 0):
                raise ValueError(f"every point of {self.name!r} counts its members in {self.members!r}; got {point!r}.")
            key = self.key(point)
            if key in seen:
                raise ValueError(f"the {scale} grid of {self.name!r} lists the point {point!r} twice.")
            seen[key] = point
        return points

    def shortfall(self, scale: str) -> dict[str, tuple[object, object]]:
        """In which fields the points of a scale stay behind the published ones: the largest number here and there.

        Of words those that are missing here count; ``seeds`` are the independent repeats. Nothing at the published scale.

        Example:
            >>> sizes = {"tiny": (1, 1), "small": (2, 10), "paper": (3, 500)}
            >>> def grid(scale):
            ...     seeds, steps = sizes[scale]
            ...     return [{"steps": steps, "rate": 0.1, "seed": seed} for seed in range(seeds)]
            >>> Paper("x", "X", "Y", 1, grid, lambda point: {}).shortfall("small")
            {'steps': (10, 500), 'seeds': (2, 3)}
        """
        here, there = _extent(self.points(scale)), _extent(self.points("paper"))
        found: dict[str, tuple[object, object]] = {}
        for name, most in there.items():
            ours = here.get(name)
            if isinstance(most, set):
                missing = most - ours if isinstance(ours, set) else most
                if missing:
                    found[name] = (
                        ", ".join(sorted(ours)) if isinstance(ours, set) else None,
                        ", ".join(sorted(missing)),
                    )
            elif not isinstance(ours, int | float) or ours < most:
                found[name] = (ours if isinstance(ours, int | float) else None, most)
        return found

    def seeds(self, table: pd.DataFrame) -> int:
        """How many independent repeats the cell of a table of runs with fewest members has: its seeds times its members.

        Example:
            >>> import pandas as pd
            >>> paper = Paper("x", "X", "Y", 1, lambda scale: [], lambda point: {}, members="networks")
            >>> paper.seeds(pd.DataFrame({"seed": [0, 1], "networks": [4, 3]}))
            6
        """
        seeds = int(table["seed"].nunique())
        return seeds * int(table[self.members].min()) if self.members else seeds

    def key(self, point: Point) -> str:
        """The name of a point in the store: a hash of paper, version, parameters and seed."""
        return point_key(self.name, self.version, point)


def _extent(points: list[Point]) -> dict[str, float | int | set[str]]:
    """The largest number of every field (of lists too), the words of those that have words, and how many seeds there are."""
    numbers: dict[str, float | int] = {}
    words: dict[str, set[str]] = {}
    for point in points:
        for name, value in point.items():
            for each in value if isinstance(value, list | tuple) else [value]:
                if isinstance(each, str):
                    words.setdefault(name, set()).add(each)
                elif isinstance(each, int | float) and not isinstance(each, bool) and name != "seed":
                    numbers[name] = max(each, numbers.get(name, each))
    seeds = {"seeds": len({point["seed"] for point in points})} if points else {}
    return {**numbers, **words, **seeds}
