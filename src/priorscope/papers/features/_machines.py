"""Kernel machines that learn features: tables, teachers of few directions, the stripe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from priorscope import data, models
from priorscope.inference import RIDGES, FeatureMachine, KernelRegression, RidgePath
from priorscope.lab import Claim, Metrics, NotMeasured, Paper, Point, above, at_most, near
from priorscope.papers._over_draws import exponent_over_draws, over_draws, where
from priorscope.statistics import Interval

if TYPE_CHECKING:
    import altair as alt

SOURCE = (
    "Radhakrishnan et al., Mechanism for feature learning in neural networks and backpropagation-free machine learning models "
    "(Science 383, 1461, 2024; arXiv 2212.13881)"
)
STRIPE = "Paccolat et al., Geometric compression of invariant manifolds in neural networks (2021), on the stripe"
# Balanced tables of KEEL below 1,100 rows that took no part in making the kernel machine, in alphabetical order.
TABLES = (
    "bands", "breast", "bupa", "crx", "german", "hayes-roth", "heart", "ionosphere", "iris", "led7digit", "mammographic",
    "movement_libras", "pima", "saheart", "tae", "tic-tac-toe", "vehicle", "wdbc", "wine", "wisconsin",
)  # fmt: skip
ROWS = {"tiny": 60, "small": 400, "paper": 2000}  # of a table, drawn at random where it has more
TEACHER = {"dim": 20, "rank": 2, "test": 1000}
SIZES = {"tiny": (40,), "small": (100, 200, 400, 800, 1600), "paper": (100, 200, 400, 800, 1600, 3200, 6400)}
PATTERNS = {"tiny": (32,), "small": (64, 128, 256, 512, 1024), "paper": (64, 128, 256, 512, 1024, 2048, 4096)}
STRIPE_DIM = 5
GIVEN = FeatureMachine(rounds=4, power=0.5, diagonal=False, bandwidth=1.0, ridge=1e-4)
DENSE = (1, 2, 3)  # depths of the tangent kernels, chosen by leave-one-out


def grid(scale: str) -> list[Point]:
    """Points of three kinds: a fold of a table, a teacher at one size, a stripe at one number of patterns."""
    tables = ("bundled:iris",) if scale == "tiny" else TABLES
    seeds = range(1 if scale == "tiny" else 16)
    folds = range(1 if scale == "tiny" else 2)
    made: list[Point] = [
        {"kind": "table", "table": t, "fold": f, "rows": ROWS[scale], "seed": 0} for t in tables for f in folds
    ]
    made += [{"kind": "teacher", "n": n, **TEACHER, "seed": s} for n in SIZES[scale] for s in seeds]
    made += [{"kind": "stripe", "n": n, "dim": STRIPE_DIM, "seed": s} for n in PATTERNS[scale] for s in seeds]
    return made


def _table(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    if name == "bundled:iris":
        from sklearn.datasets import load_iris

        x, y = load_iris(return_X_y=True)
        return x, y
    table = data.keel(name, dtype=torch.float64)
    labels = [table.train_labels, table.test_labels]
    assert labels[0] is not None
    assert labels[1] is not None
    return torch.cat([table.inputs, table.test.inputs]).numpy(), torch.cat([labels[0], labels[1]]).numpy()


@dataclass(frozen=True, eq=False)
class TableFold:
    """One half of a table's rows to fit, standardised by its own means, and the other to test."""

    split: data.Split
    labels: NDArray[np.int64]
    new: Tensor
    wanted: NDArray[np.int64]


def table_fold(point: Point) -> TableFold:
    """The fold of a point: up to ``rows`` rows, halves that keep the shares of the classes."""
    from sklearn.model_selection import StratifiedKFold

    x, y = _table(point["table"])
    rows = np.random.default_rng(point["seed"]).permutation(len(x))[: point["rows"]]
    rows = rows[np.isin(y[rows], np.flatnonzero(np.bincount(y[rows]) >= 2))]
    _, labels = np.unique(y[rows], return_inverse=True)
    halves = StratifiedKFold(2, shuffle=True, random_state=point["seed"]).split(rows, labels)
    train, test = list(halves)[point["fold"]]
    mean, scale = x[rows[train]].mean(0), x[rows[train]].std(0)
    z = (x[rows] - mean) / np.where(scale > 0, scale, 1.0)
    targets = np.eye(labels.max() + 1)[labels]
    split = data.Split(torch.from_numpy(z[train]), torch.from_numpy(targets[train]))
    return TableFold(split, labels[train], torch.from_numpy(z[test]), labels[test])


def _run_table(point: Point) -> Metrics:
    """Accuracies on one half of a table's rows by predictors fitted to the other, inputs standardised."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

    fold = table_fold(point)
    split, new = fold.split, fold.new
    inside, outside = split.inputs.numpy(), new.numpy()

    def accuracy(scores: NDArray[np.float64]) -> float:
        return float((scores.argmax(1) == fold.wanted).mean())

    learnt = FeatureMachine().fit(models.laplace(), split)
    plain = FeatureMachine(rounds=0).fit(models.laplace(), split)
    forest = RandomForestClassifier(300, random_state=0).fit(inside, fold.labels)
    boosted = HistGradientBoostingClassifier(random_state=0).fit(inside, fold.labels)
    assert learnt.plan is not None
    return {
        "features": accuracy(learnt.predict(new).numpy()),
        "laplace": accuracy(plain.predict(new).numpy()),
        "tangent kernel": accuracy(tangent_scores(split, new)),
        "random forest": float((forest.predict(outside) == fold.wanted).mean()),
        "boosting": float((boosted.predict(outside) == fold.wanted).mean()),
        "rounds": learnt.rounds,
        "gain": 1 - learnt.plan.loss / learnt.plan.losses[0],
        "setting": str(learnt.setting),
        "n_train": len(split.inputs),
    }


def tangent_scores(split: data.Split, new: Tensor) -> NDArray[np.float64]:
    """Ridge regression with the tangent kernel of one to three hidden layers, depth and ridge by leave-one-out."""
    y = split.targets.numpy()
    best: tuple[float, NDArray[np.float64]] | None = None
    for depth in DENSE:
        arch = models.fcn(depth, bias_variance=0.1)
        K = arch.kernel(split.inputs, kinds=("ntk",)).ntk.numpy()
        path = RidgePath.of_kernel(K)
        ridges = path.scale * RIDGES
        errors = ((path.leave_one_out(y, ridges) - y) ** 2).mean((1, 2))
        if best is None or errors.min() < best[0]:
            alpha = path.solve(y, float(ridges[errors.argmin()]))
            cross = arch.kernel(new, split.inputs, kinds=("ntk",)).ntk.numpy()
            best = float(errors.min()), cross @ alpha + path.intercept(y, K @ alpha)
    assert best is not None
    return best[1]


def _run_teacher(point: Point) -> Metrics:
    """A smooth function of two directions of twenty: Laplace with features, without, and told the two directions."""
    d, r, n = point["dim"], point["rank"], point["n"]
    generator = torch.Generator().manual_seed(1000 * point["seed"] + n)
    x = torch.randn(n + point["test"], d, generator=generator, dtype=torch.float64)
    U = torch.linalg.qr(torch.randn(d, r, generator=generator, dtype=torch.float64)).Q
    h = x @ U
    y = (torch.sin(2 * h[:, 0]) + h[:, 0] * h[:, 1])[:, None]
    split = data.Split(x[:n], y[:n])
    told = data.Split(h[:n], y[:n])
    learnt = GIVEN.fit(models.laplace(), split)
    plain = KernelRegression(ridge=0.0).fit(models.laplace(), split)
    oracle = KernelRegression(ridge=0.0).fit(models.laplace(), told)
    top = torch.linalg.eigh(learnt.moment).eigenvectors[:, -r:]
    return {
        "features": _squared(learnt.predict(x[n:]), y[n:]),
        "laplace": _squared(plain.predict(x[n:]), y[n:]),
        "oracle": _squared(oracle.predict(h[n:]), y[n:]),
        "overlap": float((top.T @ U).square().sum() / r),
    }


def _squared(found: Tensor, wanted: Tensor) -> float:
    return float((found - wanted).square().mean() / wanted.var())


def _run_stripe(point: Point) -> Metrics:
    """Labels that depend on one direction of five: the angle of M's first direction, and how much it stands out."""
    points = data.stripe(point["n"], point["dim"], 100 + point["seed"])
    fresh = data.stripe(4000, point["dim"], 999)
    found = GIVEN.fit(models.laplace(), points)
    plain = KernelRegression(ridge=0.0).fit(models.laplace(), points)
    lam, V = torch.linalg.eigh(found.moment)
    own = found.moment.diagonal()
    return {
        "sine": float((1 - V[0, -1].square()).clamp(min=0).sqrt()),
        "compression": float((own[0] / own[1:].mean()).sqrt()),
        "features": float((found.predict(fresh.inputs) * fresh.targets <= 0).double().mean()),
        "laplace": float((plain.predict(fresh.inputs) * fresh.targets <= 0).double().mean()),
        "eigenvalues": lam.flip(0).numpy(),
    }


def run(point: Point) -> Metrics:
    """One fold of a table, one teacher, or one stripe."""
    return {"table": _run_table, "teacher": _run_teacher, "stripe": _run_stripe}[point["kind"]](point)


def _of(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    rows = where(table, kind=kind)
    return rows


def _ahead(of: str) -> Callable[[pd.DataFrame], Interval]:
    """Mean accuracy of the feature machine less another's, each table's mean over its folds counting once."""

    def measure(table: pd.DataFrame) -> Interval:
        rows = _of(table, "table")
        gaps = (rows["features"] - rows[of]).astype(float).groupby(rows["table"]).mean()
        return over_draws(gaps.to_numpy())

    return measure


def _exponent_gap(table: pd.DataFrame) -> Interval:
    """Exponent of the error with features less that without, fitted to every seed over all sizes."""
    rows = _of(table, "teacher")
    wide = {name: rows.pivot_table(index="seed", columns="n", values=name) for name in ("features", "laplace")}
    sizes = np.log(wide["features"].columns.to_numpy(float))
    if len(sizes) < 3:
        raise NotMeasured("fewer than three sizes")
    slopes = {name: np.polyfit(sizes, np.log(frame.to_numpy().T), 1)[0] for name, frame in wide.items()}
    return over_draws(slopes["features"] - slopes["laplace"])


def _beside_oracle(table: pd.DataFrame) -> Interval:
    """Error with features over that of the kernel that was told the directions, at the largest size."""
    rows = _of(table, "teacher")
    last = rows[rows["n"] == rows["n"].max()]
    return over_draws((last["features"] / last["oracle"]).to_numpy(float))


def _stripe_exponent(value: str) -> Callable[[pd.DataFrame], Interval]:
    return lambda table: exponent_over_draws(_of(table, "stripe"), "n", value)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Tables: gain over the plain kernel; teachers: three curves; stripe: the angle of M's first direction."""
    import altair as alt

    parts = []
    tables = table[table["kind"] == "table"]
    if len(tables):
        shown = tables.groupby("table", as_index=False)[["features", "laplace", "random forest"]].mean()
        long = shown.melt(["table", "laplace"], ["features", "random forest"], "predictor", "accuracy")
        dots = alt.Chart(long).mark_point(filled=True, size=40, opacity=0.7)
        dots = dots.encode(
            x=alt.X("laplace:Q", title="accuracy of the Laplace kernel").scale(zero=False),
            y=alt.Y("accuracy:Q", title="accuracy").scale(zero=False),
            color=alt.Color("predictor:N", title=None),
            tooltip=["table", "laplace", "accuracy"],
        )
        low, high = float(shown.iloc[:, 1:].min().min()), 1.0
        line = alt.Chart(pd.DataFrame({"a": [low, high], "b": [low, high]})).mark_line(strokeDash=[4, 4], color="#999")
        parts.append((dots + line.encode(x="a:Q", y="b:Q")).properties(width=250, height=230))
    teachers = table[table["kind"] == "teacher"]
    if len(teachers):
        means = teachers.groupby("n", as_index=False)[["laplace", "features", "oracle"]].mean()
        long = means.melt("n", var_name="kernel", value_name="error")
        lines = alt.Chart(long).mark_line(point=True)
        lines = lines.encode(
            x=alt.X("n:Q", title="samples n").scale(type="log", nice=False),
            y=alt.Y("error:Q", title="squared error over variance").scale(type="log"),
            color=alt.Color("kernel:N", title="two of twenty directions", sort=["laplace", "features", "oracle"]),
        )
        parts.append(lines.properties(width=230, height=230))
    stripes = table[table["kind"] == "stripe"]
    if len(stripes):
        dots = alt.Chart(stripes[["n", "sine"]].astype(float)).mark_point(filled=True, size=25, opacity=0.6)
        dots = dots.encode(
            x=alt.X("n:Q", title="patterns P").scale(type="log", nice=False),
            y=alt.Y("sine:Q", title="sine of the angle of M's first direction").scale(type="log"),
        )
        parts.append(dots.properties(width=200, height=230))
    chart: alt.TopLevelMixin = alt.hconcat(*parts).resolve_scale(color="independent")
    return chart


PAPER = Paper(
    name="feature-machines",
    title="Kernel machines that learn features",
    source=SOURCE,
    version=2,
    grid=grid,
    run=run,
    claims=(
        Claim(
            id="G.6",
            source=SOURCE + ": feature learning improves kernel machines on tables",
            says="on 20 KEEL tables the mean accuracy of the Laplace kernel with features is above that without",
            measure=_ahead("laplace"),
            expect=above(0.0),
        ),
        Claim(
            id="G.7",
            source=SOURCE + ", abstract: state of the art on tabular data; here against random forests",
            says="on these tables it is above that of random forests",
            measure=_ahead("random forest"),
            expect=above(0.0),
        ),
        Claim(
            id="G.8",
            source=SOURCE + ", abstract; here against gradient-boosted trees at their defaults",
            says="on these tables it is above that of boosted trees",
            measure=_ahead("boosting"),
            expect=above(0.0),
        ),
        Claim(
            id="G.10",
            source="priorscope, on the low-rank teachers of " + SOURCE,
            says="for a target of two directions of twenty the error falls with a steeper exponent than without features",
            measure=_exponent_gap,
            expect=at_most(-0.2),
        ),
        Claim(
            id="G.11",
            source="priorscope",
            says="at 1,600 samples its error is at most three times that of the kernel that was told the two directions",
            measure=_beside_oracle,
            expect=at_most(3.0),
        ),
        Claim(
            id="G.12",
            source="priorscope: the rate of a mean over samples",
            says="on the stripe the sine of the angle between M's first direction and the informative one falls like P^-1/2",
            finding="it falls faster, like P^-0.9",
            measure=_stripe_exponent("sine"),
            expect=near(-0.5, within=0.2),
        ),
        Claim(
            id="G.13",
            source=STRIPE + ": networks compress like the root of P",
            says="on the stripe the slope along over the slope across (root of M's diagonal) grows like P^1/2, as in networks",
            finding="it grows faster, like P^0.8: kernel machines that learn features compress more than the networks' law",
            measure=_stripe_exponent("compression"),
            expect=near(0.5, within=0.2),
        ),
    ),
    chart=chart,
)
