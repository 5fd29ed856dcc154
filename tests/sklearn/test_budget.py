"""Limits of time and memory: fits keep to them, say what they left out, and are no worse for a limit that leaves room."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from priorscope.contracts import kernel_matrix
from priorscope.inference import processor_seconds
from priorscope.models import laplace
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


class OnlyDouble:
    """A kernel that refuses single precision where it was told so, and keeps a list of what it was asked in."""

    def __init__(self, refuses):
        self.refuses, self.seen = refuses, []

    def kernel(self, x1, x2=None, *, kinds=("nngp", "ntk")):
        self.seen.append(x1.dtype)
        if self.refuses and x1.dtype == torch.float32:
            raise ValueError("inputs cannot be told apart in single precision")
        K = kernel_matrix(laplace(3.0), x1, x2, "ntk")
        return SimpleNamespace(nngp=K, ntk=K)


def test_much_is_done_in_single_precision_unless_the_kernel_refuses_it(monkeypatch):
    """The same predictions in both precisions, to far below their error."""
    found = []
    for single, refuses in ((np.inf, False), (0.0, False), (0.0, True)):
        monkeypatch.setattr("priorscope.sklearn._solution.SINGLE", single)
        model = OnlyDouble(refuses)
        found.append(KernelMachine(model, ridge=0.1, landmarks=100).fit(X[:2500], Y[:2500]).predict(NEW))
        asked = model.seen.count(torch.float32)
        assert asked == 0 if single else asked == 1 if refuses else asked > 1
    double, narrow, refused = found
    assert 0 < np.abs(narrow - double).max() < 1e-3
    np.testing.assert_allclose(refused, double, atol=1e-3)


def test_whole_groups_are_left_out_of_landmarks(monkeypatch):
    """Rows come in copies of a group with one target: alone they are known from each other, together they are not."""
    groups = np.repeat(np.arange(300), 10)
    rows, y = X[:300][groups] + 0.01 * RNG.normal(size=(3000, 5)), RNG.normal(size=300)[groups]
    together, alone = (KernelMachine("laplace", landmarks=200).fit(rows, y, groups=g) for g in (groups, None))
    assert together.report_.chosen.squared > 0.8 > 0.5 > alone.report_.chosen.squared
