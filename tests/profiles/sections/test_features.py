"""The profile tells what features gain, which columns count by name, and what networks may expect."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import priorscope as ps
from priorscope.probes import gradient_outer_product
from priorscope.profiles import Metric
from priorscope.profiles.sections._features import Features


@pytest.fixture(scope="module")
def report():
    X = np.random.default_rng(0).normal(size=(160, 6))
    frame = pd.DataFrame(X, columns=["age", "height", "weight", "income", "rooms", "noise"])
    return ps.profile(frame, np.sin(3 * X[:, 2]) + 0.2 * X[:, 4], deep=False, trials=False, classical=False)


def test_the_row_with_features_is_ahead_where_two_columns_of_six_count(report):
    by_name = {row.name: row for row in report.rows}
    assert by_name["laplace + features"].estimate.high < by_name["laplace"].estimate.low
    assert by_name["laplace + features"].architecture == "laplace"


def test_the_sentence_names_the_columns(report):
    found = report.findings["features"]
    assert found.helps
    first = found.sentences()[0]
    assert first.startswith("Learning features lowers the squared error of the Laplace kernel by ")
    assert "the relevant directions are these: weight (" in first
    assert found.importances()[0][0] == "weight"
    assert any("should be expected to beat its kernel" in line for line in found.sentences())
    assert found.held_out[2] < found.held_out[1]


def test_json_page_and_what_is_built(report, tmp_path):
    told = json.loads(report.to_json())["sections"]["features"]
    assert told["helps"] is True
    assert next(iter(told["importances"])) == "weight"
    report.to_html(tmp_path / "page.html")
    assert "Which directions count" in (tmp_path / "page.html").read_text()
    members = dict(report.build("kernel").members)
    assert members["laplace + features"].get_params()["features"] == "learn"


def test_noise_says_so():
    rng = np.random.default_rng(1)
    rep = ps.profile(rng.normal(size=(60, 3)), rng.normal(size=60), deep=False, trials=False, classical=False)
    found = rep.findings["features"]
    assert not found.helps
    assert found.spoken() == []
    assert "does not lower the error" in found.sentences()[0]
    assert "little to gain" in found.sentences()[-1]


def test_a_lower_squared_error_alone_is_not_called_help():
    import torch

    M = gradient_outer_product(torch.nn.Linear(2, 1), torch.randn(5, 2))
    both = Features(0.2, 300, False, M, ("a", "b"), (225, 0.035, 0.053), (0, 6), Metric.MISCLASSIFICATION, True)
    first, *_, last = both.sentences()
    assert "by 20 % here" in first
    assert "but not its misclassification rate when trained on 225 (3.5 % without, 5.3 % with)" in first
    assert "Of 6 networks trained on the pilot 0 did better" in last


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
