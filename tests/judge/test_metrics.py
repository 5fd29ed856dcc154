"""Metrics beside scikit-learn's functions, and influences beside rows that are counted once more."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as sk

from priorscope.judge import METRICS, Judgement, Measured, Outputs, judge_draws, metric_of, outputs_of

RNG = np.random.default_rng(5)
N = 400
LABELS = RNG.integers(0, 3, N)
SCORES = np.exp(RNG.normal(size=(N, 3)) + 1.5 * np.eye(3)[LABELS])
PROBABILITIES = SCORES / SCORES.sum(1, keepdims=True)
CLASSES = Outputs(PROBABILITIES.argmax(1), PROBABILITIES)
BINARY = LABELS.clip(0, 1)
TWO = np.stack([PROBABILITIES[:, 0], 1 - PROBABILITIES[:, 0]], 1)
PAIR = Outputs(TWO.argmax(1), TWO)
NUMBERS = RNG.normal(3.0, 1.0, N)
FAR = NUMBERS + 9
GUESS = Outputs(NUMBERS + RNG.normal(0, 0.3, N))


@pytest.mark.parametrize(
    ("name", "truth", "outputs", "expected"),
    [
        ("accuracy", LABELS, CLASSES, lambda: 1 - sk.accuracy_score(LABELS, CLASSES.values)),
        ("balanced_accuracy", LABELS, CLASSES, lambda: 1 - sk.balanced_accuracy_score(LABELS, CLASSES.values)),
        ("roc_auc", BINARY, PAIR, lambda: 1 - sk.roc_auc_score(BINARY, TWO[:, 1])),
        ("roc_auc_ovr", LABELS, CLASSES, lambda: 1 - sk.roc_auc_score(LABELS, PROBABILITIES, multi_class="ovr")),
        ("f1", BINARY, PAIR, lambda: 1 - sk.f1_score(BINARY, PAIR.values)),
        ("f1_macro", LABELS, CLASSES, lambda: 1 - sk.f1_score(LABELS, CLASSES.values, average="macro")),
        ("neg_log_loss", LABELS, CLASSES, lambda: sk.log_loss(LABELS, PROBABILITIES)),
        ("neg_mean_squared_error", NUMBERS, GUESS, lambda: sk.mean_squared_error(NUMBERS, GUESS.values)),
        ("rmse", NUMBERS, GUESS, lambda: sk.root_mean_squared_error(NUMBERS, GUESS.values)),
        ("neg_mean_absolute_error", NUMBERS, GUESS, lambda: sk.mean_absolute_error(NUMBERS, GUESS.values)),
        ("mape", FAR, Outputs(GUESS.values + 9), lambda: sk.mean_absolute_percentage_error(FAR, GUESS.values + 9)),
        ("r2", NUMBERS, GUESS, lambda: 1 - sk.r2_score(NUMBERS, GUESS.values)),
    ],
)  # fmt: skip
def test_values_are_scikit_learns_and_influences_those_of_rows_counted_again(name, truth, outputs, expected) -> None:
    metric = metric_of(name)
    found = metric.measure(truth, outputs)
    assert found.value == pytest.approx(expected(), rel=1e-10)
    assert found.influence.mean() == pytest.approx(0.0, abs=1e-10)
    for row in (0, 7, 133, 399):  # counted 1 + w times, w = 1: the change is I / (n + 1), up to terms of 1 / n²
        rows = np.r_[np.arange(N), row]
        again = metric.measure(truth[rows], outputs.take(rows)).value - found.value
        assert again == pytest.approx(found.influence[row] / N, abs=25 * (1 + abs(found.influence[row])) / N**2)
    row = int(np.abs(found.influence).argmax())  # and it can fail: twice the largest influence is not the change
    again = metric.measure(truth[np.r_[np.arange(N), row]], outputs.take(np.r_[np.arange(N), row])).value - found.value
    assert abs(again - 2 * found.influence[row] / N) > 0.3 * abs(found.influence[row]) / N


def test_a_function_of_ones_own_and_what_is_refused() -> None:
    found = metric_of(lambda truth, values: float(np.abs(truth - values).mean())).measure(NUMBERS, GUESS)
    plain = METRICS["mae"].measure(NUMBERS, GUESS)
    assert found.value == plain.value
    assert found.standard_error() == pytest.approx(plain.standard_error(), rel=0.35)  # forty parts: a tenth each way
    with pytest.raises(ValueError, match="finite number of at least zero"):
        metric_of(lambda truth, values: -1.0).measure(NUMBERS, GUESS)
    with pytest.raises(ValueError, match="metric must be one of misclassification"):
        metric_of("sharpness")
    with pytest.raises(ValueError, match="some are zero"):
        METRICS["mape"].measure(np.zeros(3), Outputs(np.ones(3)))


def test_standard_errors_cover_by_simulation_and_count_blocks() -> None:
    rng = np.random.default_rng(0)
    truth, inside, careless = 0.3, 0, 0
    blocks = np.repeat(np.arange(50), 8)
    for _ in range(400):
        wrong = np.repeat(rng.random(50) < truth, 8)  # eight rows of a group come out alike
        found = METRICS["misclassification"].measure(np.zeros(400, dtype=int), Outputs(wrong.astype(int)))
        inside += abs(found.value - truth) <= 1.645 * found.standard_error(blocks)
        careless += abs(found.value - truth) <= 1.645 * found.standard_error()
    assert 0.86 < inside / 400 < 0.94
    assert careless / 400 < 0.6


def test_zero_luck_where_nothing_varies() -> None:
    assert METRICS["misclassification"].measure(LABELS, Outputs(LABELS)).standard_error() == 0.0
    assert Measured(1.0, np.zeros(4)).by_block(np.array([0, 0, 1, 1])).tolist() == [0.0, 0.0]


def test_classes_that_training_lacked_have_probability_zero() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    x = np.array([[0.0], [1.0], [2.0], [3.0]])
    found = outputs_of(LogisticRegression().fit(x, [0, 0, 2, 2]), x, 4)
    assert found.probabilities.shape == (4, 4)
    assert found.probabilities[:, [1, 3]].sum() == 0
    assert found.own
    bare = outputs_of(LinearSVC().fit(x, [0, 0, 2, 2]), x, 4)
    assert not bare.own
    assert bare.probabilities.argmax(1).tolist() == bare.values.tolist()


def test_judgements_by_hand() -> None:
    draws = np.r_[np.full(89, 0.3), np.full(11, 0.1)]
    assert judge_draws(draws, 0.2) is Judgement.UNSURE  # 89 of 100 beyond the margin is not 90
    assert judge_draws(np.r_[draws, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3], 0.2) is Judgement.WORSE
    assert judge_draws(-np.full(10, 0.3), 0.2) is Judgement.BETTER
    assert judge_draws(np.full(10, 0.1), 0.2) is Judgement.LEVEL
