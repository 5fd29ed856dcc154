"""The cases of the profile's benchmark: their targets, and what is measured of a process."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
try:
    scale = importlib.import_module("_scale")
finally:
    sys.path.remove(str(ROOT / "benchmarks"))


@pytest.mark.parametrize("make", [scale.tangled, scale.million])
def test_labels_follow_what_is_called_ideal(make):
    sample = make(4_000, np.random.default_rng(0))
    p = sample.ideal.classes
    right = p[np.arange(len(p)), sample.y] - (p**2).sum(1)
    assert abs(right.mean()) < 4.5 * right.std() / len(p) ** 0.5
    other = p[np.arange(len(p)), np.roll(sample.y, 17)] - (p**2).sum(1)
    assert other.mean() < -4.5 * other.std() / len(p) ** 0.5


@pytest.mark.slow
def test_the_network_beside_learns_the_digits():
    make = scale.CASES["digits"].make
    train, test = make(1438, np.random.default_rng(0)), make(359, np.random.default_rng(0))
    few = scale.Sample(train.x[:300], train.y[:300])
    assert scale.plain_network(few, test, epochs=4) < 0.25  # 0.9 by guessing


def test_a_stopped_profile_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(scale, "STOP", -1.0)

    def profile(x, y, progress):
        progress("one")
        raise AssertionError("not stopped")

    monkeypatch.setattr("priorscope.profile", profile)
    scale.first("digits", tmp_path / "a.json", 50.0, None)
    assert json.loads((tmp_path / "a.json").read_text())["trouble"] == "no answer: KeyboardInterrupt"


def test_a_process_that_ends_badly_is_told_with_what_it_took(monkeypatch):
    monkeypatch.setattr(scale.sys, "executable", "/bin/false")
    found = scale.measured("whole", "digits", argparse.Namespace(limit=1.0, budget=None))
    assert found["trouble"].startswith("the process ended with 1")
    assert found["process s"] < 1
