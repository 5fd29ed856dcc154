"""Double descent of random features: exact theory against simulation, single and averaged over initialisations."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.lab import Check, Claim, Measured, Metrics, NotMeasured, Paper, Point, above, at_most, below
from priorscope.papers._over_draws import over_draws
from priorscope.probes import random_features_risk, simulate_random_features
from priorscope.statistics import Interval

if TYPE_CHECKING:
    import altair as alt

SOURCE = (
    "The generalization error of random features regression: precise asymptotics and the double descent curve (2019)"
)
ENSEMBLE = "Double trouble in double descent: bias and variance(s) in the lazy regime (2020)"
SIZES: dict[str, Point] = {
    "tiny": {"dim": 20, "ratios": [0.5, 1.0, 4.0], "seeds": 2, "members": 3},
    "small": {"dim": 100, "ratios": [0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.5, 2.0, 4.0, 8.0], "seeds": 48, "members": 10},
    "paper": {"dim": 300, "ratios": [0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.5, 2.0, 4.0, 8.0], "seeds": 20, "members": 20},
}
SAMPLES = 3  # n/d
NOISE = 0.25


def grid(scale: str) -> list[Point]:
    """All ratios N/n, without ridge and with one."""
    size = SIZES[scale]
    return [
        {"ratio": ratio, "ridge": ridge, "dim": size["dim"], "members": size["members"], "seed": seed}
        for ridge in (0.0, 0.05)
        for ratio in size["ratios"]
        for seed in range(size["seeds"])
    ]


def run(point: Point) -> Metrics:
    """Risks of single predictors and of their mean on one data set, beside theory."""
    dim, members = point["dim"], point["members"]
    n = SAMPLES * dim
    features = round(point["ratio"] * n)
    single, mean = simulate_random_features(
        dim, n, features, members=members, ridge=point["ridge"], noise=NOISE, seed=point["seed"]
    )
    theory = random_features_risk(features / dim, SAMPLES, ridge=point["ridge"], noise=NOISE)
    return {
        "single": single,
        "mean": mean,
        "theory_single": min(theory.single, 1e6),
        "theory_mean": min(theory.of(members), 1e6),
        "theory_ensemble": theory.ensemble,
    }


def worst(table: pd.DataFrame, column: str, ridge: float) -> Measured:
    """Largest relative deviation of the simulated mean from theory, away from N = n."""
    cells = {}
    for ratio in sorted(set(table.ratio)):
        rows = table[(table.ridge == ridge) & (table.ratio == ratio)]
        if len(rows) and (ridge > 0 or not 0.85 < ratio < 1.2):
            against = rows[column] / rows[f"theory_{column}"] - 1
            cells[ratio] = abs(float(against.mean())), over_draws(against)
    if not cells:
        raise NotMeasured("no ratios away from the peak")
    top = max(cells, key=lambda r: cells[r][0])
    value, signed = cells[top]
    half = (signed.high - signed.low) / 2
    told = ", ".join(f"N/n = {r:g}: {i.value:+.3f}" for r, (_, i) in sorted(cells.items()))
    return Measured(Interval(value, max(0.0, value - half), value + half), told)


def ratio_of(table: pd.DataFrame, column: str, first: float, second: float) -> Interval:
    """Log ratio of mean risks at two N/n, without ridge."""
    rows = table[table.ridge == 0]
    wide = rows.pivot_table(index="seed", columns="ratio", values=column)
    if first not in wide or second not in wide:
        raise NotMeasured(f"no runs at N/n = {first} and {second}")
    return over_draws(np.log(wide[first] / wide[second]))


def flattened(table: pd.DataFrame, first: float, second: float) -> Measured:
    """The log ratio of the mean predictor's risks at two N/n, minus half of that of single predictors, draws paired."""
    rows, logs = table[table.ridge == 0], {}
    for column in ("mean", "single"):
        wide = rows.pivot_table(index="seed", columns="ratio", values=column)
        if first not in wide or second not in wide:
            raise NotMeasured(f"no runs at N/n = {first} and {second}")
        logs[column] = np.log(wide[first] / wide[second])
    told = f"log ratio {logs['mean'].mean():.3f} of the mean, {logs['single'].mean():.3f} of single predictors"
    return Measured(over_draws(logs["mean"] - logs["single"] / 2), told)


CLAIMS = (
    Claim(
        "B.1",
        SOURCE,
        "the risk of random features follows the closed form of the limit",
        checks=(
            Check(
                "largest relative deviation without ridge", partial(worst, column="single", ridge=0.0), at_most(0.15)
            ),
            Check(
                "largest relative deviation with ridge 0.05", partial(worst, column="single", ridge=0.05), at_most(0.1)
            ),
        ),
    ),
    Claim(
        "B.2",
        SOURCE,
        "without ridge the risk peaks where there are as many features as samples, and descends a second time",
        checks=(
            Check(
                "log risk at N = n over N = n/2", partial(ratio_of, column="single", first=1.0, second=0.5), above(1)
            ),
            Check("log risk at N = n over N = 2n", partial(ratio_of, column="single", first=1.0, second=2.0), above(1)),
            Check(
                "log risk at N = 8n over N = n/2", partial(ratio_of, column="single", first=8.0, second=0.5), below(0)
            ),
        ),
    ),
    Claim(
        "B.3",
        ENSEMBLE,
        "averaging over initialisations flattens the risk beyond the threshold: the second descent is initialisation variance",
        checks=(
            Check(
                "log risk of single predictors at N = 1.5n over N = 8n",
                partial(ratio_of, column="single", first=1.5, second=8.0),
                above(1),
            ),
            Check(
                "the same of the mean of ten, minus half of the single ones'",
                partial(flattened, first=1.5, second=8.0),
                below(0),
            ),
            Check(
                "largest deviation of the mean from its closed form",
                partial(worst, column="mean", ridge=0.0),
                at_most(0.2),
            ),
        ),
    ),
)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Points: simulated risk of single predictors and of their mean. Lines: theory."""
    import altair as alt

    rows = table[table.ridge == 0]
    names = {"single": "one initialisation", "mean": "mean of several"}
    points = rows.groupby("ratio", as_index=False)[["single", "mean"]].mean().rename(columns=names)
    points = points.melt("ratio", var_name="what", value_name="risk")
    members = int(rows.members.iloc[0])
    r = np.geomspace(rows.ratio.min(), rows.ratio.max(), 160)
    found = [random_features_risk(SAMPLES * v, SAMPLES, noise=NOISE) for v in r]
    lines = pd.DataFrame(
        {"ratio": r, names["single"]: [f.single for f in found], names["mean"]: [f.of(members) for f in found]}
    )
    lines = lines.melt("ratio", var_name="what", value_name="risk")
    x = alt.X("ratio:Q", title="features / samples, N/n").scale(type="log", nice=False)
    y = alt.Y("risk:Q", title="excess risk").scale(type="log", domain=[0.1, 20], clamp=True)
    colour = alt.Color("what:N", title=None)
    return alt.layer(
        alt.Chart(lines).mark_line(clip=True).encode(x, y, colour),
        alt.Chart(points).mark_point(filled=True, size=45).encode(x, y, colour),
    )


PAPER = Paper(
    name="random-features",
    title="Double descent of random features, exactly",
    source=SOURCE,
    version=2,
    grid=grid,
    run=run,
    claims=CLAIMS,
    chart=chart,
)
