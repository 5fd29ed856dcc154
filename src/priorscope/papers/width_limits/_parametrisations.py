"""How far the layers of wide networks move in their first steps, in three parametrisations."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from priorscope.data import sphere
from priorscope.lab import Check, Claim, Metrics, Paper, Point, near
from priorscope.models import ABCNetwork, abc_parametrisation
from priorscope.papers._over_draws import exponent_over_draws
from priorscope.probes import coordinate_check
from priorscope.statistics import Interval

if TYPE_CHECKING:
    import altair as alt

SOURCE = "Tensor programs IV: feature learning in infinite-width neural networks (2021)"
SIZES: dict[str, Point] = {
    "tiny": {"widths": [16, 32], "seeds": 2},
    "small": {"widths": [64, 128, 256, 512, 1024, 2048], "seeds": 128},
    "paper": {"widths": [64, 128, 256, 512, 1024, 2048, 4096, 8192], "seeds": 20},
}
DEPTH, DIM, SAMPLES, STEPS = 2, 4, 32, 3


def grid(scale: str) -> list[Point]:
    """Each parametrisation, width and seed."""
    size = SIZES[scale]
    return [
        {"parametrisation": name, "width": h, "seed": seed}
        for name in ("mup", "ntk", "standard")
        for h in size["widths"]
        for seed in range(size["seeds"])
    ]


def run(point: Point) -> Metrics:
    """Change of each layer's outputs after three steps of gradient descent on a linear target."""
    law = abc_parametrisation(point["parametrisation"], DEPTH)
    x = sphere(SAMPLES, DIM, radius=DIM**0.5, seed=1000 + point["seed"])
    found = coordinate_check(
        lambda width, seed: ABCNetwork(law, DIM, width, seed=seed),
        x,
        x[:, :1],
        widths=(point["width"], point["width"] + 1),  # the second is not looked at
        seeds=[point["seed"]],
        steps=STEPS,
    )
    return {name: float(rows[0, 0]) for name, rows in zip(("first", "hidden", "output"), found.changes)}


def exponent(table: pd.DataFrame, name: str, layer: str) -> Interval:
    """Exponent of a layer's change in the width."""
    return exponent_over_draws(table[table.parametrisation == name], "width", layer)


def _checks(name: str, wanted: tuple[float, float, float]) -> tuple[Check, ...]:
    return tuple(
        Check(f"{layer} layer", partial(exponent, name=name, layer=layer), near(value, within=0.1))
        for layer, value in zip(("first", "hidden", "output"), wanted)
    )


CLAIMS = (
    Claim(
        "B.4",
        SOURCE,
        "in the maximal-update parametrisation every layer moves by the same amount at any width",
        checks=_checks("mup", (0.0, 0.0, 0.0)),
    ),
    Claim(
        "B.5",
        SOURCE,
        "in the tangent-kernel parametrisation hidden layers move like one over the root of the width, the output like one",
        checks=_checks("ntk", (-0.5, -0.5, 0.0)),
    ),
    Claim(
        "B.6",
        SOURCE,
        "in the standard parametrisation at its largest stable rate the first layer moves like h^(-3/2), the next like h^(-1/2)",
        checks=_checks("standard", (-1.5, -0.5, 0.0)),
    ),
)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Change against width, one panel per parametrisation, one colour per layer."""
    import altair as alt

    long = table.melt(["parametrisation", "width", "seed"], ["first", "hidden", "output"], "layer", "change")
    means = long.groupby(["parametrisation", "width", "layer"], as_index=False).change.mean()
    shown: alt.Chart = (
        alt.Chart(means)
        .mark_line(point=True)
        .encode(
            alt.X("width:Q", title="width h").scale(type="log", base=2, nice=False),
            alt.Y("change:Q", title="change of outputs").scale(type="log"),
            alt.Color("layer:N", title="layer"),
            alt.Column("parametrisation:N", title=None, sort=["mup", "ntk", "standard"]),
        )
        .properties(width=200, height=220)
    )
    return shown


PAPER = Paper(
    name="parametrisations",
    title="Which layers learn as networks widen",
    source=SOURCE,
    version=2,
    grid=grid,
    run=run,
    claims=CLAIMS,
    chart=chart,
)
