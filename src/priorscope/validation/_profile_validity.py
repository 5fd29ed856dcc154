"""Is the architecture that a profile picks from a pilot the one whose trained networks are best at four times the data?"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from priorscope.contracts import kernel_matrix
from priorscope.data import Dataset
from priorscope.inference import GradientDescent
from priorscope.lab import Claim, Measured, Metrics, NotMeasured, Paper, Point, at_least
from priorscope.models import Activation, Architecture
from priorscope.probes import leave_one_out, ridge_grid
from priorscope.profiles import Candidate, CandidateProfile, Kind, Profile, profile
from priorscope.statistics import Interval, seed_interval, share_interval
from priorscope.system import Outcome, System
from priorscope.validation._problems import DEVELOPMENT, HELD_OUT, draw

if TYPE_CHECKING:
    import altair as alt


__all__ = ["PAPER"]

SOURCE = "priorscope, profile"
MULTIPLE = 4  # networks are trained on this many times the pilot
TOLERANCE = 1.1  # a pick within 10 % of the lowest error counts as right
SHARE = 10 / 12  # of problems on which the pick must be right
ENOUGH = 12  # problems below which nothing is shown of shares by problem
FEW = 20  # candidates told apart, on at least half as many problems as wanted, below which nothing is shown of them
SURE = 0.9  # of candidates told apart from the pick, whose networks must be worse: the level of the intervals
BATCH = 32
RATES = (0.001, 0.003, 0.01, 0.03, 0.1)  # of Adam, over the number of hidden layers, whose effects on the output add up
SIZES: dict[
    str, dict[str, int]
] = {  # pilot, side of images, test samples, steps, networks of each kind, widths, splits of tables
    "tiny": {"pilot": 24, "side": 8, "n_test": 64, "steps": 20, "members": 2, "width": 16, "channels": 4, "splits": 1},
    "small": {
        "pilot": 300,
        "side": 6,
        "n_test": 512,
        "steps": 600,
        "members": 3,
        "width": 256,
        "channels": 32,
        "splits": 4,
    },
    "paper": {
        "pilot": 300,
        "side": 8,
        "n_test": 1000,
        "steps": 3000,
        "members": 5,
        "width": 512,
        "channels": 128,
        "splits": 5,
    },
}


def grid(scale: str) -> list[Point]:
    """One point per problem; the smallest scale takes two of those that the profile was developed on."""
    names = ["dev product by place", "dev table"] if scale == "tiny" else list(HELD_OUT)
    return [{"problem": name, "seed": 0, **SIZES[scale]} for name in names]


def _architecture(candidate: Candidate) -> Architecture:
    """The candidate's model; problems of the validation are profiled with the default candidates alone."""
    assert isinstance(candidate.model, Architecture)
    return candidate.model


def _fit(
    candidate: Candidate, data: Dataset, point: Point, rate: float, steps: int, members: int, seed: int
) -> Outcome:
    """Train networks of a candidate by Adam at a rate divided by its depth, and measure them on the test set."""
    model = _architecture(candidate)
    depth = sum(isinstance(layer, Activation) for layer in model.layers)
    width = point["width"] if candidate.family == "fcn" else point["channels"]
    descent = GradientDescent(
        learning_rate=rate / depth,
        steps=steps,
        batch_size=BATCH,
        optimiser="adam",
        schedule="cosine",
        centre=True,
        record=2,
    )
    return System(data, model, descent, width=width, members=members).run(seed)


def train(candidate: Candidate, data: Dataset, point: Point, seed: int) -> tuple[list[float], list[float]]:
    """Mean squared errors on the test split of networks trained from several seeds, and their misclassification rates.

    Adam on the squared loss of f - f_0 (networks start at zero), batches of 32, learning rate falling to zero as a half cosine; a
    fixed number of steps, the same for all. Of five rates the one is taken whose network, trained for half as many steps on
    three quarters of the samples, does better on the last quarter.
    """
    n, cut = len(data.train), 3 * len(data.train) // 4
    part, rest = (data.train.take(torch.arange(*ends)) for ends in ((0, cut), (cut, n)))
    trial = Dataset(part, rest, task=data.task)
    trials = [_fit(candidate, trial, point, rate, point["steps"] // 2, 1, seed + 1000).test_error for rate in RATES]
    outcome = _fit(candidate, data, point, RATES[int(np.argmin(trials))], point["steps"], point["members"], seed)
    if data.task != "classification":
        return list(outcome.member_errors), []
    targets = data.test.targets
    predicted = outcome.predict(data.test.inputs).reshape(-1, *targets.shape)  # (networks, n, outputs)
    if targets.shape[1] == 1:
        right = predicted * targets > 0
    else:
        right = (predicted.argmax(-1) == targets.argmax(-1))[..., None]
    return list(outcome.member_errors), (1 - right.double().mean((1, 2))).tolist()


def kernel_error(gram: np.ndarray, targets: np.ndarray) -> float:
    """Mean squared error of the n kernel regressions on all samples but one, at that one, with the best ridge of a grid."""
    return min(float(leave_one_out(gram, targets, ridge=float(ridge)).loss.mean()) for ridge in ridge_grid(gram))


def _in_order(report: Profile) -> list[CandidateProfile]:
    """Architectures in the order of their networks in the table, then of the forecasts of their kernels."""
    place = {r.architecture: i for i, r in enumerate(r for r in report.rows if r.kind is Kind.NETWORK)}
    found = [c for c in report.candidates if isinstance(c.candidate.model, Architecture)]
    return sorted(found, key=lambda c: (place.get(c.name, len(place)), c.forecast.at(report.to).value))


def run(point: Point) -> Metrics:
    """Profile a pilot, then train networks of every candidate on four times as much, and do kernel regression there."""
    name, pilot = point["problem"], point["pilot"]
    problem = (HELD_OUT | DEVELOPMENT)[name]
    splits = range(point["splits"] if problem.table else 1)
    data = [draw(name, MULTIPLE * pilot, point["n_test"], point["side"], split) for split in splits]
    n = len(data[0].train)
    began = clock.process_time()
    report = profile(
        data[0], pilot=n // MULTIPLE, to=n, metric="squared-error", deep=False, classical=False, seed=point["seed"]
    )
    found_by = _in_order(report)
    seconds = clock.process_time() - began
    names = ("forecast", "low", "high", "over", "over_low", "over_high", "kernel", "network", "from", "to")
    rows: dict[str, list[float]] = {key: [] for key in names}
    wrong: list[float] = []
    began = clock.process_time()
    for found in found_by:
        ahead = found.forecast.at(n)
        results = [train(found.candidate, part, point, point["seed"] + s) for s, part in zip(splits, data)]
        errors = np.array([e for r in results for e in r[0]])
        between = seed_interval(errors)
        wrong += [float(np.mean([w for r in results for w in r[1]]))] if results[0][1] else []
        gram = kernel_matrix(_architecture(found.candidate), data[0].inputs).double().numpy()
        kernel = kernel_error(gram, data[0].targets.double().numpy())
        over = Interval(1.0, 1.0, 1.0) if found is found_by[0] else found.forecast.ratio_to(found_by[0].forecast, n)
        intervals = ((i.value, i.low, i.high) for i in (ahead, over))
        values = (*chain(*intervals), kernel, between.value, between.low, between.high)
        for key, value in zip(names, values, strict=True):
            rows[key].append(float(value))
    out: Point = {"candidates": [c.name for c in found_by], **rows, "misclassified": wrong}
    network, kernel_errors = np.array(rows["network"]), np.array(rows["kernel"])
    lowest = int(np.argmin(rows["forecast"]))  # the pick by forecasts alone
    out |= {"ratio_network": float(network[0] / network.min()), "best_network": out["candidates"][network.argmin()]}
    out |= {"ratio_forecast": float(network[lowest] / network.min()), "lowest_forecast": out["candidates"][lowest]}
    out |= {
        "ratio_kernel": float(kernel_errors[lowest] / kernel_errors.min()),
        "best_kernel": out["candidates"][kernel_errors.argmin()],
    }
    trained = {r.architecture: r.curve.last[1] for r in report.rows if r.kind is Kind.NETWORK}
    out["trained_on_pilot"] = [trained.get(c.name) for c in found_by]
    covered = (np.array(rows["low"]) <= kernel_errors) & (kernel_errors <= np.array(rows["high"]))
    out |= {"pick": out["candidates"][0], "known": problem.known, "n": n, "covered": covered.astype(float).tolist()}
    return out | {"profile_seconds": seconds, "training_seconds": clock.process_time() - began}


def _right(which: str, picked: str) -> Callable[[pd.DataFrame], Measured]:
    """Make the measure of how often the pick is, within the tolerance, as good as the best candidate."""

    def measure(table: pd.DataFrame) -> Measured:
        ratio = table[f"ratio_{which}"].to_numpy(dtype=float)
        right = ratio <= TOLERANCE
        missed = table[~right]
        note = f"{right.sum()} of {len(right)} problems"
        if which == "network":
            note += f" (by the lowest forecast alone: {(table['ratio_forecast'] <= TOLERANCE).sum()})"
        if len(missed):
            words = [
                f"{r.problem} (picked {r[picked]}, best {r[f'best_{which}']}, {r[f'ratio_{which}']:.2f} times its error)"
                for _, r in missed.iterrows()
            ]
            note += "; missed: " + ", ".join(words)
        return Measured(share_interval(right), note)

    return measure


def _by_problem(parts: list[float]) -> Interval:
    """The mean of shares, one per problem; problems that all agree have no spread, and count as so many hits or misses."""
    return share_interval(parts) if set(parts) in ({0.0}, {1.0}) else seed_interval(parts)


def _coverage(table: pd.DataFrame) -> Measured:
    note = f"{sum(len(v) for v in table['covered'])} forecasts; leave-one-out errors on four times the pilot"
    if len(table) < ENOUGH:
        raise NotMeasured(f"{len(table)} problems, {ENOUGH} are wanted; {note}")
    return Measured(_by_problem([float(np.mean(v)) for v in table["covered"]]), note)


def _apart(table: pd.DataFrame) -> Measured:
    """The share, by problem, of candidates told apart from the pick whose trained networks are worse than the pick's."""
    parts, told_apart, by_kernel, covered, others = [], 0, 0, [], 0
    for _, row in table.iterrows():
        low, high, network, kernel = (np.asarray(row[k], float) for k in ("over_low", "over_high", "network", "kernel"))
        told, ratio = low[1:] > 1, network[1:] / network[0]
        others += len(told)
        told_apart += int(told.sum())
        by_kernel += int((kernel[1:][told] > kernel[0]).sum())
        covered.append(float(np.mean((low[1:] <= ratio) & (ratio <= high[1:]))))
        if told.any():
            parts.append(float(np.mean(network[1:][told] > network[0])))
    note = f"{told_apart} of {others} candidates told apart, on {len(parts)} of {len(table)} problems; worse by kernel "
    note += f"regression {by_kernel}; intervals of the ratio cover that of networks in {100 * np.mean(covered):.0f} %, by problem"
    if told_apart < FEW or len(parts) < ENOUGH / 2:
        raise NotMeasured(f"too few: {note}")
    return Measured(_by_problem(parts), note)


def long(table: pd.DataFrame) -> pd.DataFrame:
    """One row per problem and candidate."""
    names = {"candidates": "candidate", "network": "network", "kernel": "kernel", "forecast": "forecast"}
    parts = []
    for _, row in table.iterrows():
        part = pd.DataFrame({new: list(row[old]) for old, new in names.items()})
        part["low"], part["high"] = list(row["from"]), list(row["to"])
        parts.append(part.assign(problem=row["problem"], picked=part["candidate"] == row["pick"]))
    return pd.concat(parts, ignore_index=True)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Test errors of trained networks over the lowest of each problem; the pick is a diamond, the grey band 10 %."""
    import altair as alt

    rows = long(table)
    best = rows.groupby("problem")["network"].transform("min")
    for key in ("network", "low", "high"):
        rows[f"{key} ratio"] = rows[key] / best
    rows["family"] = rows["candidate"].str.split("-").str[0]
    rows["role"] = np.where(rows["picked"], "picked by the profile", "other candidate")
    order = list(dict.fromkeys(rows["problem"]))
    ratio = alt.Scale(type="log", nice=False)
    y = alt.Y("problem:N", sort=order, title=None, axis=alt.Axis(labelLimit=220))
    band = alt.Chart(pd.DataFrame({"from": [1.0], "to": [TOLERANCE]}))
    band = band.mark_rect(opacity=0.25, color="gray").encode(x=alt.X("from:Q", scale=ratio), x2="to:Q")
    base = alt.Chart(rows)
    families = ["fcn", "vec", "lap", "gap"]
    colour = alt.Color("family:N", scale=alt.Scale(domain=families), legend=alt.Legend(symbolOpacity=1))
    rule = base.mark_rule(opacity=0.5).encode(x=alt.X("low ratio:Q", scale=ratio), x2="high ratio:Q", y=y, color=colour)
    points = base.mark_point(filled=True, opacity=0.9).encode(
        x=alt.X("network ratio:Q", scale=ratio, title="test error of trained networks over the lowest"),
        y=y,
        color=colour,
        shape=alt.Shape("role:N", scale=alt.Scale(range=["circle", "diamond"]), legend=None),
        size=alt.Size("role:N", scale=alt.Scale(range=[40, 220]), legend=None),
        tooltip=["problem", "candidate", "network", "kernel", "forecast"],
    )
    title = "diamond: what the profile picked; grey: within 10 % of the best"
    chart: alt.TopLevelMixin = (band + rule + points).properties(width=480, height=24 * len(order), title=title)
    return chart


PAPER = Paper(
    name="profile-validity",
    title="The architecture picked from a pilot, against trained networks",
    source=SOURCE,
    version=7,
    grid=grid,
    run=run,
    claims=(
        Claim(
            id="V.1",
            source=SOURCE,
            says="on problems not used while building it, the profile's top pick has the lowest test error (mean squared) of "
            "trained finite networks of all candidates at 4 times the pilot, or one within 10 % of it",
            measure=_right("network", "pick"),
            expect=at_least(SHARE),
        ),
        Claim(
            id="V.2",
            source=SOURCE,
            says="the candidate with the lowest forecast has the lowest error of kernel regression of all candidates at 4 times "
            "the pilot, or one within 10 % of it",
            measure=_right("kernel", "lowest_forecast"),
            expect=at_least(SHARE),
        ),
        Claim(
            id="V.3",
            source=SOURCE,
            says="90 % intervals of the forecasts on which it ranks cover the error of kernel regression at 4 times the pilot in "
            "at least 80 % of cases",
            measure=_coverage,
            expect=at_least(0.8),
        ),
        Claim(
            id="V.4",
            source=SOURCE,
            says="candidates that the profile tells apart from its pick (the 90 % interval of the ratio of errors lies above 1) "
            "have worse trained networks than the pick at 4 times the pilot",
            measure=_apart,
            expect=at_least(SURE),
        ),
    ),
    chart=chart,
)
