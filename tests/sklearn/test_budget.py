"""Limits of time and memory: fits keep to them, say what they left out, and are no worse for a limit that leaves room."""

import numpy as np
import pytest

from priorscope.inference import processor_seconds
from priorscope.sklearn import KernelMachine
from priorscope.sklearn._budget import Budget

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6000, 5))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=6000)
NEW = RNG.normal(size=(500, 5))
TRUE = np.sin(2 * NEW[:, 0]) + NEW[:, 1]


def test_a_fit_keeps_to_its_seconds_and_says_what_it_left_out():
    KernelMachine("laplace").fit(X[:50], Y[:50])  # compiled
    began = processor_seconds()
    machine = KernelMachine("laplace", max_seconds=0.5).fit(X, Y)
    assert processor_seconds() - began < 1.5  # on a machine that others use: the whole fit takes ten seconds
    assert "max_seconds" in str(machine.report_)
    assert machine.score(NEW, TRUE) > 0.8
    free = KernelMachine("laplace", max_seconds=1e6, landmarks=300).fit(X, Y)
    assert "max_seconds" not in str(free.report_)


def test_memory_bounds_the_landmarks():
    bound = Budget.bytes_of(200, 2500)
    machine = KernelMachine("laplace", landmarks=1000, max_memory=bound).fit(X, Y)
    assert 150 < len(machine.X_fit_) <= 200
    assert "max_memory left room for" in str(machine.report_)


def test_progress_is_told_and_ends():
    told = []
    KernelMachine("laplace", landmarks=50, progress=lambda done, left: told.append((done, left))).fit(X, Y)
    assert told[-1] == (1.0, pytest.approx(told[-1][1]))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[0][1] >= told[-1][1]


def test_left_out_losses_of_some_rows_are_errors_on_new_ones():
    """Rows that are no landmarks stand for new rows; seeds of landmarks and rows move both by little."""
    found = []
    for seed in range(3):
        machine = KernelMachine("laplace", landmarks=300, seed=seed).fit(X, Y)
        squared = float(np.mean((machine.predict(NEW) - TRUE) ** 2)) + 0.01  # of the noise
        found.append((machine.report_.chosen.squared * Y.var(), squared))
    left, new = np.array(found).T
    np.testing.assert_allclose(left, new, rtol=0.2)
    assert np.ptp(new) < 0.3 * new.mean()
