"""Ordinary problems, made by formulas: what a stranger brings, where the best possible error is known.

Each generator draws rows with their targets and says what is ideal: the probability of every class given the row, or the mean and
variance of the target given the row. The least error that any predictor can reach follows from it, over as many rows as wanted.
A problem's own constants (weights, centres, templates) come from a seed of its own, so that every draw is of the same problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import expit, logsumexp, ndtr

__all__ = ["PROBLEMS", "Ideal", "Problem", "Sample"]

Array = NDArray[np.float64]
Rng = np.random.Generator


@dataclass(frozen=True)
class Ideal:
    """What is known of the targets given the inputs: ``classes`` (n, k) probabilities, or ``mean`` and ``variance`` (n,)."""

    classes: Array | None = None
    mean: Array | None = None
    variance: Array | None = None

    def floor(self, metric: str) -> float:
        """The least error of any predictor: misclassification, balanced error or root mean square."""
        if self.variance is not None:
            return float(np.sqrt(self.variance.mean()))
        p = self.classes
        assert p is not None
        if metric == "misclassification":
            return float(1 - p.max(1).mean())
        share = p.mean(0)
        decided = (p / share).argmax(1)
        recall = [float((p[:, k] * (decided == k)).mean() / share[k]) for k in range(p.shape[1])]
        return 1 - float(np.mean(recall))


@dataclass(frozen=True)
class Sample:
    """Rows, their targets, and what is ideal (None where nobody knows); ``groups`` of rows that belong together."""

    x: object
    y: NDArray[np.generic]
    ideal: Ideal | None = None
    groups: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Problem:
    """How rows are drawn, how many to train and to test on; ``learnable``: whether there is anything to learn at all."""

    make: Callable[[int, Rng], Sample]
    n: int
    n_test: int = 20_000
    task: str = "classification"
    learnable: bool = True
    alike: int = 1  # rows that say the same thing: their errors count as one
    n_long: int = 50_000  # rows of the run from which the least possible error is computed

    def draw(self, name: str, part: str) -> Sample:
        """The training rows, the test rows, or a long run for the ideal; the same ones at every call."""
        seed = [sum(ord(c) * 31**i for i, c in enumerate(name)) % 2**31, ("train", "test", "long").index(part)]
        count = {"train": self.n, "test": self.n_test, "long": max(self.n_test, self.n_long)}[part]
        return self.make(count, np.random.default_rng(seed))


def classed(x: object, p: Array, rng: Rng, names: list[str] | None = None, **more: object) -> Sample:
    """Rows with labels drawn from their probabilities (n, k); ``names`` (sorted) in place of 0, 1, …"""
    assert names is None or names == sorted(names)
    drawn = (p.cumsum(1) < rng.random(len(p))[:, None]).sum(1).clip(0, p.shape[1] - 1)
    y = drawn if names is None else np.array(names, dtype=object)[drawn]
    return Sample(x, y, Ideal(classes=p), **more)  # type: ignore[arg-type]


def two(score: Array) -> Array:
    """Probabilities of two classes from the log odds of the second."""
    return np.stack([expit(-score), expit(score)], 1)


def flipped(p: Array, share: float) -> Array:
    """Probabilities after a ``share`` of the labels was replaced by another class."""
    return p * (1 - share) + (1 - p) * share / (p.shape[1] - 1)


def certain(label: NDArray[np.int64], k: int = 2) -> Array:
    return np.eye(k)[label]


def numbers(x: object, mean: Array, sd: Array | float, rng: Rng, **more: object) -> Sample:
    """Rows with targets of Gaussian noise around their mean."""
    sds = np.broadcast_to(np.asarray(sd, dtype=float), mean.shape)
    y = mean + sds * rng.standard_normal(len(mean))
    return Sample(x, y, Ideal(mean=mean, variance=sds**2), **more)  # type: ignore[arg-type]


# -- tables of classes -------------------------------------------------------------------------------------------------


def churn(n: int, rng: Rng, leak: bool = False) -> Sample:
    cities = np.array(["Aachen", "Bergen", "Cadiz", "Dover", "Evora", "Fano"])
    city, plan = rng.integers(0, 6, n), rng.integers(0, 3, n)
    tenure, monthly, paper = rng.exponential(24, n), 20 + 60 * rng.random(n), rng.random(n) < 0.4
    calls = rng.poisson(1.5, n)
    score = -1.1 + 0.035 * (monthly - 50) - 0.05 * (tenure - 24) + 0.5 * calls - 0.6 * plan
    score += np.array([0.8, -0.4, 0.3, -0.8, 0.0, 0.5])[city] + 0.6 * paper
    age = np.where(rng.random(n) < 0.15, np.nan, rng.integers(18, 90, n))
    frame = pd.DataFrame({"city": cities[city], "plan": pd.Categorical.from_codes(plan, ["S", "M", "L"], ordered=True)})
    frame = frame.assign(tenure=tenure.round(1), monthly=monthly.round(2), paperless=paper, calls=calls, age=age)
    found = classed(frame, two(score), rng, ["no", "yes"])
    if not leak:
        return found
    gone = (found.y == "yes").astype(float)
    left = frame.assign(refund=np.where(gone > 0, 5 + 20 * rng.random(n), 0.0).round(2))
    return Sample(left, found.y, Ideal(classes=certain(gone.astype(int))))


def rare(n: int, rng: Rng, share: float, gain: float = 1.0, columns: int = 20) -> Sample:
    """Two Gaussian classes of which the second is rare; five columns carry it."""
    y = rng.random(n) < share
    shift = np.zeros(columns)
    shift[:5] = gain
    x = rng.standard_normal((n, columns)) + y[:, None] * shift
    odds = np.log(share / (1 - share)) + x @ shift - shift @ shift / 2
    return Sample(x, y.astype(int), Ideal(classes=two(odds)))


def rare_box(n: int, rng: Rng) -> Sample:
    """About 3 % positives, which lie in a box of three of ten columns: trees see it, lines do not."""
    x = rng.random((n, 10))
    inside = ((x[:, :3] > 0.35) & (x[:, :3] < 0.70)).all(1)
    return classed(x, two(np.where(inside, 1.0, -5.0)), rng, ["common", "rare"])


def ring(n: int, rng: Rng, noise: float, columns: int = 6) -> Sample:
    """Inside or outside of a ball in two of the columns, with a share of the labels flipped."""
    x = rng.standard_normal((n, columns))
    return classed(x, flipped(certain((x[:, 0] ** 2 + x[:, 1] ** 2 > 2 * np.log(2)).astype(int)), noise), rng)


def noisy_blobs(n: int, rng: Rng) -> Sample:
    """Four classes of 30 columns, a fifth of the labels wrong."""
    return gaussians(n, rng, k=4, columns=30, gap=0.5, noise=0.2)


def gaussians(
    n: int, rng: Rng, k: int, columns: int, gap: float, noise: float = 0.0, words: bool = False, seed: int = 5
) -> Sample:
    """k Gaussian classes around random centres."""
    centres = gap * np.random.default_rng(seed).standard_normal((k, columns))
    x = centres[rng.integers(0, k, n)] + rng.standard_normal((n, columns))
    logs = x @ centres.T - (centres**2).sum(1) / 2
    p = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    return relabelled(x, p, noise, rng, [f"kind {i:02d}" for i in range(k)] if words else None)


def relabelled(x: object, p: Array, noise: float, rng: Rng, names: list[str] | None = None) -> Sample:
    """Labels drawn from the posterior of the rows (which is the law of the labels given the rows), some of them wrong."""
    return classed(x, flipped(p, noise) if noise else p, rng, names)


def grades(n: int, rng: Rng) -> Sample:
    """Five grades in order: a noisy score of eight columns, cut at four places."""
    x = rng.standard_normal((n, 8))
    w = np.array([1.0, -0.8, 0.6, 0.5, 0, 0, 0, 0])
    score = x @ w + 0.5 * x[:, 4] * x[:, 5]
    cuts = np.array([-np.inf, -1.5, -0.5, 0.5, 1.5, np.inf])
    p = np.diff(ndtr((cuts[None, :] - score[:, None]) / 0.8), axis=1)
    return classed(pd.DataFrame(x, columns=[f"q{i}" for i in range(8)]), p, rng)


def parity(n: int, rng: Rng, bits: int, of: int, noise: float) -> Sample:
    x = rng.choice([-1.0, 1.0], (n, of))
    return classed(x, flipped(certain((x[:, :bits].prod(1) > 0).astype(int)), noise), rng)


def checkerboard(n: int, rng: Rng) -> Sample:
    x = rng.random((n, 4))
    return classed(x, flipped(certain((np.floor(4 * x[:, 0]) + np.floor(4 * x[:, 1])).astype(int) % 2), 0.05), rng)


def interactions(n: int, rng: Rng) -> Sample:
    """12 columns; the sign of a sum of products of pairs: smooth for a network, hard for trees, nothing for a line."""
    x = rng.standard_normal((n, 12))
    score = (x[:, 0:10:2] * x[:, 1:11:2]).sum(1)
    return classed(x, flipped(certain((score > 0).astype(int)), 0.02), rng)


def additive_classes(n: int, rng: Rng) -> Sample:
    x = rng.standard_normal((n, 20))
    return classed(x, two(1.5 * np.sin(2 * x[:, 0]) + x[:, 1] - np.abs(x[:, 2]) + 0.8 + 0.5 * x[:, 3] ** 2 - 0.5), rng)


def wide(n: int, rng: Rng) -> Sample:
    """500 columns, of which ten matter."""
    x = rng.standard_normal((n, 500))
    return classed(x, two(1.2 * x[:, :10] @ np.array([1, -1] * 5)), rng)


def near_rows(n: int, rng: Rng, size: int = 8) -> Sample:
    """Groups of near rows that share one label, which follows the group's place only weakly: new rows come in new groups."""
    count = -(-n // size)
    centre = rng.standard_normal((count, 10))
    p = two(0.9 * centre[:, 0])
    label = (rng.random(count) < p[:, 1]).astype(int)
    group = np.repeat(np.arange(count), size)[:n]
    x = centre[group] + 0.05 * rng.standard_normal((n, 10))
    return Sample(x, label[group], Ideal(classes=p[group]), group)


def thrice(n: int, rng: Rng, copies: int) -> Sample:
    """Rows that are there several times, label and all, as exports and joins leave them; a quarter of the labels is wrong."""
    once = ring(n // copies, rng, 0.25)
    assert once.ideal is not None
    assert once.ideal.classes is not None
    rows = np.repeat(np.arange(n // copies), copies)
    return Sample(np.asarray(once.x)[rows], once.y[rows], Ideal(classes=once.ideal.classes[rows]))


def odd_units(n: int, rng: Rng) -> Sample:
    """Columns at offsets of 10⁶ with a spread of one, in units of 10⁻⁹, constant, doubled, and a counter of rows."""
    z = rng.standard_normal((n, 4))
    x = np.stack([1e6 + z[:, 0], 1e-9 * z[:, 1], 1e9 * z[:, 2], 273.15 + 1e-3 * z[:, 3], np.full(n, 7.0)], 1)
    x = np.column_stack([x, x[:, 0], np.arange(n)])
    return classed(x, two(2 * z[:, 0] + 2 * z[:, 1] * z[:, 2]), rng)


def pure_noise(n: int, rng: Rng, share: float = 0.5) -> Sample:
    return classed(rng.standard_normal((n, 10)), np.tile([1 - share, share], (n, 1)), rng)


# -- tables of numbers -------------------------------------------------------------------------------------------------


def poisson(n: int, rng: Rng) -> Sample:
    x = rng.standard_normal((n, 6))
    rate = np.exp(0.8 + 0.5 * x[:, 0] - 0.4 * x[:, 1] + 0.3 * x[:, 2] * x[:, 3])
    return Sample(x, rng.poisson(rate).astype(float), Ideal(mean=rate, variance=rate))


def prices(n: int, rng: Rng) -> Sample:
    """Prices of houses with log-normal noise of 25 %; words, years and areas."""
    area, rooms = rng.lognormal(4.5, 0.4, n), rng.integers(1, 8, n)
    place, year = rng.integers(0, 5, n), rng.integers(1900, 2025, n)
    worth = np.array([0.0, 0.3, -0.4, 0.6, 0.1])[place] + 0.004 * np.abs(year - 1955) * (place < 2)
    log_mean = 7.5 + 0.9 * np.log(area) + 0.05 * rooms + worth
    mean = np.exp(log_mean + 0.25**2 / 2)
    frame = pd.DataFrame({"area": area.round(1), "rooms": rooms, "place": np.array(list("NESWC"))[place], "year": year})
    variance = mean**2 * np.expm1(0.25**2)
    return Sample(frame, np.exp(log_mean + 0.25 * rng.standard_normal(n)), Ideal(mean=mean, variance=variance))


def friedman(n: int, rng: Rng, noise: float) -> Sample:
    """Friedman's first function (1991) of ten columns, of which five matter."""
    x = rng.random((n, 10))
    mean = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return numbers(x, mean, noise, rng)


def additive(n: int, rng: Rng, noise: float) -> Sample:
    x = rng.standard_normal((n, 8))
    return numbers(x, np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] ** 2 + np.tanh(3 * x[:, 2]) + 0.5 * x[:, 3], noise, rng)


def dense_line(n: int, rng: Rng) -> Sample:
    """500 columns that all matter a little."""
    w = np.random.default_rng(7).standard_normal(500) / 500**0.5
    x = rng.standard_normal((n, 500))
    return numbers(x, x @ w, 0.3, rng)


def heavy_tails(n: int, rng: Rng) -> Sample:
    """Noise of Student's t with five degrees of freedom, whose spread grows with a column."""
    x = rng.standard_normal((n, 5))
    mean, scale = 2 * x[:, 0] - x[:, 1] * x[:, 2], 0.5 * np.exp(0.4 * x[:, 3])
    y = mean + scale * rng.standard_t(5, n)
    return Sample(x, y, Ideal(mean=mean, variance=5 / 3 * scale**2))


def products(n: int, rng: Rng) -> Sample:
    x = rng.standard_normal((n, 10))
    return numbers(x, x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3] * (x[:, 4] > 0) + 0.5 * x[:, 5], 0.5, rng)


def tiny_target(n: int, rng: Rng) -> Sample:
    """A target of some 10⁻⁹ around 10⁻⁶, of columns at an offset of 10⁵."""
    z = rng.standard_normal((n, 5))
    return numbers(1e5 + z, 1e-6 + 1e-9 * (z[:, 0] + z[:, 1] ** 2), 3e-10, rng)


def nothing_but_numbers(n: int, rng: Rng) -> Sample:
    return numbers(rng.standard_normal((n, 8)), np.full(n, 3.0), 2.0, rng)


# -- words, images, series ---------------------------------------------------------------------------------------------


def word_counts(n: int, rng: Rng, words: int, noise: float, sparse: bool) -> Sample:
    """Counts of words in three kinds of text; the posterior is that of the multinomial law they come from."""
    own = np.random.default_rng(11)
    base = own.dirichlet(np.full(words, 0.3))
    tilt = np.exp(0.6 * own.standard_normal((3, words)))
    law = base * tilt / (base * tilt).sum(1, keepdims=True)
    label, length = rng.integers(0, 3, n), 5 + rng.poisson(25, n)
    x = np.stack([rng.multinomial(m, law[k]) for m, k in zip(length, label, strict=True)]).astype(float)
    logs = x @ np.log(law).T
    p = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    return relabelled(csr_matrix(x) if sparse else x, p, noise, rng)


def matched(x: Array, templates: Array, owner: NDArray[np.int64], k: int, sd: float) -> Array:
    """Probabilities of classes, each a set of equally likely templates (t, d) under white noise."""
    flat = x.reshape(len(x), -1)
    logs = (flat @ templates.T - (templates**2).sum(1) / 2) / sd**2
    found = np.stack([logsumexp(logs[:, owner == c], axis=1) - np.log((owner == c).sum()) for c in range(k)], 1)
    return np.exp(found - logsumexp(found, axis=1, keepdims=True))


_SHAPES = (
    ["....#....", "....#....", "#########"],  # an upside-down T
    ["#########", "#.......#", "#########"],
    ["#.......#", ".###.###.", "#.......#"],
    ["#########", "....#....", "....#...."],
)


def stamps(side: int) -> list[Array]:
    """Four small shapes of about half the side."""
    size = side // 2
    found = []
    for lines in _SHAPES:
        plain = np.array([[c == "#" for c in line] for line in lines], dtype=float)
        rows = np.linspace(0, 2, size).round().astype(int)
        columns = np.linspace(0, 8, size).round().astype(int)
        found.append(plain[rows][:, columns])
    return found


def shapes(n: int, rng: Rng, side: int, colour: bool, sd: float, noise: float = 0.0) -> Sample:
    """One of four shapes at a random place (and in one of six colours) under noise; images (n, channels, side, side)."""
    colours = (
        np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1]]) if colour else np.ones((1, 1))
    )
    made, owner = [], []
    for kind, stamp in enumerate(stamps(side)):
        room = side - stamp.shape[0] + 1
        for top in range(room):
            for left in range(room):
                plain = np.zeros((side, side))
                plain[top : top + stamp.shape[0], left : left + stamp.shape[1]] = stamp
                made += [(c[:, None, None] * plain).ravel() for c in colours]
                owner += [kind] * len(colours)
    templates, owners = np.array(made), np.array(owner)
    x = templates[rng.integers(0, len(templates), n)] + sd * rng.standard_normal((n, templates.shape[1]))
    p = np.concatenate([matched(part, templates, owners, 4, sd) for part in np.array_split(x, max(1, n // 5_000))])
    return relabelled(x.reshape(n, -1, side, side), p, noise, rng)


def waves(n: int, rng: Rng) -> Sample:
    """Series (n, 3, 96): one of three channels carries a wave of either of two lengths at a random phase."""
    time = np.arange(96) / 96
    made = np.zeros((2, 3, 32, 3, 96))
    for kind, cycles in enumerate((5, 7)):
        for channel in range(3):
            for phase in range(32):
                made[kind, channel, phase, channel] = np.sin(2 * np.pi * (cycles * time + phase / 32))
    templates, owner = made.reshape(192, -1), np.repeat([0, 1], 96)
    x = templates[rng.integers(0, 192, n)] + 1.2 * rng.standard_normal((n, 288))
    return relabelled(x.reshape(n, 3, 96), matched(x, templates, owner, 2, 1.2), 0.0, rng)


def digits(n: int, rng: Rng) -> Sample:
    """The digits of scikit-learn, 1,438 to train on and 359 to test on; nobody knows the best possible error."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    rows = order[:1438] if n == 1438 else order[1438:]
    return Sample(x[rows].reshape(-1, 8, 8), y[rows])


def _numbers(make: Callable[[int, Rng], Sample], n: int, learnable: bool = True) -> Problem:
    return Problem(make, n, task="regression", learnable=learnable)


PROBLEMS: dict[str, Problem] = {
    "churn": Problem(churn, 1_500),
    "churn with a leak": Problem(partial(churn, leak=True), 1_500),
    "rare 10 %": Problem(partial(rare, share=0.10), 3_000),
    "rare 5 %": Problem(partial(rare, share=0.05), 3_000),
    "rare 3 %": Problem(partial(rare, share=0.03), 3_000),
    "rare 1 %": Problem(partial(rare, share=0.01), 10_000, 50_000),
    "rare box 3 %": Problem(rare_box, 4_000),
    "noise 10 %": Problem(partial(ring, noise=0.1), 800),
    "noise 20 %": Problem(partial(ring, noise=0.2), 800),
    "noise 30 %": Problem(partial(ring, noise=0.3), 1_000),
    "noise 40 %": Problem(partial(ring, noise=0.4), 2_000),
    "noise 20 %, four classes": Problem(noisy_blobs, 5_000),
    "grades": Problem(grades, 1_000),
    "parity of 3 in 10": Problem(partial(parity, bits=3, of=10, noise=0.05), 2_000),
    "parity of 5 in 12": Problem(partial(parity, bits=5, of=12, noise=0.05), 3_000),
    "checkerboard": Problem(checkerboard, 1_500),
    "60,000 rows of interactions": Problem(interactions, 60_000),
    "50,000 rows, rare 5 %": Problem(partial(rare, share=0.05, columns=12), 50_000),
    "100,000 rows": Problem(additive_classes, 100_000),
    "500 columns": Problem(wide, 1_000),
    "groups of near rows": Problem(near_rows, 240, alike=8),
    "rows three times": Problem(partial(thrice, copies=3), 900, 60_000, alike=3),
    "odd units": Problem(odd_units, 1_200),
    "two clear groups": Problem(partial(gaussians, k=2, columns=2, gap=3.0), 400),
    "60 rows": Problem(partial(gaussians, k=2, columns=5, gap=0.6), 60),
    "200 rows, 30 columns": Problem(partial(gaussians, k=3, columns=30, gap=0.4), 200),
    "26 classes": Problem(partial(gaussians, k=26, columns=16, gap=0.8, seed=26), 2_600),
    "60 classes in words": Problem(partial(gaussians, k=60, columns=20, gap=0.9, words=True, seed=60), 1_200),
    "noise, two classes": Problem(pure_noise, 500, learnable=False),
    "noise, one in five": Problem(partial(pure_noise, share=0.2), 1_000, learnable=False),
    "counts": _numbers(poisson, 1_500),
    "prices": _numbers(prices, 2_000),
    "smooth, little noise": _numbers(partial(friedman, noise=1.0), 500),
    "smooth, much noise": _numbers(partial(additive, noise=4.0), 1_000),
    "smooth, nearly exact": _numbers(partial(friedman, noise=0.01), 1_000),
    "heavy tails": _numbers(heavy_tails, 1_500),
    "500 columns, numbers": _numbers(dense_line, 800),
    "20,000 rows of products": _numbers(products, 20_000),
    "tiny target": _numbers(tiny_target, 600),
    "100 rows, numbers": _numbers(partial(friedman, noise=1.0), 100),
    "noise, numbers": _numbers(nothing_but_numbers, 400, learnable=False),
    "words": Problem(partial(word_counts, words=94, noise=0.1, sparse=False), 2_000),
    "sparse words": Problem(partial(word_counts, words=2_000, noise=0.0, sparse=True), 1_500, 5_000),
    "shapes 8 × 8": Problem(partial(shapes, side=8, colour=False, sd=0.6), 1_000, 5_000),
    "colour shapes 16 × 16": Problem(partial(shapes, side=16, colour=True, sd=0.8, noise=0.1), 1_200, 5_000),
    "digits": Problem(digits, 1_438, 359),
    "series": Problem(waves, 900, 5_000),
}
