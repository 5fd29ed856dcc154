"""How a kernel machine chooses: by which loss, on how many rows, with which inputs; what it refuses to choose among."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.sklearn import KernelMachine
from priorscope.sklearn._budget import Budget
from priorscope.sklearn._features import _honest
from priorscope.sklearn._fit import _landmarks
from priorscope.sklearn._inputs import Inputs
from priorscope.sklearn._loss import Problem, losses
from priorscope.sklearn._names import default_names, model_named
from priorscope.sklearn._report import Rival
from priorscope.sklearn._search import Candidate, Found

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.where(X[:, 0] + 0.7 * RNG.normal(size=60) > 0.4, "yes", "no")


@pytest.mark.parametrize("metric", ["error", "balanced", "log-loss", "squared"])
def test_the_ridge_has_the_lowest_loss_of_the_metric_that_was_asked_for(metric):
    machine = KernelMachine("fcn-1", kind="nngp", metric=metric).fit(X, Y)
    chosen = machine.report_.chosen
    assert chosen.metric == metric
    labels = (Y == "yes").astype(int)
    problem = Problem(np.eye(2)[labels], labels, np.ones(60))
    x = torch.from_numpy((X - X.mean(0)) / X.std(0))
    K = ps.models.fcn(1, bias_variance=0.1).kernel(x).nngp.numpy()

    def left_out(ridge):
        scores = np.zeros((60, 2))
        for i in range(60):
            rest = np.arange(60) != i
            M = np.block([[K[np.ix_(rest, rest)] + ridge * np.eye(59), np.ones((59, 1))], [np.ones((1, 59)), 0]])
            found = np.linalg.solve(M, np.vstack([problem.targets[rest], np.zeros((1, 2))]))
            scores[i] = K[i, rest] @ found[:-1] + found[-1]
        return scores

    scores = left_out(chosen.ridge)
    np.testing.assert_allclose(chosen.score, losses(scores, problem, metric).mean(), rtol=1e-6)
    assert chosen.wrong == pytest.approx(float((scores.argmax(1) != labels).mean()))
    assert losses(left_out(30 * chosen.ridge), problem, metric).mean() >= chosen.score


@pytest.mark.parametrize(
    ("settings", "y", "words"),
    [
        ({"metric": "error"}, X[:, 0], "metric='error' is for classes; these targets are numbers"),
        ({"metric": ["error"]}, Y, "metric of 'error'"),
        ({"kind": np.array(["ntk", "ntk"])}, Y, "kind of 'auto'"),
        ({"head": "svm", "landmarks": 20}, Y, "head='svm' takes up to 5000 rows here; X has 60"),
        ({"class_weight": "balanced"}, X[:, 0], "class_weight is for classification"),
        ({"class_weight": [1.0, 2.0]}, Y, "class_weight must be None, 'balanced'"),
        ({"class_weight": {"yes": -1.0}}, Y, "positive weights of classes among"),
        ({"class_weight": {"yes": 1e11}}, Y, "within a factor of 1e"),
        ({"inputs": "codes", "input_shape": (1, 2)}, Y, "is for flat features"),
        ({"inputs": "steps", "input_shape": (1, 2)}, Y, "is for flat features"),
    ],
)
def test_what_cannot_be_meant_is_refused(settings, y, words):
    with pytest.raises(ValueError, match=words):
        KernelMachine("fcn-1", **settings).fit(X, y)


def test_features_want_three_rows():
    with pytest.raises(ValueError, match="features='learn' needs at least 3 rows, to leave some out; got 2"):
        KernelMachine("laplace", features="learn").fit(X[:2], [0.0, 1.5])
    assert KernelMachine("laplace", features="learn").fit(X[:3], [0.0, 1.5, 0.2]).features_.rows == 3


def test_how_many_rows_carry_the_solution():
    auto, every, few = (SimpleNamespace(landmarks=how) for how in ("auto", "all", 6))
    free = Budget()
    assert _landmarks(auto, 5000, free) is None
    assert [_landmarks(auto, n, free) for n in (5001, 26_666, 100_000, 10**6)] == [4000, 4000, 4000, 4000]
    assert _landmarks(every, 10**6, free) is None
    assert (_landmarks(few, 6, free), _landmarks(few, 7, free)) == (None, 6)
    assert _landmarks(auto, 5000, Budget(2.0)) == 4000  # the exact solution takes longer


def test_one_kernel_is_not_compared_and_dear_ones_are_compared_on_fewer_rows(monkeypatch):
    many = RNG.normal(size=(760, 2))
    y = many[:, 0] + 0.1 * RNG.normal(size=760)
    alone = KernelMachine("fcn-1", kind="ntk", landmarks=20).fit(many, y)
    assert "compared" not in str(alone.report_)
    two = KernelMachine("fcn-1", landmarks=20).fit(many, y)
    assert "2 kernels were compared on 700 of 760 rows; the best 1 used all rows" in str(two.report_)
    monkeypatch.setattr("priorscope.sklearn._choice.SECONDS", 0.0)
    for name in ("fcn-1", "fcn-1/sign"):  # 700 over 1.3, over 1.3, …, until no more than 100 are left
        dear = KernelMachine(name, landmarks=20).fit(many, y)
        assert "2 kernels were compared on 84 of 760 rows" in str(dear.report_)
    cheap = KernelMachine("laplace", landmarks=20).fit(many, y)  # its cost is not known, and it has one kernel
    assert cheap.report_.chosen.rows == 760
    assert KernelMachine("laplace/sign", landmarks=20).fit(many, y).report_.chosen.rows == 760


def test_forms_that_the_numbers_do_not_have():
    """Continuous numbers have no codes, two values have no steps: the machine says that it took them as they are."""
    assert KernelMachine("fcn-1", inputs="codes").fit(X, Y).report_.chosen.inputs == "standard"
    signs = np.sign(X)
    assert Inputs.learnt(signs, (2,)).stepped(signs) is None
    assert KernelMachine("fcn-1", inputs="steps").fit(signs, Y).report_.chosen.inputs == "standard"
    assert KernelMachine("fcn-1", inputs="steps").fit(X, Y).report_.chosen.inputs == "steps"
    empty = np.column_stack([X, np.full(60, np.nan)])
    got = Inputs.learnt(empty, (3,))(empty)
    assert torch.equal(got[:, 2], torch.zeros(60, dtype=torch.float64))


def test_large_inputs_are_not_whitened(monkeypatch):
    images = RNG.normal(size=(40, 1, 3, 4))
    y = images[:, 0, 0, 0]
    told = KernelMachine("fcn-1", flips=False).fit(images, y).report_.notes
    assert any(note.startswith("regularised ZCA") for note in told)
    monkeypatch.setattr("priorscope.sklearn._choice.LARGEST", 11)
    machine = KernelMachine("fcn-1", flips=False).fit(images, y)
    assert any(
        note.startswith("whitening was not tried: inputs have more than 11 numbers") for note in machine.report_.notes
    )
    assert not machine.inputs_.matrix.size
    without = KernelMachine("fcn-1", flips=False, whiten=False).fit(images, y)
    assert not any("whitening" in note for note in without.report_.notes)


def test_which_names_are_compared():
    flat = default_names((7,))
    assert default_names((3, 2, 8)) == default_names((3, 8, 2)) == flat
    assert "gap-3" in default_names((3, 3, 8))
    assert "gap-3" in default_names((1, 20))
    assert model_named("vec-1", (2, 9)).name == "vec"
    with pytest.raises(ValueError, match="needs inputs with positions"):
        model_named("vec-1", (9,))
    for shape in ((1, 3, 3), (1, 4, 4), (1, 5, 9), (1, 9, 5), (1, 8, 8), (1, 20), (3, 32, 32)):
        window = ps.probes.curves.forecast.lap_window(shape)
        assert ("lap-2" in default_names(shape)) == (window is not None and window < min(shape[1:]))


def test_errors_of_features_are_those_of_rows_that_they_have_not_seen():
    """Left-out errors under the final M are too small: they grow to those of held-out rows, classes are counted there."""
    labels = np.array([0, 1, 1, 0, 1, 0])
    problem = Problem(np.eye(2)[labels], labels, np.ones(6))
    scores = problem.targets + 0.1 * RNG.normal(size=(6, 2))
    rival = Rival("laplace", "ntk", 0.1, "squared", 0.0, 6, "standard", squared=0.0, wrong=0.0)
    found = Found(Candidate("laplace", ps.models.laplace(), Inputs.learnt(X, (2,))), rival, scores[:, 0], scores, 0.1)
    rows = np.array([0, 2, 3, 5])
    honest = problem.targets[rows] + np.array([[0.9, 0.0], [0.9, 0.0], [0.0, 0.3], [0.1, -0.1]])
    fit = SimpleNamespace(plan=SimpleNamespace(rows=rows, scores=honest))
    got, grown = _honest(found, fit, problem, "squared")
    ratio = ((honest - problem.targets[rows]) ** 2).mean() / ((scores - problem.targets)[rows] ** 2).mean()
    assert grown == pytest.approx(ratio)
    np.testing.assert_allclose(got.scores - problem.targets, (scores - problem.targets) * np.sqrt(ratio))
    assert got.rival.wrong == pytest.approx((honest.argmax(1) != labels[rows]).mean()) == 0.0
    assert got.rival.squared == pytest.approx(((got.scores - problem.targets) ** 2).mean()) == got.rival.score
    worse = SimpleNamespace(plan=SimpleNamespace(rows=rows, scores=1 - problem.targets[rows]))
    assert _honest(found, worse, problem, "error")[0].rival.wrong == 1.0
    better = SimpleNamespace(plan=SimpleNamespace(rows=rows, scores=problem.targets[rows]))
    same, one = _honest(found, better, problem, "squared")
    assert one == 1.0
    np.testing.assert_allclose(same.scores, scores)
