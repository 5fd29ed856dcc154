"""Diagonal networks: gradient flow ends at the least Q, between the least l1 and the least l2 norm, by initial scale."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from priorscope.lab import Check, Claim, Measured, Metrics, NotMeasured, Paper, Point, above, at_most, below, rising
from priorscope.papers._over_draws import highest, over_draws, where
from priorscope.papers.implicit_bias._source import SOURCE, as_split, digit_images, per_draw
from priorscope.statistics import Interval, exact

if TYPE_CHECKING:
    import altair as alt

Array = NDArray[np.float64]
DATA = ("sparse", "digits")
FIRST = 20  # seeds that the first version has not used
LOSS = 0.025  # "how small does α need to be to get L < 0.025"


def grid(scale: str) -> list[Point]:
    """Flows by scale and depth, ends of the scale, sparse learning by number of samples, and the explicit penalty."""
    seeds = {"tiny": 1, "small": 8, "paper": 20}[scale]
    flows = {
        "tiny": ((2, 1.0), (3, 1.0)),
        "small": ((2, 0.01), (2, 0.1), (2, 1.0), (2, 10.0), (3, 0.1), (3, 0.3), (3, 1.0)),
        "paper": (
            (2, 0.001),
            (2, 0.01),
            (2, 0.1),
            (2, 1.0),
            (2, 10.0),
            (3, 0.1),
            (3, 0.3),
            (3, 1.0),
            (4, 0.3),
            (4, 1.0),
        ),
    }[scale]
    d, samples = {
        "tiny": (40, (10,)),
        "small": (1000, (80, 100, 150, 200, 300)),
        "paper": (1000, (60, 80, 100, 150, 200, 300, 400)),
    }[scale]
    points: list[Point] = []
    for s in range(FIRST, FIRST + seeds):
        points += [{"kind": "flow", "depth": depth, "scale": a, "seed": s} for depth, a in flows]
        points += [{"kind": "ends", "data": data, "depth": depth, "seed": s} for data in DATA for depth in (2, 3)]
        points += [{"kind": "learning", "d": d, "m": m, "seed": s} for m in samples]
        points.append({"kind": "explicit", "seed": s})
    return points


def run(point: Point) -> Metrics:
    """One of the four measurements."""
    kinds: dict[str, Callable[[Point], Metrics]] = {
        "flow": _flow,
        "ends": _ends,
        "learning": _learning,
        "explicit": _explicit,
    }
    return kinds[point["kind"]](point)


def _sparse(n: int, d: int, k: int, seed: int, noise: float = 0.0) -> tuple[Array, Array, Array]:
    """Normal inputs, targets by k equal coefficients of squared sum 1 (and noise of this deviation), and the coefficients."""
    rng = np.random.default_rng(seed)
    x, beta = rng.normal(size=(n, d)), np.zeros(d)
    beta[:k] = k**-0.5
    return x, x @ beta + noise * rng.normal(size=n), beta


def _flow(point: Point) -> Metrics:
    """Gradient flow to its end, and the least Q by convex programming; d = 60, m = 20, three coefficients."""
    from priorscope.inference import StiffFlow
    from priorscope.models import DiagonalNetwork
    from priorscope.probes import diagonal_solution

    x, y, _ = _sparse(20, 60, 3, point["seed"])
    network = DiagonalNetwork(60, point["scale"], point["depth"])
    fitted = StiffFlow(stop=1e-22).fit(network, as_split(x, y))
    ended = fitted.params[0].numpy().reshape(2, 60) ** point["depth"]
    wanted = diagonal_solution(x, y, point["scale"], point["depth"])
    other = diagonal_solution(x, y, 0.8 * point["scale"], point["depth"])
    found = ended[0] - ended[1]
    return {
        "fitted": float(fitted.finished.all()),
        "off": float(np.abs(found - wanted).max()),
        "control": float(np.abs(found - other).max()),
        "steps": int(fitted.steps[0]),
    }


def _ends(point: Point) -> Metrics:
    """Norms over the least ones, minus 1, and distances to the fits that have them, over scales."""
    from priorscope.probes import initial_scale, minimum_norm

    x, y = digit_images(20, point["seed"]) if point["data"] == "digits" else _sparse(20, 60, 3, point["seed"])[:2]
    scales = np.geomspace(1e-4, 10, 11) if point["depth"] == 2 else np.geomspace(1e-2, 10, 7)
    found = initial_scale(x, y, scales=scales.tolist(), depth=point["depth"])
    table = found.table()
    least = [float(np.linalg.norm(minimum_norm(x, y, norm), order)) for norm, order in (("l1", 1), ("l2", 2))]
    return {
        "scales": found.scales,
        "to_l1": found.to_l1,
        "to_l2": found.to_l2,
        "l1_excess": table["l1_norm"].to_numpy(float) / least[0] - 1,
        "l2_excess": table["l2_norm"].to_numpy(float) / least[1] - 1,
        "transition": found.transition,
    }


def _learning(point: Point) -> Metrics:
    """Error of the coefficients by scale: five of d features, noise of variance 0.01."""
    from priorscope.probes import diagonal_solution

    x, y, beta = _sparse(point["m"], point["d"], 5, point["seed"], noise=0.1)
    scales = np.array([1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0])
    errors = np.array([((diagonal_solution(x, y, float(a)) - beta) ** 2).sum() for a in scales])
    return {"scales": scales, "errors": errors}


def _explicit(point: Point) -> Metrics:
    """The least squared distance to the start against its quartic, and where it leads against where the flow does."""
    from priorscope.probes import diagonal_solution, distance_penalty, distance_solution, minimum_norm

    b = np.random.default_rng(point["seed"]).uniform(0, 20, size=50)
    r = np.array([distance_penalty([v], 1.0) for v in b])
    quartic = r**4 - 6 * r**3 + (12 - 2 * b**2) * r**2 - (8 + 10 * b**2) * r + b**2 + b**4
    size = r**4 + 6 * r**3 + (12 + 2 * b**2) * r**2 + (8 + 10 * b**2) * r + b**2 + b**4
    x, y, _ = _sparse(20, 60, 3, point["seed"])
    between = float(np.linalg.norm(minimum_norm(x, y, "l1") - minimum_norm(x, y)))
    scales = np.geomspace(1e-3, 10, 9)
    apart = [np.linalg.norm(diagonal_solution(x, y, float(a)) - distance_solution(x, y, float(a))) for a in scales]
    return {"quartic": float(np.abs(quartic / size).max()), "apart": float(max(apart)) / between}


def flow_off(table: pd.DataFrame, depth: int) -> Measured:
    """The largest distance between the end of the flow and the least Q, over scales and draws."""
    rows = where(table, kind="flow", depth=depth)
    worst = rows.groupby("scale")["off"].max()
    listed = ", ".join(f"α = {a:g}: {v:.2g}" for a, v in worst.items())
    unfitted = int((rows["fitted"] < 1).sum())
    return Measured(exact(float(worst.max())), f"{listed}; {unfitted} of {len(rows)} flows did not fit")


def control(table: pd.DataFrame) -> Measured:
    """How many times farther the least Q of four fifths the scale is from the end of the flow, at the least."""
    rows = where(table, kind="flow")
    return Measured(exact(float((rows["control"] / rows["off"]).min())), f"{len(rows)} flows")


def at_end(table: pd.DataFrame, column: str, depth: int) -> Measured:
    """The norm over the least, minus 1, at the outermost scale; the larger of both data."""
    rows = where(table, kind="ends", depth=depth)
    place = 0 if column == "l1_excess" else -1

    def outermost(data: str) -> Interval:
        return over_draws([float(np.asarray(v)[place]) for v in where(rows, data=data)[column]])

    return highest({data: outermost(data) for data in DATA})


def _needed(row: pd.Series) -> float:
    """The largest scale below which errors stay under the loss of the source, by interpolation of logarithms; NaN if none."""
    scales, errors = np.log(np.asarray(row["scales"])), np.log(np.asarray(row["errors"]))
    above_it = np.flatnonzero(errors >= np.log(LOSS))
    if not len(above_it) or above_it[0] == 0:
        return float("nan")
    i = int(above_it[0])
    share = (np.log(LOSS) - errors[i - 1]) / (errors[i] - errors[i - 1])
    return float(scales[i - 1] + share * (scales[i] - scales[i - 1]))


def error_at(table: pd.DataFrame, place: int) -> Measured:
    """The squared error of the coefficients at the smallest or largest scale, of 100 samples."""
    rows = where(table, kind="learning", m=100)
    return Measured(
        over_draws([float(np.asarray(v)[place]) for v in rows["errors"]]), "d = 1000, five coefficients, m = 100"
    )


def needed_slope(table: pd.DataFrame) -> Measured:
    """The slope of the log of the scale needed in the log of the number of samples, one per draw."""
    rows = where(table, kind="learning")
    rows = rows.assign(needed=[_needed(row) for _, row in rows.iterrows()])
    wide = rows.pivot_table(index="seed", columns="m", values="needed").dropna()
    if len(wide) < 2 or wide.shape[1] < 2:
        raise NotMeasured("too few draws reach the loss")
    m = np.log(wide.columns.to_numpy(float))
    slopes = [float(np.polyfit(m, row, 1)[0]) for row in wide.to_numpy(float)]
    listed = ", ".join(
        f"m = {int(k)}: {np.exp(v):.2g}" for k, v in zip(wide.columns.to_numpy(float), wide.mean(), strict=True)
    )
    lost = rows["seed"].nunique() - len(wide)
    return Measured(over_draws(slopes), f"scale needed {listed}; {lost} draws never reach {LOSS:g} at some m")


def explicit(table: pd.DataFrame, column: str) -> Measured:
    """The largest residual of the quartic, or the mean of the largest distance between the two solutions."""
    rows = where(table, kind="explicit")
    if column == "quartic":
        return Measured(exact(float(rows["quartic"].max())), "50 values of b per draw")
    return Measured(per_draw(rows, "apart"), "relative to the distance between the two ends")


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Left: distances to both ends by scale. Right: the error of sparse coefficients by scale and number of samples."""
    import altair as alt

    rows = where(table, kind="ends", depth=2)
    long = pd.DataFrame(
        [
            {"scale": float(a), "end": name, "distance": float(v), "data": r["data"], "seed": r["seed"]}
            for r in rows.to_dict("records")
            for column, name in (("to_l1", "least l1 norm"), ("to_l2", "least l2 norm"))
            for a, v in zip(np.asarray(r["scales"]), np.asarray(r[column]), strict=True)
        ]
    )
    left = (
        alt.Chart(long)
        .mark_line(point=True)
        .encode(
            x=alt.X("scale:Q", title="initial scale α").scale(type="log").axis(format="~g"),
            y=alt.Y("mean(distance):Q", title="distance to the fit of"),
            color=alt.Color("end:N", title=None),
            strokeDash=alt.StrokeDash("data:N", title="data").legend(symbolType="stroke"),
        )
        .properties(width=300, height=240, title="From rich to kernel")
    )
    learnt = pd.DataFrame(
        [
            {"scale": float(a), "m": str(int(r["m"])), "error": float(v)}
            for r in where(table, kind="learning").to_dict("records")
            for a, v in zip(np.asarray(r["scales"]), np.asarray(r["errors"]), strict=True)
        ]
    )
    lines = (
        alt.Chart(learnt)
        .mark_line(point=True)
        .encode(
            x=alt.X("scale:Q", title="initial scale α").scale(type="log").axis(format="~g"),
            y=alt.Y("mean(error):Q", title="squared error of the coefficients").scale(type="log"),
            color=alt.Color("m:O", title="samples m", sort=None),
        )
    )
    level = alt.Chart(pd.DataFrame({"loss": [LOSS]})).mark_rule(strokeDash=[4, 4], color="grey").encode(y="loss:Q")
    right = (lines + level).properties(width=300, height=240, title="Five of 1,000 features")
    drawn: alt.HConcatChart = alt.hconcat(left, right).resolve_scale(color="independent")
    return drawn


CLAIMS = (
    Claim(
        "R.10",
        f"{SOURCE}, scale of init",
        "for any initial scale, gradient flow of a diagonal network ends at the fit of least Q",
        checks=(
            Check("largest distance, depth 2", partial(flow_off, depth=2), at_most(1e-8)),
            Check("largest distance, depth 3", partial(flow_off, depth=3), at_most(1e-8)),
            Check("times farther from the least Q of four fifths the scale", control, above(10)),
        ),
        changes="q(b) has √(4 + b²) where the slide prints √(4 − b²), complex above 2; depth 3 is from Woodworth et al. (2020)",
    ),
    Claim(
        "R.11",
        f"{SOURCE}, scale of init",
        "a large initial scale gives the fit of least l2 norm, a small one that of least l1 norm",
        checks=(
            Check(
                "l2 norm over the least at α = 10, minus 1", partial(at_end, column="l2_excess", depth=2), at_most(0.01)
            ),
            Check(
                "l1 norm over the least at α = 0.0001, minus 1",
                partial(at_end, column="l1_excess", depth=2),
                at_most(0.02),
            ),
        ),
    ),
    Claim(
        "R.12",
        f"{SOURCE}, implicit bias of squared and exponential losses (Arora et al. 2019)",
        "on the squared loss diagonal networks of more layers tend to the least l1 norm too",
        checks=(
            Check(
                "l1 norm over the least at α = 0.01, minus 1, depth 3",
                partial(at_end, column="l1_excess", depth=3),
                at_most(0.02),
            ),
        ),
    ),
    Claim(
        "R.13",
        f"{SOURCE}, sparse learning",
        "from 100 samples a small scale learns five of 1,000 features, to a loss below 0.025, and a large one does not",
        checks=(
            Check("squared error at α = 0.0001", partial(error_at, place=0), below(LOSS)),
            Check("squared error at α = 1", partial(error_at, place=-1), above(0.5)),
        ),
    ),
    Claim(
        "R.14",
        f"{SOURCE}, sparse learning",
        "the scale needed for a loss below 0.025 is the smaller the fewer samples there are",
        measure=needed_slope,
        expect=rising(),
    ),
    Claim(
        "R.15",
        f"{SOURCE}, relationship to explicit regularisation",
        "the least squared distance to the start solves a quartic, and as a penalty does not lead where the initial scale does",
        checks=(
            Check("residual of the quartic", partial(explicit, column="quartic"), at_most(1e-9)),
            Check("largest distance between the two fits over scales", partial(explicit, column="apart"), above(0.05)),
        ),
    ),
)

PAPER = Paper(
    "rich-kernel", "From the rich regime to the kernel's by initial scale", SOURCE, 2, grid, run, CLAIMS, chart
)
