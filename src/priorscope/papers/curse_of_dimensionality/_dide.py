"""Fig. 3: data improves data efficiency, for VEC at finite width only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from priorscope.lab import Claim, Paper, Verdict
from priorscope.papers.curse_of_dimensionality._systems import SOURCE, images, predictions, score
from priorscope.statistics import Interval, bootstrap_interval

__all__ = ["PAPER"]

SYSTEMS = {"VEC_n": ("vec", "nn+"), "LCN_n": ("lcn", "nn+"), "VEC_∞": ("vec", "ntk"), "GAP_∞": ("gap", "ntk")}
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"data": "local", "size": 4, "n_test": 32, "width": 4, "epochs": 2, "least_steps": 5},
    "small": {"data": "cifar10", "size": 8, "n_test": 500, "width": 24, "epochs": 12, "least_steps": 300},
    "paper": {"data": "cifar10", "size": 32, "n_test": 10000, "width": 512, "epochs": 200, "least_steps": 2000},
}
SMALL = {"LCN_n": {"width": 8}, "GAP_∞": {"n_test": 300}}  # LCN has d times the filters; GAP's kernel costs d² a pair
SAMPLES = {
    "tiny": [8, 16, 32],
    "small": [64, 128, 256, 512, 1024, 2048, 4096],
    "paper": [2**k for k in range(6, 16)] + [50000],
}
DRAWS = {"tiny": 2, "small": 3, "paper": 5}


def grid(scale: str) -> list[dict[str, Any]]:
    """Systems × training set sizes × draws; at small scale GAP_∞ stops at 1,024 images."""
    return [
        {"system": name, "m": m, **SIZES[scale], **(SMALL.get(name, {}) if scale == "small" else {}), "seed": seed}
        for name in SYSTEMS
        for m in SAMPLES[scale]
        for seed in range(DRAWS[scale])
        if not (name == "GAP_∞" and scale == "small" and m > 1024)
    ]


def run(point: dict[str, Any]) -> dict[str, Any]:
    """Test error (part misclassified) after training on m images, for as many steps as the epochs ask, at least some."""
    name, variant = SYSTEMS[point["system"]]
    dataset = images(point["data"], point["size"], point["m"], point["n_test"], point["seed"])
    steps = max(point["least_steps"], point["epochs"] * point["m"] // 64)
    predicted = predictions(name, variant, dataset, width=point["width"], steps=steps, seed=point["seed"])
    return {"error": max(1 - score(predicted, dataset), 0.5 / point["n_test"])}


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
            bootstrap_interval(curves, lambda v: slopes(v)[1] - slopes(v)[0], draws=300)
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


def local_slopes(table: pd.DataFrame) -> pd.DataFrame:
    """β(m) between neighbouring sizes, with a bootstrap over draws: Fig. 3 read as slopes."""
    rows = []
    for name, part in table.groupby("system", sort=False):
        wide = part.pivot_table(index="seed", columns="m", values="error").dropna()
        m = wide.columns.to_numpy(float)
        for k in range(len(m) - 1):
            log_error = np.log(wide.to_numpy()[:, k : k + 2])
            slopes = (log_error[:, 0] - log_error[:, 1]) / np.log(m[k + 1] / m[k])  # one a draw
            beta = bootstrap_interval(slopes, draws=500)
            rows.append(
                {"system": name, "m": np.sqrt(m[k] * m[k + 1]), "beta": beta.value, "low": beta.low, "high": beta.high}
            )
    return pd.DataFrame(rows)


def chart(table: pd.DataFrame) -> Any:
    """Left: learning curves on log axes, bars the range over draws. Right: their local exponents, bars from a bootstrap."""
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
    return left | right


PAPER = Paper(
    name="dide",
    title="Data improves data efficiency",
    source=SOURCE,
    version=2,
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
