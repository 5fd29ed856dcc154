"""Wrong labels put in on purpose: whether the estimate finds how many there are, and whether suspects are among them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from priorscope import data
from priorscope.lab import Claim, Measured, Metrics, Paper, Point, above, at_least
from priorscope.probes import label_noise
from priorscope.statistics import exact, seed_interval

if TYPE_CHECKING:
    import altair as alt

__all__ = ["DEVELOPMENT", "JUDGED", "PAPER"]

SOURCE = "priorscope, label noise"
# Sets on which the estimator was made; they take no part in the claims.
DEVELOPMENT = (
    "digits", "iris", "circles", "moons", "fashion-mnist coats and pullovers", "fashion-mnist shoes and trousers",
    "cifar10 deer, frogs and ships", "texture", "twonorm", "ring", "phoneme", "banana", "vowel", "mushroom", "magic",
    "australian", "sonar",
)  # fmt: skip
JUDGED = (
    "bundled:breast_cancer", "bundled:wine", "keel:segment", "keel:wisconsin", "keel:vehicle", "keel:ionosphere", "mnist",
    "fashion-mnist", "cifar10:airplane,automobile", "clusters",
)  # fmt: skip
RATES = (0.0, 0.1, 0.2, 0.4)
WITHIN = 0.05  # of the truth, as asked for beforehand
ROWS = {"tiny": 120, "small": 600, "paper": 1000}


def grid(scale: str) -> list[Point]:
    """One point per data set and draw; all rates of flips within it."""
    names = ("bundled:iris", "bundled:digits") if scale == "tiny" else JUDGED
    draws = {"tiny": 2, "small": 8, "paper": 20}[scale]
    return [{"data": name, "rows": ROWS[scale], "seed": s} for name in names for s in range(draws)]


def clusters(n: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Three classes of two Gaussian clusters each in 20 dimensions, as in the talk on early stopping (seed 003)."""
    rng = np.random.default_rng([seed, 7])
    centres = rng.normal(size=(6, 20))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    which = rng.integers(6, size=n)
    return centres[which] + 0.5 / np.sqrt(20) * rng.normal(size=(n, 20)), which % 3


def samples(name: str, rows: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows drawn at random, images in their shape, and labels 0, 1, …; classes of fewer than 8 rows are left out."""
    if name == "clusters":
        return clusters(rows, seed)
    x: NDArray[np.float64]
    if name.startswith("bundled:"):
        from sklearn import datasets

        x, y = getattr(datasets, f"load_{name.removeprefix('bundled:')}")(return_X_y=True)
    else:
        if name.startswith("keel:"):
            found = data.keel(name.removeprefix("keel:"), dtype=torch.float64)
        else:
            found = data.as_dataset(name.split(":")[0])
        assert found.train_labels is not None
        assert found.classes is not None
        x, y = found.inputs.double().numpy(), found.train_labels.numpy()
        if ":" in name and not name.startswith("keel:"):
            wanted = [found.classes.index(c) for c in name.split(":")[1].split(",")]
            kept = np.isin(y, wanted)
            x, y = x[kept], y[kept]
    drawn = np.random.default_rng(seed).permutation(len(x))[:rows]
    x, y = x[drawn], y[drawn]
    kept = np.isin(y, np.flatnonzero(np.bincount(y) >= 8))
    return x[kept], np.unique(y[kept], return_inverse=True)[1].astype(np.int64)


def flipped(labels: NDArray[np.int64], rate: float, seed: int) -> NDArray[np.int64]:
    """The labels with this share of them, drawn at random, replaced by another class at random."""
    rng = np.random.default_rng([seed, round(1000 * rate), 3])
    n_classes, found = int(labels.max()) + 1, labels.copy()
    rows = rng.permutation(len(labels))[: round(rate * len(labels))]
    found[rows] = (labels[rows] + rng.integers(1, n_classes, len(rows))) % n_classes
    return found


def run(point: Point) -> Metrics:
    """Estimates at every rate, and how many of the suspects were indeed flipped."""
    x, y = samples(point["data"], point["rows"], point["seed"])
    table: dict[str, list[float]] = {
        key: []
        for key in ("truth", "estimate", "low", "high", "worst", "flagged", "share_flagged", "average_precision")
    }
    for rate in RATES:
        given = flipped(y, rate, point["seed"])
        found = label_noise(torch.from_numpy(x), [f"c{c}" for c in given], n=len(x), seed=point["seed"])
        wrong = (given != y)[found.rows]
        half = max(found.count // 2, 1)
        flagged = found.flagged()
        table["truth"].append(float(wrong.mean()))
        table["estimate"].append(found.rate.value)
        table["low"].append(found.rate.low)
        table["high"].append(found.rate.high)
        table["worst"].append(float(wrong[found.order()[:half]].mean()))
        table["flagged"].append(float(wrong[flagged].mean()) if len(flagged) else float("nan"))
        table["share_flagged"].append(len(flagged) / len(wrong))
        table["average_precision"].append(average_precision(wrong, -found.suspicion))
    return {**table, "n": len(x), "classes": int(y.max()) + 1}


def average_precision(wrong: NDArray[np.bool_], score: NDArray[np.float64]) -> float:
    """The mean over wrong labels of the precision down to each, in order of the score; NaN where none is wrong."""
    if not wrong.any():
        return float("nan")
    hits = wrong[np.argsort(-score, kind="stable")]
    return float((hits.cumsum() / np.arange(1, len(hits) + 1))[hits].mean())


def _at(table: pd.DataFrame, column: str, rate: float) -> pd.Series:
    return table[column].map(lambda values: float(np.asarray(values, dtype=float)[RATES.index(rate)]))


def errors(table: pd.DataFrame) -> pd.DataFrame:
    """Mean absolute error of the estimate, one row per data set, one column per rate."""
    wide = {rate: (_at(table, "estimate", rate) - _at(table, "truth", rate)).abs() for rate in RATES}
    return pd.DataFrame(wide).groupby(table["data"]).mean()


def sets_within(table: pd.DataFrame) -> Measured:
    """How many of the data sets have a mean error of at most five points at every one of the four rates."""
    worst = errors(table).max(axis=1)
    missed = ", ".join(f"{name} {100 * value:.1f}" for name, value in worst[worst > WITHIN].items())
    return Measured(
        exact(float((worst <= WITHIN).sum())),
        f"of {len(worst)} sets, {table['seed'].nunique()} draws each"
        + (f"; more than 5 points: {missed}" if missed else ""),
    )


def precision(table: pd.DataFrame, column: str, rate: float) -> Measured:
    """The mean precision over data sets, with its interval over draws."""
    found = table.assign(value=_at(table, column, rate))
    by_set = found.groupby("data")["value"].mean()
    least = f"least {by_set.idxmin()} {by_set.min():.2f}" if by_set.notna().any() else "nothing was flagged"
    return Measured(seed_interval(found.groupby("seed")["value"].mean()), f"mean over {len(by_set)} sets; {least}")


def coverage(table: pd.DataFrame) -> Measured:
    """How often the 90 % interval holds the truth (to half a step of its grid), over sets and rates."""
    hits = np.mean(
        [
            (_at(table, "low", rate) - 0.0025 <= _at(table, "truth", rate))
            & (_at(table, "truth", rate) <= _at(table, "high", rate) + 0.0025)
            for rate in RATES
        ],
        axis=0,
    )
    return Measured(
        seed_interval(pd.Series(hits, index=table.index).groupby(table["seed"]).mean()), "over sets and rates"
    )


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Estimate against truth, one panel per data set; the band is five points."""
    import altair as alt

    rows = [
        {"data": r["data"], "seed": r["seed"], "truth": float(t), "estimate": float(e)}
        for r in table.to_dict("records")
        for t, e in zip(r["truth"], r["estimate"], strict=True)
    ]
    shown = pd.DataFrame(rows).assign(low=lambda t: t["truth"] - WITHIN, high=lambda t: t["truth"] + WITHIN)
    x = alt.X("truth:Q", title="share of labels flipped").axis(format="%")
    base = alt.Chart(shown)
    dots = base.mark_circle(opacity=0.6).encode(x=x, y=alt.Y("estimate:Q", title="estimate").axis(format="%"))
    line = base.mark_line(color="grey").encode(x=x, y="truth:Q")
    band = base.mark_area(opacity=0.15, color="grey").encode(x=x, y="low:Q", y2="high:Q")
    return (
        alt.layer(band, line, dots).properties(width=130, height=130).facet(alt.Facet("data:N", title=None), columns=5)
    )


CLAIMS = (
    Claim(
        "N.1",
        SOURCE,
        "the estimated share of wrong labels is within five points of the truth at 0, 10, 20 and 40 % on eight of ten data sets",
        measure=sets_within,
        expect=at_least(8),
    ),
    Claim(
        "N.2",
        SOURCE,
        "with one label in ten flipped, eight in ten of the worst offenders (half as many as the estimate says) were flipped",
        measure=partial(precision, column="worst", rate=0.1),
        expect=at_least(0.8),
    ),
    Claim(
        "N.3",
        SOURCE,
        "with one label in ten flipped, most of all labels that are flagged as more probably wrong than right were flipped",
        measure=partial(precision, column="flagged", rate=0.1),
        expect=above(0.5),
    ),
    Claim(
        "N.4",
        SOURCE,
        "the 90 % interval of the share holds the truth in at least 80 % of cases",
        measure=coverage,
        expect=at_least(0.8),
    ),
)

PAPER = Paper("label-noise", "How many labels are wrong, and which", SOURCE, 1, grid, run, CLAIMS, chart)
