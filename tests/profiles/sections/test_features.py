"""The profile tells what features gain, which columns count by name, and how the best network stands beside the kernel."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import torch

import priorscope as ps
from priorscope.judge import METRICS
from priorscope.probes import gradient_outer_product
from priorscope.profiles import Paired
from priorscope.profiles._scene import Scene
from priorscope.profiles.sections._features import FEATURES, Features
from priorscope.sklearn import KernelMachine


@pytest.fixture(scope="module")
def report():
    X = np.random.default_rng(0).normal(size=(160, 6))
    frame = pd.DataFrame(X, columns=["age", "height", "weight", "income", "rooms", "noise"])
    machine = KernelMachine("laplace", features="learn", task="regression")
    learnt = ps.profiles.Contender("laplace + features", "", ps.profiles.Kind.KERNEL, machine)
    y = np.sin(3 * X[:, 2]) + 0.2 * X[:, 4]
    return ps.profile(frame, y, candidates=["laplace", learnt], deep=False, budget=10)


def test_the_column_that_counts_is_named_and_the_rows_are_compared(report):
    found = FEATURES.measure(Scene.of(report.race, report.rows, 160, None))
    assert found.helps
    without, learnt = (report.row(name).now[1].value for name in ("laplace", "laplace + features"))
    assert (found.raced.before, found.raced.after) == pytest.approx((without, learnt))
    assert found.importances()[0][0] == "weight"
    assert found.spoken() == found.sentences()[:1]
    assert found.sentences()[0].startswith("Learning features lowers the error of the Laplace kernel (")
    assert "; these count: weight (" in found.sentences()[0]
    assert next(iter(json.loads(json.dumps(found.plain()))["importances"])) == "weight"


def test_the_error_of_a_difference_is_that_of_its_rows(report):
    """Two folds by hand: influences of both rows on the same test rows, added up."""
    race = report.race
    pair = Scene.of(race, report.rows, 40, None).paired("laplace", "laplace + features")
    a, b = (race.records[name] for name in ("laplace", "laplace + features"))
    top = race.ladder.top
    each = [a.trials[top][k].measured.influence - b.trials[top][k].measured.influence for k in a.folds(top)]
    assert pair.noise == pytest.approx(np.sqrt((np.concatenate(each) ** 2).sum()) / 160)
    assert pair.n == race.ladder.sizes[-1]


def test_noise_says_so():
    rng = np.random.default_rng(1)
    rep = ps.profile(rng.normal(size=(60, 3)), rng.normal(size=60), candidates=["laplace"], deep=False, budget=2)
    found = FEATURES.measure(Scene.of(rep.race, rep.rows, 60, None))
    assert not found.helps
    assert found.spoken() == []
    assert "not at all" in found.sentences()[0]


@pytest.mark.parametrize(
    ("raced", "helps", "words"),
    [
        (Paired(225, 0.035, 0.02, 0.002), True, "lowers the error of the Laplace kernel (3.5 % without, 2.0 % with, at 225 "),
        (Paired(225, 0.035, 0.053, 0.002), False, "raises the error of the Laplace kernel"),
        (Paired(225, 0.035, 0.034, 0.002), False, "does not change the error of the Laplace kernel by what can be told"),
        (None, True, "lowers the left-out squared error of the Laplace kernel by 20 % (300 samples)"),
    ],
)  # fmt: skip
def test_what_was_raced_counts_before_the_squared_error(raced, helps, words):
    M = gradient_outer_product(torch.nn.Linear(2, 1), torch.randn(5, 2))
    network = ("dense network", Paired(225, 0.035, 0.02, 0.002))
    one = Features("laplace", 0.2, 300, M, ("a", "b"), raced, network, METRICS["misclassification"])
    assert one.helps is helps
    assert words in one.sentences()[0]
    assert "dense network did better than the kernel machine of laplace (2.0 % and 3.5 %)" in one.sentences()[-1]


def test_columns_keep_their_names(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "kind": ["x", "y", "x", "y"], "y": [0.1, 0.2, 0.3, 0.5]})
    frame.to_csv(tmp_path / "table.csv", index=False)
    for data in (
        ps.data.as_dataset(frame, target="y"),
        ps.data.as_dataset(frame[["a", "kind"]], frame["y"].to_numpy()),
        ps.data.load(tmp_path / "table.csv", target="y"),
    ):
        assert data.columns == ("a", "kind=x", "kind=y")
        assert data.standardised().take(data.inputs[:, 0].argsort()).columns == data.columns
