"""Theorems 2.1 and 3.1: which symmetry each system has, at infinite and at finite width."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd
import torch

import priorscope.models as models
from priorscope.data.groups import named
from priorscope.inference import GradientDescent, KernelRegression
from priorscope.lab import Check, Claim, Metrics, Paper, Point, at_least, at_most
from priorscope.papers.curse_of_dimensionality._grid import exact_grid
from priorscope.papers.curse_of_dimensionality._measures import changes, inclusion
from priorscope.papers.curse_of_dimensionality._systems import SIZE_OF, SOURCE, architecture, images, inside
from priorscope.probes import symmetry
from priorscope.system import System

if TYPE_CHECKING:
    import altair as alt


def run(point: Point) -> Metrics:
    """One cell: the change of a kernel or of a coupled network under a group, or the difference of an embedding."""
    if point["part"] == "inclusion":
        return _inclusion(int(point["variant"].split()[1]), point["seed"])
    dataset = images(point["data"], point["size"], point["n"], point["n_test"], point["seed"])
    group = named(dataset.input_shape)[point["group"]]
    if point["part"] == "kernel":
        system = System(dataset, architecture(point["system"]), KernelRegression())
        found = symmetry(system, group, n_inputs=8)
    else:
        descent = GradientDescent(
            learning_rate=0.05, momentum=0.9, weight_decay=1e-3, steps=point["steps"], batch_size=32, record=2
        )
        system = System(dataset, architecture(point["system"]), descent, width=point["width"])
        found = symmetry(system, group, test="coupling", n_elements=1)
    return {"change": found.change, "inside": inside(point["system"], point["group"], point["part"] == "kernel")}


def _inclusion(depth: int, seed: int) -> Metrics:
    """Largest difference of outputs along GAP → VEC → LCN → wide VEC, float64."""
    shape = (3, 5, 5)
    x = torch.randn(10, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    gap = models.gap(depth=depth, bias_variance=0.1).network(shape, width=3, outputs=2, seed=seed, dtype=torch.float64)
    lcn = models.lcn(depth=depth, bias_variance=0.1).network(shape, width=2, outputs=2, seed=seed, dtype=torch.float64)
    vec = models.gap_to_vec(gap, shape)
    pairs = ((gap, vec), (vec, models.vec_to_lcn(vec, shape)), (lcn, models.lcn_to_vec(lcn, shape)))
    with torch.no_grad():
        worst = max(float((a(x) - b(x)).abs().max()) for a, b in pairs)
    return {"difference": worst}


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Change of the predictions under a group, on a log axis: one panel for kernels, one for coupled networks."""
    import altair as alt

    titles = {"kernel": "infinite width", "coupling": "finite width, trained"}
    cells = table[table.part.isin(list(titles))]
    cells = cells.assign(
        change=cells.change.clip(lower=1e-17),
        system=cells.system.str.upper(),
        symmetry=cells.inside.astype(bool).map({True: "inside", False: "outside"}),
    )[["part", "system", "group", "change", "symmetry"]]
    order = sorted(set(cells["group"]), key=lambda g: (SIZE_OF[g], g))

    def panel(part: pd.DataFrame, title: str) -> alt.Chart:
        """Changes by group, inside and outside the symmetry told apart by shape."""
        chart: alt.Chart = (
            alt.Chart(part, title=title)
            .mark_point(filled=True, size=60)
            .encode(
                x=alt.X("group:N", sort=order, title=None, axis=alt.Axis(labelAngle=-50)),
                xOffset=alt.XOffset("system:N"),
                y=alt.Y(
                    "change:Q", scale=alt.Scale(type="log"), title="change of predictions", axis=alt.Axis(format="e")
                ),
                color=alt.Color("system:N", title="system"),
                shape=alt.Shape(
                    "symmetry:N",
                    title="group and symmetry",
                    scale=alt.Scale(domain=["inside", "outside"], range=["circle", "cross"]),
                ),
            )
            .properties(width=330, height=220)
        )
        return chart

    return alt.hconcat(*(panel(cells[cells.part == part], title) for part, title in titles.items()))


def _theorem(part: str, inside: float, outside: float) -> tuple[Check, Check]:
    """Both halves of Theorem 3.1: the system has the group of the table, and no larger one."""
    return (
        Check("largest change inside the group", partial(changes, part=part, within=True), at_most(inside)),
        Check("smallest change outside", partial(changes, part=part, within=False), at_least(outside)),
    )


PAPER = Paper(
    name="symmetry",
    title="Symmetries of learning systems",
    source=SOURCE,
    version=3,
    grid=exact_grid,
    run=run,
    claims=(
        Claim(
            "S0.1",
            f"{SOURCE}, Theorem 3.1",
            "infinite width: FCN and minimum-norm regression have O(cd), LCN and VEC have O(c)^d, GAP has O(c)⊗I, none has more",
            checks=_theorem("kernel", 1e-5, 1e-2),
        ),
        Claim(
            "S0.2",
            f"{SOURCE}, Theorem 3.1",
            "finite width: FCN has O(cd), LCN has O(c)^d, VEC and GAP have O(c)⊗I, after 100 steps with momentum and L2",
            checks=_theorem("coupling", 1e-4, 1e-2),
        ),
        Claim(
            "S0.3",
            f"{SOURCE}, Theorem 2.1",
            "GAP ⊆ VEC ⊆ LCN ⊆ wide VEC",
            measure=inclusion,
            expect=at_most(1e-5),
        ),
    ),
    chart=chart,
)
