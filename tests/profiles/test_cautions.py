"""What data may hide: the number is right to a factor 1.3, or the caution is the first one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

import priorscope as ps
from priorscope.judge import METRICS
from priorscope.profiles._leaks import alone
from priorscope.profiles._problem import problem_of

KERNELS = ("laplace", "fcn-1", "linear")


def profile(x, y, candidates=KERNELS, **more):
    return ps.profile(x, y, candidates=list(candidates), budget=4, deep=False, **more)


@pytest.fixture(scope="module")
def smooth():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    return x, np.sin(2 * x[:, 0]) + x[:, 1] + 0.1 * rng.normal(size=200)


@pytest.fixture(scope="module")
def plain(smooth):
    return profile(*smooth)


def test_groups_of_nearly_equal_rows_are_the_first_caution():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(30), 8)
    x, y = rng.normal(size=(30, 3))[group] + 0.02 * rng.normal(size=(240, 3)), rng.normal(size=30)[group]
    rep = profile(x, y)
    assert rep.best.now[1].value < 0.3  # careless
    assert rep.warnings[0].startswith("rows seem to belong together, some 8 to a group")
    assert "pass groups=" in rep.warnings[0]
    assert f"not {rep.metric.number(rep.best.now[1].value)}" in rep.warnings[0]
    told = float(rep.warnings[0].partition("off by ")[2].split()[0])
    grouped = profile(x, y, groups=group)
    assert 1 / 1.5 < told / y.std() < 1.5  # nothing can be known of new groups
    assert grouped.best.now[1].value > 0.8 * y.std()
    assert grouped.about == "new groups"
    assert not any("belong together" in w for w in grouped.warnings)


def test_rows_given_three_times_are_measured_as_one():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    rep = profile(np.repeat(x, 3, 0), np.repeat(y, 3))
    assert 1 / 1.3 < rep.best.now[1].value / y.std() < 1.3
    assert "only 60 independent rows" in rep.warnings[0]


@pytest.mark.parametrize("kind", ["numbers", "classes", "words", "counter"])
def test_a_column_that_alone_gives_the_answer_is_the_first_caution(smooth, kind):
    x, y = smooth
    labels = np.array(["no", "yes"])[(y > 0).astype(int)]
    if kind == "numbers":
        rep = profile(np.c_[x, 3 * y + 1], y)
    elif kind == "classes":
        rep = profile(np.c_[x, labels == "yes"], labels)
    elif kind == "words":
        codes = np.where(labels == "yes", np.where(x[:, 0] > 0, "a", "b"), "c")
        rep = profile(pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "kind": codes}), labels)
    else:
        rep = profile(np.c_[x, np.arange(200) + 0.25 * np.sin(np.arange(200))], np.sort(labels))
    assert "alone gives the answer" in rep.warnings[0]
    assert "without it" in rep.warnings[0]
    assert {"words": "'kind'"}.get(kind, "'x3'") in rep.warnings[0]
    assert ("counts the rows" in rep.warnings[0]) is (kind == "counter")


def test_a_column_that_counts_among_others_is_no_leak(smooth, plain):
    assert not any("alone" in w for w in plain.warnings)
    x, y = smooth
    problem = problem_of(ps.data.from_arrays(x, y, test_fraction=0.0), None)
    assert alone(problem, METRICS["rmse"]).error > 0.5


@pytest.mark.parametrize("k", [1e-12, 1e-15, 1e-20, 1e-30, 1e12])
def test_units_of_the_target_do_not_matter(smooth, plain, k):
    x, y = smooth
    rep = profile(x, k * y)
    assert rep.best.name == plain.best.name
    assert rep.best.now[1].value == pytest.approx(k * plain.best.now[1].value, rel=1e-4)
    assert rep.learns is plain.learns
    assert len(rep.warnings) == len(plain.warnings)


@pytest.mark.parametrize(("shift", "lift"), [(1e7, 0.0), (1e9, 0.0), (0.0, 1e8)])
def test_offsets_do_not_matter_where_numbers_hold_them(smooth, plain, shift, lift):
    x, y = smooth
    data = ps.data.from_arrays(x + shift, y + lift, test_fraction=0.0, dtype=torch.float64)
    rep = ps.profile(data, candidates=list(KERNELS), budget=4, deep=False)
    assert rep.best.name == plain.best.name
    assert rep.best.now[1].value == pytest.approx(plain.best.now[1].value, rel=1e-2)


def test_two_positives_in_a_thousand_rows_are_answered():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1002, 3)), np.r_[1, 1, np.zeros(1000, int)]
    rep = ps.profile(x, y, candidates=["linear", "laplace"], budget=4, deep=False)
    assert rep.learns is not True
    assert any("few rows of class 1 (2)" in w for w in rep.warnings)


def test_outliers_tails_and_skew_are_told_with_their_size():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    y = np.exp(2 * x[:, 0] + rng.normal(size=300))
    rep = profile(x, y, ["linear"])
    assert any("profile their logarithm" in w for w in rep.warnings)
    assert any("heavy tails" in w for w in rep.warnings)
    x[17, 1] = 500.0
    said = profile(x, rng.normal(size=300), ["linear"]).warnings
    assert any(w.startswith("row 17 lies beyond 15 standard deviations: 0.3% of the rows") for w in said)


def test_few_rows_and_far_forecasts():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    rep = profile(x, x[:, 0] + rng.normal(size=50), ["linear"], to=5000)
    assert rep.warnings[0].startswith("only 50 rows")
    assert any("5,000 rows are more than 8 times the 50" in w for w in rep.warnings)
