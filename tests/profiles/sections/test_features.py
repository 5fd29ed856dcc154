"""The profile tells what features gain, which columns count by name, and what networks may expect."""

from __future__ import annotations

import dataclasses
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
    dense = [row for name, row in by_name.items() if name.startswith("fcn") and name.endswith(" + features")]
    assert len(dense) == 1  # the tangent kernel that leads, and one kernel of the distance
    assert dense[0].estimate.value < by_name[dense[0].architecture].estimate.value
    assert "gaussian + features" not in by_name


def test_the_sentence_names_the_columns(report):
    found = report.findings["features"]
    assert found.helps
    first = found.sentences()[0]
    rows = {row.name: row.estimate.value for row in report.rows}
    assert rows[f"{found.kernel} + features"] < rows[found.kernel]
    assert first.startswith("Learning features lowers the squared error of ")
    assert {name for name, _ in found.tried} >= {"laplace", "gaussian", found.kernel}
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
    assert not any(row.name.endswith("+ features") for row in rep.rows)
    assert "does not lower the error" in found.sentences()[0]
    assert "little to gain" in found.sentences()[-1]


def test_a_lower_squared_error_alone_is_not_called_help():
    import torch

    M = gradient_outer_product(torch.nn.Linear(2, 1), torch.randn(5, 2))
    tried = (("laplace", 0.2), ("gaussian", 0.1))
    both = Features(
        "laplace",
        0.2,
        300,
        False,
        M,
        ("a", "b"),
        (225, 0.035, 0.053),
        True,
        (0, 6),
        Metric.MISCLASSIFICATION,
        True,
        tried,
    )
    first, *_, last = both.sentences()
    assert "of the Laplace kernel by 20 % here (left-out rows of 300 samples; of gaussian by 10 %)" in first
    assert "but not its misclassification rate when trained on 225 (3.5 % without, 5.3 % with)" in first
    assert "Of 6 networks trained on the pilot 0 did better" in last
    helps = dataclasses.replace(both, helps=True)
    assert "yet none of the 6 trained on the pilot did better" in helps.sentences()[-1]
    assert "should be expected" in dataclasses.replace(helps, networks=(2, 6)).sentences()[-1]
    left = dataclasses.replace(both, trained=False, held_out=(300, 0.027, 0.04))
    assert left.sentences()[0].endswith("but not its misclassification rate (2.7 % without, 4.0 % with).")


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
