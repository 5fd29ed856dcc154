"""Does a profile of a pilot name the predictor that is best at four times the data, and how wrong it will be?"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from torch import nn

from priorscope.contracts import Shape
from priorscope.data import Dataset, Split
from priorscope.lab import Claim, Metrics, Paper, Point, above, at_least, at_most
from priorscope.models import (
    Activation,
    Architecture,
    Invariant,
    from_factory,
    lstm_network,
    normalised_network,
    transformer_network,
)
from priorscope.profiles import Kind, Metric, NetworkRecipe, Profile, Row, profile
from priorscope.sklearn import balanced_classes
from priorscope.validation.profile_validity._problems import DEVELOPMENT, HELD_OUT, draw
from priorscope.validation.profile_validity._reference import (
    RATES,
    RATES_OF_MODULES,
    Factory,
    best_training,
    naswot,
    predictions,
    synflow,
)
from priorscope.validation.profile_validity._validity_measures import (
    apart,
    built_right,
    chart,
    coverage,
    excess_of_pick,
    modules_in_order,
    network_right,
    picks_against,
)

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["PAPER"]

Array = NDArray[np.float64]
SOURCE = "priorscope, profile"
MULTIPLE = 4  # predictors are judged at this many times the pilot
SIZES: dict[
    str, dict[str, int]
] = {  # pilot, side of images, test samples of tables and of images, networks of each kind
    "tiny": {"pilot": 40, "side": 5, "tested": 200, "tested_images": 100, "members": 1},
    "small": {"pilot": 200, "side": 6, "tested": 1500, "tested_images": 800, "members": 5},
    "paper": {"pilot": 300, "side": 8, "tested": 3000, "tested_images": 2000, "members": 5},
}
FEWER = 2  # networks of each user module
Maker = Callable[[Shape, int], nn.Module]  # by shape of the inputs and number of outputs
MODULES: dict[str, Maker] = {
    "normalised_network": normalised_network,
    "transformer_network": transformer_network,
    "lstm_network": lstm_network,
}


def grid(scale: str) -> list[Point]:
    """One point per problem, images first, then one per problem of images for modules of the user.

    The smallest scale takes problems that the profile was developed on.
    """
    problems = HELD_OUT | DEVELOPMENT
    names = ["dev product by place", "dev banana"] if scale == "tiny" else list(HELD_OUT)
    size = dict(SIZES[scale])
    tested = {True: size.pop("tested_images"), False: size.pop("tested")}
    points: list[Point] = [
        {"problem": name, "of": "table", "seed": 0, "n_test": tested[problems[name].image], **size} for name in names
    ]
    images = [p for p in points if problems[p["problem"]].image]
    return [*points, *({**p, "of": "modules", "members": min(FEWER, p["members"])} for p in images)]


class Test:
    """The test samples of a problem in two halves, on one of which the best is named and on the other judged."""

    __test__ = False  # no test of pytest's

    def __init__(self, data: Dataset, metric: Metric) -> None:
        self.targets, self.metric = data.test.targets.double().numpy(), metric
        self.labels = None if data.test_labels is None else data.test_labels.numpy()
        self.shares: Array | None = None
        if data.train_labels is not None:
            self.shares = np.bincount(data.train_labels.numpy(), minlength=max(data.n_outputs, 2)) / len(data.train)
        rows = np.random.default_rng(0).permutation(len(self.targets))
        self.halves = (np.sort(rows[::2]), np.sort(rows[1::2]))

    def _error(self, guess: Array, rows: NDArray[np.int64]) -> float:
        if self.labels is None:
            return float(np.sqrt(np.mean((guess[rows] - self.targets[rows, 0]) ** 2)))
        wrong, labels = guess[rows] != self.labels[rows], self.labels[rows]
        if self.metric is Metric.BALANCED_ERROR:
            return float(np.mean([wrong[labels == c].mean() for c in np.unique(labels)]))
        return float(wrong.mean())

    def errors(self, guess: Array) -> tuple[float, float, float]:
        """The metric on the two halves and on all test samples, of predicted labels or numbers."""
        every = np.arange(len(self.targets))
        return self._error(guess, self.halves[0]), self._error(guess, self.halves[1]), self._error(guess, every)

    def of_outputs(self, outputs: Array) -> tuple[float, float, float]:
        """The same of networks' outputs (members, n, outputs), the mean over members."""
        if self.labels is None:
            guesses = outputs[..., 0]
        elif self.metric is Metric.BALANCED_ERROR and self.shares is not None:
            coded = np.concatenate([-outputs, outputs], -1) / 2 if outputs.shape[-1] == 1 else outputs
            p = coded + 1 / coded.shape[-1]  # outputs as probabilities, from the coding of the targets
            guesses = np.stack([balanced_classes(member, self.shares) for member in p])
        else:
            guesses = (outputs[..., 0] > 0).astype(int) if outputs.shape[-1] == 1 else outputs.argmax(-1)
        return tuple(np.mean([self.errors(g) for g in guesses], 0).tolist())


def _plain(data: Dataset) -> tuple[Array, Array]:
    """Training rows and labels or numbers, as an estimator of scikit-learn takes them."""
    y = data.targets[:, 0].double().numpy() if data.train_labels is None else data.train_labels.numpy()
    return data.inputs.flatten(1).double().numpy(), y


def _fitted(model: BaseEstimator, data: Dataset, test: Test) -> tuple[float, float, float]:
    x, y = _plain(data)
    model.fit(x, y)
    guess = model.predict(data.test.inputs.flatten(1).double().numpy())
    return test.errors(np.asarray(guess))


def _factory(row: Row, shape: tuple[int, ...], outputs: int) -> tuple[Factory, int]:
    """Networks of a row by seed, at the width it was forecast for, and the number of its hidden layers."""
    assert isinstance(row.recipe, NetworkRecipe)
    assert row.recipe.candidate is not None
    width = row.recipe.width or 1
    model = row.recipe.candidate.model
    assert isinstance(model, Architecture | Invariant)
    plain = model.model if isinstance(model, Invariant) else model
    assert isinstance(plain, Architecture)

    def make(seed: int) -> nn.Module:
        return model.network(shape, width=width, outputs=outputs, seed=seed)

    return make, max(sum(isinstance(layer, Activation) for layer in plain.layers), 1)


def _trained(
    make: Factory, rates: tuple[float, ...], data: Dataset, test: Test, members: int, *, centre: bool
) -> tuple[float, float, float]:
    """Test errors of networks trained on all samples for as long as did best on a fifth of them.

    Numbers to be predicted have mean 0 and variance 1 for the networks, as in a profile, and errors are in their unit.
    """
    x, y = data.inputs.float(), data.targets.float()
    mean, scale = torch.zeros(1), torch.ones(1)
    if data.train_labels is None:
        mean, scale = y.mean(0), y.std(0, correction=0)
    y = (y - mean) / scale
    rate, steps = best_training(make, x, y, rates, centre=centre)
    found = predictions(make, x, y, data.test.inputs.float(), rate, steps, members, centre=centre)
    return test.of_outputs(mean.double().numpy() + scale.double().numpy() * found)


def _row_trained(row: Row, data: Dataset, test: Test, members: int) -> tuple[float, float, float]:
    """Test errors of networks of a row; rates are over the number of hidden layers, whose effects add up."""
    make, depth = _factory(row, data.input_shape, data.n_outputs)
    return _trained(make, tuple(r / depth for r in RATES), data, test, members, centre=True)


def _proxies(rows: list[Row], pilot: Tensor) -> dict[str, str]:
    """The network each proxy would take, looking at 64 samples of the pilot or at none; empty names without networks."""
    if not rows:
        return {"naswot": "", "synflow": ""}
    scores: dict[str, list[float]] = {"naswot": [], "synflow": []}
    for row in rows:
        make, _ = _factory(row, tuple(pilot.shape[1:]), 1)
        scores["naswot"].append(naswot(make(0), pilot[:64].float()))
        scores["synflow"].append(synflow(make(0), tuple(pilot.shape[1:])))
    return {name: rows[int(np.argmax(values))].name for name, values in scores.items()}


def _columns(report: Profile) -> Point:
    """What the profile says of every row."""
    rows = report.rows
    return {
        "rows": [r.name for r in rows],
        "kinds": [r.kind.value for r in rows],
        "estimate": [r.estimate.value for r in rows],
        "low": [r.estimate.low for r in rows],
        "high": [r.estimate.high for r in rows],
        "worse": [bool(r.standing.clearly_behind) for r in rows],
        "measured": [r.now[1].value for r in rows],
        "metric": report.metric.value,
    }


def run(point: Point) -> Metrics:
    """Profile a pilot, then fit every predictor of its table to four times as much."""
    return _of_modules(point) if point["of"] == "modules" else _of_table(point)


def _of_modules(point: Point) -> Metrics:
    """Profile modules of the user alone, then train each on four times the pilot."""
    data, seen, labels = _pilot(point)
    n = len(data.train)
    began = clock.process_time()
    report = profile(
        seen.inputs,
        _given(seen.targets, labels),
        to=n,
        pilot=point["pilot"],
        deep=False,
        candidates=list(MODULES.values()),
        seed=point["seed"],
    )
    seconds = clock.process_time() - began
    test = Test(data, report.metric)

    def factory(maker: Maker) -> Factory:
        return lambda seed: from_factory(maker, data.input_shape, data.n_outputs, seed)

    found = [
        _trained(factory(MODULES[row.name]), RATES_OF_MODULES, data, test, point["members"], centre=False)
        for row in report.rows
    ]
    halves = dict(zip(("first_half", "second_half", "error"), (list(v) for v in zip(*found, strict=True)), strict=True))
    return {**_columns(report), **halves, "n": n, "tested": len(data.test), "profile_seconds": seconds}


def _pilot(point: Point) -> tuple[Dataset, Split, Tensor | None]:
    """The problem drawn, the part of it that a profile sees, and the labels of that part."""
    data = draw(point["problem"], MULTIPLE * point["pilot"], point["n_test"], point["side"])
    labels = None if data.train_labels is None else data.train_labels[: point["pilot"]]
    return data, data.train.take(torch.arange(point["pilot"])), labels


def _of_table(point: Point) -> Metrics:
    """Profile a pilot, then fit every predictor of its table, and what it builds, to four times as much."""
    name, pilot = point["problem"], point["pilot"]
    data, seen, labels = _pilot(point)
    n = len(data.train)
    began = clock.process_time()
    report = profile(seen.inputs, _given(seen.targets, labels), to=n, pilot=pilot, deep=False, seed=point["seed"])
    seconds = clock.process_time() - began
    test = Test(data, report.metric)
    out: Point = {**_columns(report), "n": n, "tested": len(data.test), "profile_seconds": seconds}
    began = clock.process_time()
    found = [
        _row_trained(row, data, test, point["members"])
        if row.kind is Kind.NETWORK
        else _fitted(report.estimator(row.name), data, test)
        for row in report.rows
    ]
    out["first_half"], out["second_half"], out["error"] = (list(v) for v in zip(*found, strict=True))
    out["fit_seconds"] = clock.process_time() - began
    began = clock.process_time()
    built = report.build()
    out["built"] = list(_fitted(built, data, test))
    out["built_seconds"] = clock.process_time() - began
    out["chosen"] = built.report_.chosen
    networks = [row for row in report.rows if row.kind is Kind.NETWORK]
    began = clock.process_time()
    out |= _proxies(networks, seen.inputs)
    out["proxy_seconds"] = clock.process_time() - began
    lowest = int(np.argmin(out["measured"]))  # of all rows, on samples of the pilot that took no part
    problem = (HELD_OUT | DEVELOPMENT)[name]
    return out | {
        "k-fold": out["rows"][lowest],
        "boosting": "boosted trees",
        "real": problem.real,
        "known": problem.known,
    }


def _given(targets: Tensor, labels: Tensor | None) -> Array:
    return targets[:, 0].double().numpy() if labels is None else labels.numpy()


PAPER = Paper(
    name="profile-validity",
    title="What a profile of a pilot recommends, against every predictor at four times the data",
    source=SOURCE,
    version=9,
    grid=grid,
    run=run,
    claims=(
        Claim(
            id="V.1a",
            source=SOURCE,
            says="on problems not used while building it, the predictor recommended from the pilot has, fitted to 4 times the "
            "pilot, a mean excess of at most 10 % over the best of all predictors in the table",
            measure=excess_of_pick,
            expect=at_most(0.1),
        ),
        Claim(
            id="V.1b",
            source=SOURCE,
            says="what the profile builds, fitted to 4 times the pilot, is within 10 % of the best of all predictors in the "
            "table on at least 85 % of problems",
            measure=built_right,
            expect=at_least(0.85),
        ),
        Claim(
            id="V.2",
            source=SOURCE,
            says="the network recommended from the pilot is within 10 % of the best network in the table, trained on 4 times the "
            "pilot, on at least 85 % of problems",
            measure=network_right,
            expect=at_least(0.85),
        ),
        Claim(
            id="V.3a",
            source=SOURCE,
            says="90 % intervals of kernel machines cover their error at 4 times the pilot in 85 % of cases or more",
            measure=coverage(Kind.KERNEL.value),
            expect=at_least(0.85),
        ),
        Claim(
            id="V.3b",
            source=SOURCE,
            says="90 % intervals of networks cover their error at 4 times the pilot in 85 % of cases or more",
            measure=coverage(Kind.NETWORK.value),
            expect=at_least(0.85),
        ),
        Claim(
            id="V.3c",
            source=SOURCE,
            says="90 % intervals of classical models cover their error at 4 times the pilot in 85 % of cases or more",
            measure=coverage(Kind.CLASSICAL.value),
            expect=at_least(0.85),
        ),
        Claim(
            id="V.4",
            source=SOURCE,
            says="predictors that the profile calls worse than its pick have larger errors than the pick at 4 times the pilot",
            measure=apart,
            expect=at_least(0.9),
        ),
        Claim(
            id="V.5a",
            source=SOURCE,
            says="the recommended predictor is right (within 10 % of the best) on more problems than the one with the lowest "
            "error on the pilot itself",
            measure=picks_against("k-fold"),
            expect=above(0.0),
        ),
        Claim(
            id="V.5b",
            source=SOURCE,
            says="the recommended predictor is right on more problems than boosted trees",
            measure=picks_against("boosting"),
            expect=above(0.0),
        ),
        Claim(
            id="V.5c",
            source=SOURCE,
            says="the recommended network is right on more problems than the one that NASWOT takes",
            measure=picks_against("naswot", networks=True),
            expect=above(0.0),
        ),
        Claim(
            id="V.5d",
            source=SOURCE,
            says="the recommended network is right on more problems than the one that synflow takes",
            measure=picks_against("synflow", networks=True),
            expect=above(0.0),
        ),
        Claim(
            id="V.6",
            source=SOURCE,
            says="of modules of the user's own (batch normalisation, a transformer, an LSTM) that the profile calls worse than "
            "the one it puts first, at least 80 % have larger errors at 4 times the pilot",
            measure=modules_in_order,
            expect=at_least(0.8),
        ),
    ),
    chart=chart,
)
