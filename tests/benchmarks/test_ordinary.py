"""The ordinary problems are what they say: labels follow the ideal, so that the least possible error is the one named."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
try:
    problems = importlib.import_module("_ordinary_problems")
    references = importlib.import_module("_references")
    ordinary = importlib.import_module("ordinary")
finally:
    sys.path.remove(str(ROOT / "benchmarks"))

KNOWN = {name: p for name, p in problems.PROBLEMS.items() if name != "digits"}


def few(name, seed=0):
    return KNOWN[name].make(24_000 if name.startswith("rare") else 2_400, np.random.default_rng(seed))


@pytest.mark.parametrize("name", KNOWN)
def test_targets_follow_what_is_called_ideal(name):
    sample, alike = few(name), KNOWN[name].alike
    ideal = sample.ideal
    if ideal.classes is None:
        z = (sample.y - ideal.mean) / np.sqrt(ideal.variance)
        noise = (alike / len(z)) ** 0.5
        assert abs(z.mean()) < 4.5 * noise
        if name != "heavy tails":  # whose squares have no variance
            assert abs((z**2).mean() - 1) < 4.5 * z.var() * ((z**4).mean() / len(z)) ** 0.5
        if KNOWN[name].learnable:  # control: the means of other rows are not theirs
            other = (sample.y - np.roll(ideal.mean, 41)) ** 2 / ideal.variance
            assert other.mean() - 1 > 4.5 * other.std() / len(z) ** 0.5
        return
    p = ideal.classes
    np.testing.assert_allclose(p.sum(1), 1, atol=1e-9)
    label = np.searchsorted(np.unique(sample.y), sample.y)
    assert p.shape[1] == len(np.unique(sample.y))
    right = p[np.arange(len(p)), label] - (p**2).sum(1)  # mean 0 if labels are drawn from p
    noise = max(right.std(), 1e-12) * (alike / len(p)) ** 0.5
    assert abs(right.mean()) <= 4.5 * noise + 1e-12
    if KNOWN[name].learnable:  # control: with labels of other rows it is not
        other = p[np.arange(len(p)), np.roll(label, 41 * alike)] - (p**2).sum(1)
        assert other.mean() < -4.5 * other.std() * (alike / len(p)) ** 0.5


def test_the_floor_of_two_gaussians_is_the_closed_form():
    sample = problems.rare(200_000, np.random.default_rng(0), share=0.5, gain=1.0)
    exact = NormalDist().cdf(-(5**0.5) / 2)
    assert sample.ideal.floor("misclassification") == pytest.approx(exact, abs=0.002)
    rare = problems.rare(400_000, np.random.default_rng(0), share=0.05)
    assert rare.ideal.floor("balanced") == pytest.approx(exact, abs=0.006)
    assert rare.ideal.floor("misclassification") < 0.04  # another number: the metric matters


def test_the_floor_under_label_noise_is_the_noise():
    assert problems.ring(5_000, np.random.default_rng(0), 0.3).ideal.floor("misclassification") == pytest.approx(0.3)


def test_training_and_test_rows_are_other_rows_of_the_same_problem_and_stay_the_same():
    problem = KNOWN["26 classes"]
    first, again, test = (problem.draw("26 classes", part) for part in ("train", "train", "test"))
    assert np.array_equal(first.x, again.x)
    assert not np.isin(first.x[:, 0], test.x[:, 0]).any()
    assert len(test.y) == problem.n_test


@pytest.mark.parametrize("metric", ["misclassification", "balanced"])
def test_errors_and_gains_by_hand(metric):
    wanted, guess = np.array([0] * 90 + [1] * 10), np.array([0] * 90 + [1] * 5 + [0] * 5)
    expected = {"misclassification": 0.05, "balanced": 0.25}[metric]
    assert references.error_of(metric, wanted, guess) == pytest.approx(expected)
    assert references.gain_in_errors(metric, wanted, np.zeros(100, int), 0) == pytest.approx(0, abs=1e-9)
    gain = references.gain_in_errors(metric, wanted, guess, 0)
    five = {"misclassification": 0.05 / (0.05 * 0.95 / 100) ** 0.5, "balanced": 0.25 / ((0.25 / 10) ** 0.5 / 2)}[metric]
    assert gain == pytest.approx(five)
    assert references.gain_in_errors(metric, wanted, guess, 0, alike=4) == pytest.approx(five / 2)


def test_a_false_nothing_is_counted_and_a_true_one_is_not(monkeypatch):
    errors = {"guessing": [0.4, 0, 0], "linear": [0.3, 9.0, 0], "forest": [0.39, 1.0, 0]}
    floor = {"misclassification": 0.25, "balanced": 0.25}
    monkeypatch.setattr(ordinary, "truth_of", lambda name: {"floor": floor, "errors": {"misclassification": errors}})
    said = {"learns": False, "metric": "misclassification", "pick": "x", "estimate": [0.2, 0.1, 0.3], "truth": 0.32}
    known = ordinary.judged("churn", said)
    assert known["false_none"]
    assert (known["best"], known["ratio"], known["covered"]) == ("linear", pytest.approx(1.6), False)
    assert not ordinary.judged("churn", {**said, "learns": True})["false_none"]
    assert not ordinary.judged("noise, two classes", said)["false_none"]
    assert ordinary.judged("noise, two classes", {**said, "learns": True})["false_some"]
    errors["linear"][1] = 2.0
    assert not ordinary.judged("churn", said)["false_none"]


def test_what_breaks_is_told_and_does_not_stop_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr("priorscope.profile", lambda x, y: 1 / 0)
    ordinary.work("60 rows", tmp_path / "a.json", 60.0, None)
    found = json.loads((tmp_path / "a.json").read_text())
    assert found["trouble"] == "profile: ZeroDivisionError: division by zero"

    def endless(x, y):
        while True:
            pass

    monkeypatch.setattr("priorscope.profile", endless)
    ordinary.work("60 rows", tmp_path / "b.json", 0.1, None)
    assert json.loads((tmp_path / "b.json").read_text())["trouble"] == "profile not ended after 0 CPU s"


def test_the_committed_truths_are_those_of_todays_problems():
    truths = json.loads(ordinary.TRUTHS.read_text())
    assert set(truths) <= set(problems.PROBLEMS)
    for name in ("churn", "60 rows", "26 classes", "60 classes in words"):
        problem = KNOWN[name]
        if name in truths:
            assert truths[name]["rows"] == ordinary.fingerprint(problem, problem.draw(name, "train"))
