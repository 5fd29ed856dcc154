"""Fig. 3: data improves data efficiency, for VEC at finite width only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from priorscope.lab import Claim, Paper, Verdict
from priorscope.papers._symmetry_systems import SOURCE, images, predictions, score
from priorscope.statistics import Interval, bootstrap_interval

__all__ = ["PAPER"]

SYSTEMS = {"VEC_n": ("vec", "nn+"), "LCN_n": ("lcn", "nn+"), "VEC_∞": ("vec", "ntk"), "GAP_∞": ("gap", "ntk")}
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"data": "local", "size": 4, "n_test": 32, "width": 4, "epochs": 2, "least_steps": 5},
    "small": {"data": "cifar10", "size": 8, "n_test": 500, "width": 24, "epochs": 15, "least_steps": 100},
    "paper": {"data": "cifar10", "size": 32, "n_test": 10000, "width": 512, "epochs": 200, "least_steps": 2000},
}
SAMPLES = {
    "tiny": [8, 16, 32],
    "small": [64, 128, 256, 512, 1024, 2048],
    "paper": [2**k for k in range(6, 16)] + [50000],
}


def grid(scale: str) -> list[dict[str, Any]]:
    """Systems × training set sizes × draws; GAP_∞ stops early at small scale, where its kernel costs d² a pair."""
    s = SIZES[scale]
    return [
        {"system": name, "m": m, **s, "width": 12 if name == "LCN_n" and scale == "small" else s["width"], "seed": seed}
        for name in SYSTEMS
        for m in SAMPLES[scale]
        for seed in range({"tiny": 2, "small": 3, "paper": 5}[scale])
        if not (name == "GAP_∞" and scale == "small" and (m > 256 or seed > 0))
    ]


def run(point: dict[str, Any]) -> dict[str, Any]:
    """Test error (part misclassified) after training on m images."""
    name, variant = SYSTEMS[point["system"]]
    small_test = (
        min(point["n_test"], 200) if point["system"] == "GAP_∞" and point["data"] == "cifar10" else point["n_test"]
    )
    dataset = images(point["data"], point["size"], point["m"], small_test, point["seed"])
    steps = max(point["least_steps"], point["epochs"] * point["m"] // 64)
    predicted = predictions(
        name,
        variant,
        dataset,
        width=point["width"],
        steps=min(steps, 400) if point["size"] < 32 else steps,
        seed=point["seed"],
    )
    return {"error": max(1 - score(predicted, dataset), 0.5 / small_test)}


def local_exponents(table: pd.DataFrame) -> pd.DataFrame:
    """β(m) = −d log error / d log m over the first and the second half of each curve, with the rise and its interval."""
    rows = []
    for name, part in table.groupby("system", sort=False):
        wide = part.pivot_table(index="seed", columns="m", values="error")
        m = np.log(wide.columns.to_numpy(float))
        curves = np.log(wide.to_numpy())
        half = len(m) // 2

        def slopes(values: np.ndarray, m: np.ndarray = m, half: int = half) -> tuple[float, float]:
            mean = values.mean(0)
            return (
                -float(np.polyfit(m[: half + 1], mean[: half + 1], 1)[0]),
                -float(np.polyfit(m[half:], mean[half:], 1)[0]),
            )

        early, late = slopes(curves)
        rise = (
            bootstrap_interval(curves, lambda v: slopes(v)[1] - slopes(v)[0], draws=500)
            if len(curves) > 1
            else Interval(late - early, -np.inf, np.inf)
        )
        rows.append(
            {"system": name, "early": early, "late": late, "rise": rise.value, "low": rise.low, "high": rise.high}
        )
    return pd.DataFrame(rows)


def _judge(table: pd.DataFrame) -> Verdict:
    found = local_exponents(table).set_index("system")
    note = "; ".join(
        f"{name}: β {row.early:.3f} -> {row.late:.3f}, rise {row.rise:+.3f} [{row.low:+.3f}, {row.high:+.3f}]"
        for name, row in found.iterrows()
    )
    vec = found.loc[["VEC_n"]].iloc[0]
    rivals = found.drop(index="VEC_n")
    if vec.high < 0:
        verdict = "fails"
    elif vec.low > 0 and (rivals.rise < vec.rise).all() and (rivals.low <= 0).all():
        verdict = "holds"
    else:
        verdict = "not shown"
    return Verdict(verdict, float(vec.rise), float(vec.low), float(vec.high), note)


def chart(table: pd.DataFrame) -> Any:
    """Learning curves on log axes."""
    import altair as alt

    return (
        alt.Chart(table[["system", "m", "error", "seed"]])
        .mark_line(point=True)
        .encode(
            x=alt.X("m:Q", scale=alt.Scale(type="log"), title="training samples m"),
            y=alt.Y("mean(error):Q", scale=alt.Scale(type="log", zero=False), title="test error"),
            color=alt.Color("system:N", title="system"),
        )
        .properties(title="Learning curves: the slope of VEC_n grows with data")
    )


PAPER = Paper(
    name="dide",
    title="Data improves data efficiency",
    source=SOURCE,
    version=1,
    grid=grid,
    run=run,
    claims=(
        Claim(
            "S0.8",
            f"{SOURCE}, Fig. 3",
            "the local exponent β(m) of the learning curve rises with m for VEC_n, and not for VEC_∞, LCN_n and GAP_∞",
            "rise > 0 for VEC_n only",
            "bootstrap over draws",
            _judge,
        ),
    ),
    chart=chart,
)
