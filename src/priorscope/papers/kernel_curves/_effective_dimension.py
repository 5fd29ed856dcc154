"""Nearest neighbours of MNIST, CIFAR-10 and spheres: the effective dimension."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.data import sphere
from priorscope.lab import Check, Claim, Measured, Metrics, NotMeasured, Paper, Point, at_most, below, near
from priorscope.papers._over_draws import over_draws, where
from priorscope.papers.kernel_curves._images import two_classes
from priorscope.papers.kernel_curves._source import SOURCE, records
from priorscope.probes import effective_dimension, sphere_distance
from priorscope.statistics import Interval

if TYPE_CHECKING:
    import altair as alt

SIZES: dict[str, Point] = {
    "tiny": {"data": ["digits"], "n": 600, "dims": [2], "seeds": 2},
    "small": {"data": ["mnist", "cifar10"], "n": 8000, "dims": [1, 2, 3, 5, 15, 35], "seeds": 8},
    "paper": {"data": ["mnist", "cifar10"], "n": 12000, "dims": [1, 2, 3, 5, 10, 15, 20, 35], "seeds": 10},
}


def grid(scale: str) -> list[Point]:
    """Each data set and sphere, several draws."""
    size = SIZES[scale]
    kinds = [*size["data"], *(f"sphere {d}" for d in size["dims"])]
    return [{"data": name, "n": size["n"], "seed": seed} for name in kinds for seed in range(size["seeds"])]


def run(point: Point) -> Metrics:
    """Mean distances to nearest neighbours in subsets, and the dimension by slope and by overlay."""
    name, n, seed = point["data"], point["n"], point["seed"]
    word, _, dim = name.partition(" ")
    x = sphere(n, int(dim) + 1, seed=seed) if word == "sphere" else two_classes(name, n, 0, seed, "variance")[0]
    inputs = np.unique(
        x.numpy().reshape(len(x), -1), axis=0
    )  # CIFAR-10 has images twice: their distance of zero says nothing
    sizes = [int(v) for v in np.geomspace(n // 64, len(inputs), 7).round()]
    found = effective_dimension(inputs, sizes, subsets=2, seed=seed)
    return {
        "n_different": len(inputs),
        "n_subset": found.sizes,
        "distance": found.distances.mean(0),
        "slope": found.slope.value,
        "last_local": float(found.local[-1]),
        "overlay": found.overlay,
        "residual": found.residual,
    }


def dimension(table: pd.DataFrame, data: str) -> Measured:
    """Dimension by overlay with spheres, the slope's in the note."""
    rows = where(table, data=data)
    told = f"slope {rows.slope.mean():.1f}, last two sizes {rows.last_local.mean():.1f}, residual {rows.residual.mean():.3f}"
    return Measured(over_draws(rows.overlay), told)


def spheres(table: pd.DataFrame, column: str, most: int) -> Measured:
    """Largest relative error of the dimension of spheres up to ``most``, in the mean over draws."""
    rows = table[table.data.str.startswith("sphere")]
    cells = {}
    for name, part in rows.groupby("data"):
        d = int(str(name).split()[1])
        if d <= most:
            cells[d] = over_draws((part[column] / d - 1).abs())
    if not cells:
        raise NotMeasured("no spheres")
    worst = max(cells, key=lambda d: cells[d].high)
    return Measured(cells[worst], ", ".join(f"d = {d}: {i.value:.3f}" for d, i in sorted(cells.items())))


def too_low(table: pd.DataFrame) -> Interval:
    """Slope's dimension over the true one on the sphere of 35 dimensions."""
    return over_draws(table[table.data == "sphere 35"].slope / 35)


CLAIMS = (
    Claim(
        "K.15",
        SOURCE + ", sec. 7 and Fig. 4",
        "MNIST looks 15-dimensional and CIFAR-10 35-dimensional to nearest neighbours",
        checks=(
            Check("MNIST", partial(dimension, data="mnist"), near(15, within=3)),
            Check("CIFAR-10", partial(dimension, data="cifar10"), near(35, within=7)),
        ),
    ),
    Claim(
        "K.16",
        SOURCE + ", Fig. 4",
        "distances on S^d fall like n^(-1/d); in many dimensions only far beyond these sizes, so spheres are laid over the data",
        checks=(
            Check(
                "relative error of the slope's dimension up to d = 5",
                partial(spheres, column="slope", most=5),
                at_most(0.06),
            ),
            Check(
                "relative error of the overlay's dimension up to d = 35",
                partial(spheres, column="overlay", most=35),
                at_most(0.06),
            ),
            Check("slope's dimension over 35 on S^35", too_low, below(0.9)),
        ),
    ),
)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Points: mean distance to the nearest neighbour, in units of that at the smallest subset. Lines: spheres, exactly."""
    import altair as alt

    parts = [
        pd.DataFrame({"n": r["n_subset"], "distance": np.asarray(r["distance"]) / r["distance"][0], "data": r["data"]})
        for r in records(table)
        if not r["data"].startswith("sphere")
    ]
    points = pd.concat(parts)
    n = np.geomspace(points.n.min(), points.n.max(), 40)
    lines = pd.concat(
        [
            pd.DataFrame({"n": n, "distance": sphere_distance(d, n) / sphere_distance(d, n[0]), "data": f"S^{d}"})
            for d in (5, 10, 15, 20, 35)
        ]
    )
    x = alt.X("n:Q", title="samples n").scale(type="log", nice=False)
    y = alt.Y("distance:Q", title="distance / distance at the smallest n").scale(type="log", nice=False)
    return alt.layer(
        alt.Chart(lines).mark_line(strokeDash=[4, 3]).encode(x, y, alt.Color("data:N", title=None)),
        alt.Chart(points).mark_point(filled=True, size=45).encode(x, y, alt.Color("data:N", title=None)),
    )


PAPER = Paper(
    name="effective-dimension",
    title="The dimension that nearest neighbours see",
    source=SOURCE,
    version=2,
    grid=grid,
    run=run,
    claims=CLAIMS,
    chart=chart,
)
