"""Fig. 3: data improves data efficiency, for VEC at finite width only."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.lab import Check, Claim, Measured, Metrics, Paper, Point, at_most, rising
from priorscope.papers._over_draws import over_draws
from priorscope.papers.curse_of_dimensionality._systems import SOURCE, images, predictions, score
from priorscope.statistics import seed_interval

if TYPE_CHECKING:
    import altair as alt

SYSTEMS = {"VEC_n": ("vec", "nn+"), "LCN_n": ("lcn", "nn+"), "VEC_∞": ("vec", "ntk"), "GAP_∞": ("gap", "ntk")}
SIZES: dict[str, Point] = {
    "tiny": {"data": "local", "size": 4, "n_test": 32, "width": 4, "epochs": 2, "least_steps": 5},
    "small": {"data": "cifar10", "size": 8, "n_test": 500, "width": 24, "epochs": 12, "least_steps": 300},
    "paper": {"data": "cifar10", "size": 32, "n_test": 10000, "width": 512, "epochs": 200, "least_steps": 2000},
}
SMALL = {"LCN_n": {"width": 8}, "GAP_∞": {"n_test": 300}}  # LCN has d times the filters; GAP's kernel costs d² per pair
SAMPLES = {
    "tiny": [8, 16, 32],
    "small": [64, 128, 256, 512, 1024, 2048, 4096],
    "paper": [2**k for k in range(6, 16)] + [50000],
}
DRAWS = {"tiny": 2, "small": 3, "paper": 5}


def grid(scale: str) -> list[Point]:
    """Systems × training set sizes × draws."""
    return [
        {"system": name, "m": m, **SIZES[scale], **(SMALL.get(name, {}) if scale == "small" else {}), "seed": seed}
        for name in SYSTEMS
        for m in SAMPLES[scale]
        for seed in range(DRAWS[scale])
    ]


def run(point: Point) -> Metrics:
    """Test error (misclassification rate) after training on m images, for as many steps as the epochs ask, at least some."""
    name, variant = SYSTEMS[point["system"]]
    dataset = images(point["data"], point["size"], point["m"], point["n_test"], point["seed"])
    steps = max(point["least_steps"], point["epochs"] * point["m"] // 64)
    predicted = predictions(name, variant, dataset, width=point["width"], steps=steps, seed=point["seed"])
    return {"error": max(1 - score(predicted, dataset), 0.5 / point["n_test"])}


def rise(table: pd.DataFrame, system: str) -> Measured:
    """How much β(m) = −d log error / d log m grows from the first half of a learning curve to the second, over draws."""
    wide = table[table.system == system].pivot_table(index="seed", columns="m", values="error").dropna()
    m, curves = np.log(wide.columns.to_numpy(float)), np.log(wide.to_numpy())  # (draws, sizes)
    half = len(m) // 2
    early = -np.polyfit(m[: half + 1], curves[:, : half + 1].T, 1)[0]  # (draws,)
    late = -np.polyfit(m[half:], curves[:, half:].T, 1)[0]
    note = f"β {early.mean():.3f} up to m = {wide.columns[half]}, {late.mean():.3f} from there to {wide.columns[-1]}"
    return Measured(over_draws(late - early), note)


def local_slopes(table: pd.DataFrame) -> pd.DataFrame:
    """β(m) between neighbouring sizes, with an interval over draws: Fig. 3 read as slopes."""
    rows = []
    for name, part in table.groupby("system", sort=False):
        wide = part.pivot_table(index="seed", columns="m", values="error").dropna()
        m = wide.columns.to_numpy(float)
        for k in range(len(m) - 1):
            log_error = np.log(wide.to_numpy()[:, k : k + 2])
            slopes = (log_error[:, 0] - log_error[:, 1]) / np.log(m[k + 1] / m[k])  # one per draw
            beta = seed_interval(slopes)
            rows.append(
                {"system": name, "m": np.sqrt(m[k] * m[k + 1]), "beta": beta.value, "low": beta.low, "high": beta.high}
            )
    return pd.DataFrame(rows)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Left: learning curves on log axes, bars the range over draws. Right: their local exponents with intervals over draws."""
    import altair as alt

    order = [name for name in SYSTEMS if name in set(table.system)]
    m = alt.X("m:Q", scale=alt.Scale(type="log", base=2, nice=False), title="training samples m")
    colour = alt.Color("system:N", title="system", sort=order)
    curves = alt.Chart(table[["system", "m", "error", "seed"]]).encode(x=m, color=colour)
    errors = curves.mark_line(point=True).encode(
        y=alt.Y(
            "mean(error):Q",
            scale=alt.Scale(type="log", domain=[0.95 * table.error.min(), 1.05 * table.error.max()], nice=False),
            title="test error",
        )
    )
    spread = curves.mark_rule(opacity=0.5).encode(y=alt.Y("min(error):Q", title="test error"), y2="max(error):Q")
    slopes = alt.Chart(local_slopes(table)).encode(x=m, color=colour)
    beta = slopes.mark_line(point=True).encode(y=alt.Y("beta:Q", title="local exponent β(m)"))
    bars = slopes.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q", title="local exponent β(m)"), y2="high:Q")
    zero = alt.Chart(pd.DataFrame({"beta": [0.0]})).mark_rule(strokeDash=[3, 3], color="grey").encode(y="beta:Q")
    left = (errors + spread).properties(width=320, height=280, title="Learning curves")
    right = (zero + beta + bars).properties(width=320, height=280, title="Slopes between neighbouring sizes")
    chart: alt.TopLevelMixin = left | right
    return chart


PAPER = Paper(
    name="dide",
    title="Data improves data efficiency",
    source=SOURCE,
    version=3,
    grid=grid,
    run=run,
    claims=(
        Claim(
            "S0.8",
            f"{SOURCE}, Fig. 3",
            "the local exponent β(m) of the learning curve rises with m for VEC_n, and not for VEC_∞, LCN_n and GAP_∞",
            checks=tuple(
                Check(f"rise of {name}", partial(rise, system=name), rising() if name == "VEC_n" else at_most(0))
                for name in SYSTEMS
            ),
        ),
    ),
    chart=chart,
)
