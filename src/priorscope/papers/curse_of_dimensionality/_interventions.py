"""Fig. 1 and Sec. 3.1: better training separates the symmetries of VEC, and MixUp closes VEC to GAP."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from priorscope.lab import Check, Claim, Paper, rising
from priorscope.papers.curse_of_dimensionality._grid import intervention_grid
from priorscope.papers.curse_of_dimensionality._measures import closing, lead, separation
from priorscope.papers.curse_of_dimensionality._symmetry_accuracy import run
from priorscope.papers.curse_of_dimensionality._systems import IMAGES, SOURCE

if TYPE_CHECKING:
    import altair as alt


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Test accuracy of every draw by system and group, without and with MixUp; the bar is the mean."""
    import altair as alt

    rows = table.assign(
        cell=table.system.str.upper() + ", " + table["group"],
        training=table.variant.map({"nn+": "NN+", "nn++": "NN++ (MixUp)"}),
    )[["data", "cell", "training", "accuracy", "seed"]]
    x = alt.X("cell:N", title=None, axis=alt.Axis(labelAngle=-30))
    colour = alt.Color("training:N", title=None)
    y = alt.Y("accuracy:Q", title="test accuracy", scale=alt.Scale(zero=False))
    offset = alt.XOffset("training:N")
    base = alt.Chart(rows)
    points = base.mark_point(filled=True, opacity=0.6).encode(x, y, colour, offset)
    means = base.mark_tick(thickness=3, width=20).encode(x, alt.Y("mean(accuracy):Q"), colour, offset)
    panel = (points + means).properties(width=260, height=220)
    chart: alt.TopLevelMixin = panel.facet(column=alt.Column("data:N", title=None)).resolve_scale(y="independent")
    return chart


PAPER = Paper(
    name="symmetry-interventions",
    title="Better training separates symmetries, MixUp closes VEC to GAP",
    source=SOURCE,
    version=1,
    grid=intervention_grid,
    run=run,
    claims=(
        Claim(
            "S0.5",
            f"{SOURCE}, Fig. 1, Sec. 3.1",
            "NN+ separates VEC under O(c)⊗I from VEC under O(c)^d",
            checks=tuple(
                Check(f"separation, {images_of}", partial(separation, data=data), rising())
                for data, images_of in IMAGES.items()
            ),
            reach=("n", "size", "width"),
        ),
        Claim(
            "S0.5b",
            f"{SOURCE}, Fig. 1, Sec. 3.1",
            "MixUp closes VEC to GAP, which is ahead under O(c)⊗I",
            checks=(
                *(Check(f"GAP ahead, {images_of}", partial(lead, data=d), rising()) for d, images_of in IMAGES.items()),
                Check("closing, synthetic images", partial(closing, data="local"), rising()),
            ),
            reach=("n", "size", "width"),
        ),
    ),
    chart=chart,
)
