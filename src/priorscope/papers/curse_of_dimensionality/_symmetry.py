"""Fig. 1 and Theorems 2.1 and 3.1: which symmetry each system has, and what a larger one costs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
import torch

import priorscope.models as models
from priorscope.data.groups import named
from priorscope.inference import GradientDescent, KernelRegression
from priorscope.lab import Check, Claim, Metrics, Paper, Point, at_least, at_most, rising
from priorscope.papers.curse_of_dimensionality._grid import SYSTEMS, grid
from priorscope.papers.curse_of_dimensionality._measures import (
    changes,
    closing,
    drop_outside,
    inclusion,
    largest_change_inside,
    nearer,
    separation,
)
from priorscope.papers.curse_of_dimensionality._systems import (
    IMAGES,
    SIZE_OF,
    SOURCE,
    VARIANTS,
    architecture,
    element,
    images,
    inside,
    predictions,
    score,
)
from priorscope.probes import symmetry
from priorscope.system import System

if TYPE_CHECKING:
    import altair as alt

__all__ = ["PAPER"]


def run(point: Point) -> Metrics:
    """One cell: a change, a difference, or an accuracy."""
    if point["part"] == "inclusion":
        return _inclusion(int(point["variant"].split()[1]), point["seed"])
    dataset = images(point["data"], point["size"], point["n"], point["n_test"], point["seed"])
    if point["part"] in ("kernel", "coupling"):
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
    g = element(point["group"], tuple(dataset.input_shape), point["seed"])
    predicted = predictions(
        point["system"],
        point["variant"],
        dataset.transformed(g),
        width=max(point["width"] // 3, 2) if point["system"] == "lcn" else point["width"],  # d times as many filters
        steps=point["steps"],
        seed=point["seed"],
    )
    infinite = point["variant"] == "ntk"
    return {"accuracy": score(predicted, dataset), "inside": inside(point["system"], point["group"], infinite)}


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
    cells = cells[cells.groupby(keys).system.transform("nunique") >= 3]  # the rest serves S0.5
    cells = cells.assign(
        accuracy=cells.accuracy - cells.plain + cells.middle,
        system=cells.system.str.upper(),
        panel=cells.variant.str.upper() + ", " + cells.data + " n = " + cells.n.astype(str),
        symmetry=cells.inside.astype(bool).map({True: "inside", False: "outside"}),
    )[["system", "group", "panel", "data", "n", "variant", "accuracy", "symmetry", "seed"]]
    order = sorted(set(cells["group"]), key=lambda g: (SIZE_OF[g], g))
    names = [name.upper() for name in SYSTEMS if name.upper() in set(cells.system)]

    def panel(part: pd.DataFrame, title: str) -> Any:
        """Draw one set of images: the mean accuracy by group as lines and points, its range over draws as rules."""
        base = alt.Chart(part, title=title).encode(
            x=alt.X("group:N", sort=order, title=None, axis=alt.Axis(labelAngle=-50)),
            color=alt.Color("system:N", title="system", sort=names, scale=alt.Scale(domain=names)),
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
        return (spread + base.mark_line().encode(y=y) + points).properties(width=170, height=170)

    rows = []
    for _, images_of in cells.groupby("data", sort=False):
        rank = images_of.variant.map(VARIANTS.index) + images_of.n / 1e9
        parts = [part for _, part in images_of.groupby(rank)]
        rows.append(alt.hconcat(*(panel(p, str(p.panel.iloc[0])) for p in parts)).resolve_scale(y="shared"))
    return alt.vconcat(*rows)


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
    version=2,
    grid=grid,
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
        Claim(
            "S0.5",
            f"{SOURCE}, Fig. 1, Sec. 3.1",
            "NN+ separates VEC under O(c)⊗I from VEC under O(c)^d; MixUp closes VEC to GAP",
            checks=tuple(
                check
                for data, images_of in IMAGES.items()
                for check in (
                    Check(f"separation, {images_of}", partial(separation, data=data), rising()),
                    Check(f"closing, {images_of}", partial(closing, data=data), rising()),
                )
            ),
        ),
    ),
    chart=chart,
)
