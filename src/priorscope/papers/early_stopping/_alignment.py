"""A small residual network on three classes of CIFAR-10: the published table of parts in the information space."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.lab import Check, Claim, Metrics, Paper, Point, above, claimed, falling, rising
from priorscope.papers.early_stopping import _alignment_measures as measure
from priorscope.papers.early_stopping import _alignment_runs as runs
from priorscope.papers.early_stopping._source import SOURCE

if TYPE_CHECKING:
    import altair as alt

SGD, ADAM, HALF = runs.CONDITIONS
WITHIN = 0.1  # of the published parts: ours, for network, images and samples are smaller than the source's
SIZES: dict[str, Point] = {
    "tiny": {"n": 40, "n_test": 40, "size": 16, "width": 2, "steps": 4, "seeds": 2},
    "small": {"n": 400, "n_test": 1000, "size": 16, "width": 8, "steps": 400, "seeds": 5},
    "overnight": {"n": 2000, "n_test": 3000, "size": 32, "width": 8, "steps": 4000, "seeds": 8},
    "paper": {"n": 10_000, "n_test": 3000, "size": 32, "width": 32, "steps": 30_000, "seeds": 4},
}


def grid(scale: str) -> list[Point]:
    """One point per draw of images and network; all conditions within it, for they share the Jacobian at the start."""
    size = dict(SIZES[scale])
    seeds = size.pop("seeds")
    return [{**size, "seed": seed} for seed in range(seeds)]


def run(point: Point) -> Metrics:
    """Train under every condition and split both Jacobians."""
    return runs.measure(point)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Parts in the information space at the start and at the end: bars measured (mean over draws), ticks published."""
    import altair as alt

    names = {SGD: "SGD", ADAM: "Adam", HALF: "SGD, half wrong"}
    rows = [
        {
            "condition": names[condition],
            "of": of,
            "when": f"{when} Jacobian",
            "part": float(np.mean([np.asarray(v, dtype=float)[i] for v in table[f"{key}_{of}"]])),
            "published": PUBLISHED[condition][f"{key}_{of}"],
        }
        for i, condition in enumerate(runs.CONDITIONS)
        for of in ("labels", "residual")
        for key, when in (("start", "first"), ("end", "last"))
    ]
    base = alt.Chart(pd.DataFrame(rows))
    x = alt.X("when:N", title=None, sort=None)
    y = alt.Y("part:Q", title="part in the information space").scale(domain=[0, 1])
    bars = base.mark_bar(size=24).encode(x=x, y=y, color=alt.Color("of:N", title=None))
    ticks = base.mark_tick(color="black", thickness=2, size=34).encode(x=x, y="published:Q")
    drawn: alt.TopLevelMixin = (
        alt.layer(bars, ticks)
        .properties(width=110, height=170)
        .facet(column=alt.Column("condition:N", title=None, sort=None), row=alt.Row("of:N", title=None))
    )
    return drawn


PUBLISHED: dict[measure.Condition, dict[str, float]] = {
    SGD: {"start_labels": 0.724, "start_residual": 0.886, "end_labels": 0.987, "end_residual": 0.976},
    ADAM: {"start_labels": 0.702, "start_residual": 0.814, "end_labels": 0.997, "end_residual": 0.991},
    HALF: {"start_labels": 0.587, "start_residual": 0.643, "end_labels": 0.751, "end_residual": 0.763},
}  # Tables 1 to 3


def _as_published(condition: measure.Condition) -> tuple[Check, ...]:
    words = {"start": "first Jacobian", "end": "last Jacobian", "labels": "labels", "residual": "first residual"}
    return tuple(
        Check(
            f"{words[name.split('_')[1]]}, {words[name.split('_')[0]]}",
            partial(measure.part, column=name, condition=condition),
            claimed(value, within=WITHIN),
        )
        for name, value in PUBLISHED[condition].items()
    )


CHANGES = (
    "400 images of 16 × 16, nine convolutions of 8 to 32 channels with group normalisation and 30,603 weights instead of 10,000 "
    "images and a ResNet-20; rates and number of steps are ours"
)
REACH = ("n", "width", "steps")  # the parts depend on how many of the directions 50 are: of 1,200 here, of 30,000 there
CLAIMS = (
    Claim(
        "O.8",
        f"{SOURCE}, histogram of singular values",
        "the Jacobian has low rank: 50 directions hold most of its squared norm",
        measure=measure.energy,
        expect=above(0.5),
        changes=CHANGES,
    ),
    Claim(
        "O.9",
        f"{SOURCE}, Tables 1 and 2",
        "training moves labels and first residual into the information space, under SGD and Adam",
        checks=tuple(
            Check(f"change of the part of {what}, {name}", partial(measure.change, what=w, condition=c), rising())
            for name, c in (("SGD", SGD), ("Adam", ADAM))
            for what, w in (("labels", "labels"), ("the first residual", "residual"))
        ),
        changes=CHANGES,
    ),
    Claim(
        "O.10",
        f"{SOURCE}, Table 1",
        "SGD, labels right: the parts in the information space of 50 dimensions",
        checks=_as_published(SGD),
        changes=CHANGES,
        reach=REACH,
    ),
    Claim(
        "O.11",
        f"{SOURCE}, Table 2",
        "Adam, labels right: the parts in the information space of 50 dimensions",
        checks=_as_published(ADAM),
        changes=CHANGES,
        reach=REACH,
    ),
    Claim(
        "O.12",
        f"{SOURCE}, Table 3",
        "SGD, half the labels wrong: the parts in the information space of 50 dimensions",
        checks=_as_published(HALF),
        changes=CHANGES,
        reach=REACH,
    ),
    Claim(
        "O.13",
        f"{SOURCE}, Tables 1 and 3 and the figure on corruption",
        "wrong labels have less of their energy in the information space, and test error grows with what is outside",
        checks=(
            Check(
                "part at the start, wrong minus right",
                partial(measure.wrong_minus_clean, column="start_labels"),
                falling(),
            ),
            Check(
                "part at the end, wrong minus right", partial(measure.wrong_minus_clean, column="end_labels"), falling()
            ),
            Check("test error, wrong minus right", partial(measure.wrong_minus_clean, column="test_error"), rising()),
        ),
        changes=CHANGES,
    ),
    Claim(
        "O.14",
        f"{SOURCE}, figures of the residual along training",
        "the residual goes fast in the information space and slowly outside",
        checks=tuple(
            Check(f"log of what is left outside over inside, {name}", partial(measure.left, condition=c), rising())
            for name, c in (("SGD", SGD), ("Adam", ADAM), ("half wrong", HALF))
        ),
        changes=CHANGES,
    ),
    Claim(
        "O.15",
        f"{SOURCE}, Tables 1 and 2",
        "the labels take less effort ‖J⁺y‖ after training than before",
        checks=tuple(
            Check(f"change of the effort, {name}", partial(measure.change, what="effort", condition=c), falling())
            for name, c in (("SGD", SGD), ("Adam", ADAM))
        ),
        changes=CHANGES,
        reach=REACH,
    ),
    Claim(
        "O.16",
        "priorscope, beside the published tables",
        "a random network's leading directions hold more of the labels than of the same labels in random order",
        measure=measure.above_shuffled,
        expect=rising(),
    ),
)

PAPER = Paper(
    "jacobian-alignment",
    "Where labels lie in the Jacobian of a residual network",
    SOURCE,
    1,
    grid,
    run,
    CLAIMS,
    chart,
    overnight=True,
)
