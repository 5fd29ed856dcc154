"""Fig. 1: a symmetry larger than the system's own costs accuracy."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from priorscope.lab import Check, Claim, Metrics, Paper, Point, at_most, rising
from priorscope.papers.curse_of_dimensionality._grid import SYSTEMS, accuracy_grid
from priorscope.papers.curse_of_dimensionality._measures import drop_outside, largest_change_inside, nearer
from priorscope.papers.curse_of_dimensionality._systems import (
    IMAGES,
    SIZE_OF,
    SOURCE,
    VARIANTS,
    element,
    images,
    inside,
    predictions,
    score,
)

if TYPE_CHECKING:
    import altair as alt


def run(point: Point) -> Metrics:
    """The test accuracy of one system on images moved by one element of a group."""
    dataset = images(point["data"], point["size"], point["n"], point["n_test"], point["seed"])
    g = element(point["group"], tuple(dataset.input_shape), point["seed"])
    predicted = predictions(
        point["system"],
        point["variant"],
        dataset.transformed(g),
        width=max(point["width"] // 3, 2) if point["system"] == "lcn" else point["width"],  # d times as many filters
        steps=point["steps"],
        seed=point["seed"],
        **{name: point[name] for name in ("rate", "decay") if name in point},
    )
    infinite = point["variant"] == "ntk"
    return {"accuracy": score(predicted, dataset), "inside": inside(point["system"], point["group"], infinite)}


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Fig. 1: accuracy against group, one line per system; one column per way to train, one row per set of images.

    Circles: the theorem gives the system this symmetry, so the line should be flat up to there. Bars: range over draws, which
    are aligned at the mean accuracy on plain images, since not every group was run with every draw.
    """
    import altair as alt

    cells = table[table.part == "accuracy"]
    keys = ["data", "n", "variant"]
    plain = cells[cells["group"] == "identity"].set_index([*keys, "system", "seed"]).accuracy
    cells = cells.join(plain.rename("plain"), on=[*keys, "system", "seed"]).dropna(subset="plain")
    cells = cells.join(plain.groupby([*keys, "system"]).mean().rename("middle"), on=[*keys, "system"])
    cells = cells.assign(
        accuracy=cells.accuracy - cells.plain + cells.middle,
        system=cells.system.str.upper(),
        panel=cells.variant.str.upper() + ", " + cells.data + " n = " + cells.n.astype(str),
        symmetry=cells.inside.astype(bool).map({True: "inside", False: "outside"}),
    )[["system", "group", "panel", "data", "n", "variant", "accuracy", "symmetry", "seed"]]
    order = sorted(set(cells["group"]), key=lambda g: (SIZE_OF[g], g))
    names = [name.upper() for name in SYSTEMS if name.upper() in set(cells.system)]

    def panel(part: pd.DataFrame, title: str) -> alt.LayerChart:
        """Draw one set of images: the mean accuracy by group as lines and points, its range over draws as rules."""
        base = alt.Chart(part, title=title).encode(
            x=alt.X("group:N", sort=order, title=None, axis=alt.Axis(labelAngle=-50)),
            color=alt.Color(
                "system:N",
                scale=alt.Scale(domain=names),
                sort=names,
                legend=alt.Legend(title="system", symbolOpacity=1),
            ),
        )
        y = alt.Y("mean(accuracy):Q", title="test accuracy", scale=alt.Scale(zero=False))
        spread = base.mark_rule(opacity=0.4).encode(
            y=alt.Y("min(accuracy):Q", title="test accuracy"), y2="max(accuracy):Q"
        )
        points = base.mark_point(size=45, strokeWidth=2).encode(
            y=y,
            shape=alt.Shape(
                "symmetry:N",
                title="group and symmetry",
                scale=alt.Scale(domain=["inside", "outside"], range=["circle", "cross"]),
            ),
        )
        chart: alt.LayerChart = (spread + base.mark_line().encode(y=y) + points).properties(width=170, height=170)
        return chart

    rows = []
    for _, images_of in cells.groupby("data", sort=False):
        rank = images_of.variant.map(VARIANTS.index) + images_of.n / 1e9
        parts = [part for _, part in images_of.groupby(rank)]
        rows.append(alt.hconcat(*(panel(p, str(p.panel.iloc[0])) for p in parts)).resolve_scale(y="shared"))
    return alt.vconcat(*rows)


PAPER = Paper(
    name="symmetry-accuracy",
    title="A larger symmetry costs accuracy",
    source=SOURCE,
    version=1,
    grid=accuracy_grid,
    run=run,
    claims=(
        Claim(
            "S0.4",
            f"{SOURCE}, Fig. 1",
            "a group inside the system's symmetry leaves its accuracy; a larger one lowers it towards the system that has it",
            checks=tuple(
                check
                for data, images_of in IMAGES.items()
                for check in (
                    Check(
                        f"largest change inside over the noise of a cell, {images_of}",
                        partial(largest_change_inside, data=data),
                        at_most(3),
                    ),
                    Check(f"mean drop outside, {images_of}", partial(drop_outside, data=data), rising()),
                    Check(f"nearer to the system that has it, {images_of}", partial(nearer, data=data), rising()),
                )
            ),
        ),
    ),
    chart=chart,
)
