"""Predictors measured on parts of the pilot: the design, the metrics and the closed forms, against the slow way."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

import priorscope as ps
from priorscope.profiles import Candidate, Metric
from priorscope.profiles._choose_metric import choose_metric
from priorscope.profiles._classical import measure_estimator, references
from priorscope.profiles._design import Design, Part
from priorscope.profiles._held_out import HeldOut, Truth, sample_losses
from priorscope.profiles._kernel_machine import measure_kernel
from priorscope.profiles._trained import Plan, measure_network, plan

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("draws", [1, 2])
def test_parts_are_nested_and_test_every_sample_equally_often(draws: int) -> None:
    labels = RNG.integers(0, 3, 40 * draws)
    design = Design.of(40, draws=draws, labels=labels)
    for m in range(1, 8):
        parts = design.parts((m,))
        tested = np.bincount(np.concatenate([p.test for p in parts]), minlength=len(design))
        assert (tested == 8 - m).all()
        assert all(not set(p.train) & set(p.test) for p in parts)
        if m > 1:
            smaller = design.part(0, 3, m - 1).train
            assert set(smaller) < set(design.part(0, 3, m).train)
    counts = np.array([np.bincount(labels[f], minlength=3) for f in design.folds[0]])
    assert np.ptp(counts, axis=0).max() <= 1  # classes are spread evenly
    at_random = Design.of(40, draws=draws)
    assert np.ptp([np.bincount(labels[f], minlength=3) for f in at_random.folds[0]], axis=0).max() > 1


def _held(scores: np.ndarray, labels: np.ndarray, probable: bool = False) -> HeldOut:
    design = Design.of(len(labels), draws=1)
    part = design.part(0, 0, 4)
    classes = int(labels.max()) + 1
    coded = (labels[:, None] == np.arange(classes)) - 1 / classes if classes > 2 else 2.0 * labels[:, None] - 1
    return HeldOut(design, Truth(coded, labels), (part,), (scores[part.test],), probable)


def test_metrics_are_those_of_scikit_learn() -> None:
    labels = RNG.choice(3, 120, p=[0.7, 0.2, 0.1])
    scores = (labels[:, None] == np.arange(3)) + 0.6 * RNG.standard_normal((120, 3))
    held = _held(scores, labels)
    rows = held.parts[0].test
    y, s = labels[rows], scores[rows]
    found = {m: held.curve(m)[1][0] for m in Metric if m not in (Metric.RMSE, Metric.R2)}
    assert found[Metric.MISCLASSIFICATION] == pytest.approx((s.argmax(1) != y).mean())
    p = s + 1 / 3  # the coding of the targets, undone
    guess = (p / (np.bincount(labels[held.parts[0].train]) / held.parts[0].size)).argmax(1)
    assert (guess != s.argmax(1)).any()
    shares = [np.mean(guess[y == c] != c) for c in range(3)]
    assert 1 - balanced_accuracy_score(y, guess) == pytest.approx(np.mean(shares))
    weight = np.bincount(labels, minlength=3)  # classes weigh by their counts in the whole pilot, not in this one part
    mixed = sum(shares[c] * np.sum(y == c) / weight[c] for c in range(3)) / sum(
        np.sum(y == c) / weight[c] for c in range(3)
    )
    assert found[Metric.BALANCED_ERROR] == pytest.approx(mixed)
    for c in range(3):
        one = held.sums(Metric.AUC)[0][0][rows][y == c].sum() / held.sums(Metric.AUC)[1][0][rows][y == c].sum()
        assert one == pytest.approx(1 - roc_auc_score(y == c, s[:, c]))
    scaled = [log_loss(y, np.exp(b * s) / np.exp(b * s).sum(1, keepdims=True)) for b in np.geomspace(0.3, 30, 500)]
    assert found[Metric.LOG_LOSS] == pytest.approx(min(scaled), rel=1e-3)
    chance = np.exp(s) / np.exp(s).sum(1, keepdims=True)
    whole = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    assert _held(whole, labels, probable=True).curve(Metric.LOG_LOSS)[1][0] == pytest.approx(log_loss(y, chance))


def test_balanced_error_of_six_samples_by_hand() -> None:
    """One training sample in five is of class 1, so that it wins where its probability is above 0.2."""
    labels = np.array([0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1])
    part = Part(0, 0, 4, np.arange(5), np.arange(5, 11))
    truth = Truth(2.0 * labels[:, None] - 1, labels)
    p = np.array([0.1, 0.19, 0.3, 0.15, 0.21, 0.6])  # of class 1: right, right, wrong, wrong, right, right
    coded = 2 * p[:, None] - 1
    for scores, probable in ((coded, False), (np.stack([1 - p, p], 1), True)):
        found = sample_losses(Metric.BALANCED_ERROR, [scores], [part], truth, probable)[0]
        assert found.tolist() == [0, 0, 1, 1, 0, 0]
        largest = sample_losses(Metric.MISCLASSIFICATION, [scores], [part], truth, probable)[0]
        assert largest.tolist() == [0, 0, 0, 1, 1, 0]  # where a half decides, as before
    every = np.array([0, 0, 0, 1, 1, 0, 1, 2, 2])  # three classes: shares 3/5, 2/5 and none of the third
    part = Part(0, 0, 4, np.arange(5), np.arange(5, 9))
    p3 = np.array([[0.55, 0.45, 0.0], [0.7, 0.3, 0.0], [0.1, 0.1, 0.8], [0.62, 0.38, 0.0]])
    truth = Truth((every[:, None] == np.arange(3)) - 1 / 3, every)
    for scores, probable in ((p3 - 1 / 3, False), (p3, True)):
        found = sample_losses(Metric.BALANCED_ERROR, [scores], [part], truth, probable)[0]
        assert found.tolist() == [1, 1, 1, 1]  # 0.45 / 0.4 is more than 0.55 / 0.6; class 2 was not there to be learnt
        assert sample_losses(Metric.MISCLASSIFICATION, [scores], [part], truth, probable)[0].tolist() == [0, 1, 0, 1]


def test_weighted_samples_say_as_much_as_their_effective_number() -> None:
    """The variance of a mean over two classes is that of an equal mean over so many samples."""
    labels = np.array([0] * 190 + [1] * 10)
    truth = Truth(2.0 * labels[:, None] - 1, labels)
    assert truth.effective(Metric.MISCLASSIFICATION) == 200
    rate = 0.3  # of mistakes, in both classes
    by_class = rate * (1 - rate) * (1 / 190 + 1 / 10) / 4
    assert rate * (1 - rate) / truth.effective(Metric.BALANCED_ERROR) == pytest.approx(by_class)


def test_two_classes_with_one_output_are_read_by_sign() -> None:
    labels = RNG.integers(0, 2, 80)
    scores = (2.0 * labels - 1 + RNG.standard_normal(80))[:, None]
    held = _held(scores, labels)
    y, s = labels[held.parts[0].test], scores[held.parts[0].test, 0]
    assert held.curve(Metric.MISCLASSIFICATION)[1][0] == pytest.approx(np.mean((s > 0) != y))
    assert held.curve(Metric.SQUARED_ERROR)[1][0] == pytest.approx(np.mean((s - (2 * y - 1)) ** 2))


def test_kernel_machines_in_closed_form_are_kernel_regressions_solved_one_by_one() -> None:
    x = RNG.standard_normal((64, 3))
    gram = np.exp(-((x[:, None] - x) ** 2).sum(-1) / 4)
    y = np.sin(x[:, :1]) + 0.3 * RNG.standard_normal((64, 1)) + 5.0
    design, truth = Design.of(64, draws=1), Truth(y)
    found = measure_kernel([gram], "ntk", design, truth)
    scale = np.trace(gram) / 64
    for part, scores in zip(found.held.parts, found.held.scores, strict=True):
        ridge = scale * found.ridges[found.held.eighths.index(part.eighths)]
        K = gram[np.ix_(part.train, part.train)] + ridge * np.eye(part.size)
        mean = y[part.train].mean()
        wanted = mean + gram[np.ix_(part.test, part.train)] @ np.linalg.solve(K, y[part.train] - mean)
        np.testing.assert_allclose(scores, wanted, atol=1e-6)
    plain = gram[np.ix_(part.test, part.train)] @ np.linalg.solve(K, y[part.train])
    assert np.abs(plain - scores).max() > 1e-3  # control: without the mean it is another predictor


def test_estimators_are_fitted_on_the_same_parts() -> None:
    x = RNG.standard_normal((48, 4))
    y = x[:, :1] + 0.1 * RNG.standard_normal((48, 1))
    design, truth = Design.of(48, draws=1), Truth(y)
    made = measure_estimator((Ridge(100.0), Ridge(0.1)), x, design, truth, Metric.RMSE)
    assert made.estimator.alpha == 0.1
    part, scores = made.held.parts[-1], made.held.scores[-1]
    wanted = Ridge(0.1).fit(x[part.train], y[part.train, 0]).predict(x[part.test])
    np.testing.assert_allclose(scores[:, 0], wanted, rtol=1e-10)
    assert made.held.eighths == (2, 4, 6)
    assert len(references(0, 3)) == len(references(3, 3)) == 4


def test_networks_are_trained_until_they_stop_and_tested_on_other_samples() -> None:
    x = torch.randn(64, 3, generator=torch.Generator().manual_seed(0))
    y = x[:, :1].double().numpy()
    design, truth = Design.of(64, draws=1), Truth(y)
    candidate = Candidate("fcn-1", ps.models.fcn(1), "fcn", "")
    how = plan(candidate, x, 1, 1e11, 64)
    assert how is not None
    assert how.width == 256
    made = measure_network(candidate, x, design, truth, Plan(16, how.per_step, 256, how.rates))
    assert made is not None
    assert made.held.eighths == (2, 4, 6)
    assert made.held.curve(Metric.SQUARED_ERROR)[1][-1] < 0.3 * truth.variance
    again = measure_network(candidate, x, design, truth, Plan(16, how.per_step, 256, how.rates))
    assert again is not None
    np.testing.assert_array_equal(made.held.scores[0], again.held.scores[0])  # nothing depends on the clock
    assert made.operations == again.operations
    assert plan(candidate, x, 1, 1e6, 64) is None  # a budget that trains nothing


def test_the_metric_follows_the_classes() -> None:
    even = Truth(np.ones((100, 1)), np.arange(100) % 2)
    rare = Truth(np.ones((100, 1)), (np.arange(100) < 5).astype(int))
    assert choose_metric(None, even) == (Metric.MISCLASSIFICATION, [])
    metric, notes = choose_metric(None, rare)
    assert metric is Metric.BALANCED_ERROR
    assert "5.0 %" in notes[0]
    assert choose_metric("auc", rare)[0] is Metric.AUC
    assert choose_metric(None, Truth(np.ones((9, 1))))[0] is Metric.RMSE
    with pytest.raises(ValueError, match="misclassification needs classes"):
        choose_metric("misclassification", Truth(np.ones((9, 1))))
    with pytest.raises(ValueError, match="must be one of"):
        choose_metric("f1", even)
    with pytest.raises(ValueError, match="rmse is for numbers"):
        choose_metric("rmse", even)


def test_the_squared_error_that_chooses_between_two_kernels_is_that_of_the_best_ridge_at_the_largest_size() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 2))
    gram = np.exp(-((x[:, None] - x) ** 2).sum(-1))
    y = np.sin(x[:, :1]) + 0.3 * rng.normal(size=(64, 1))
    made = measure_kernel([gram], "ntk", Design.of(64, draws=1), Truth(y))
    sizes, curve = made.held.curve(Metric.SQUARED_ERROR)
    assert made.squared == pytest.approx(curve[-1])
    assert made.squared < 0.9 * y.var()  # and not that of the worst ridge, which learns nothing
    assert len(made.ridges) == len(sizes)
