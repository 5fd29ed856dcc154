"""Losses of left-out scores, the temperature of probabilities, and the order of candidates, by hand and by brute force."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import RidgeClassifier, SGDClassifier
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

from priorscope.models import fcn, gaussian
from priorscope.sklearn._features import _unsure
from priorscope.sklearn._folds import folds_of
from priorscope.sklearn._inputs import Inputs
from priorscope.sklearn._left_out import scores_of
from priorscope.sklearn._loss import Problem, losses, probabilities, temperature
from priorscope.sklearn._search import Candidate, Race
from priorscope.sklearn._shortlist import _loss
from priorscope.sklearn._spread import Spread

RNG = np.random.default_rng(3)


@pytest.fixture
def scored():
    labels = np.array([0, 0, 0, 0, 0, 1, 1, 1, 2, 2])
    scores = np.eye(3)[labels] + 0.7 * RNG.normal(size=(10, 3))
    return scores, Problem(np.eye(3)[labels], labels, np.ones(10))


def test_each_metric_is_that_of_scikit_learn(scored):
    scores, problem = scored
    labels, guess = problem.labels, scores.argmax(1)
    assert 0 < (guess != labels).mean() < 1
    assert losses(scores, problem, "error").tolist() == (guess != labels).astype(float).tolist()
    even = (scores / [0.5, 0.3, 0.2]).argmax(1)  # over the shares of the classes
    assert losses(scores, problem, "balanced").mean() == pytest.approx(1 - balanced_accuracy_score(labels, even))
    largest = losses(scores, problem, "balanced", margins=True)
    assert largest.mean() == pytest.approx(1 - balanced_accuracy_score(labels, guess))
    rows = np.array([[0.6, 0.4, 0.0], [0.6, 0.3, 0.1]])  # 0.4 / 0.3 is more than 0.6 / 0.5
    few = Problem(np.eye(3)[[0, 0]], np.array([0, 0]), np.ones(2))
    assert problem.shares.tolist() == pytest.approx([0.5, 0.3, 0.2])
    assert losses(rows, few, "balanced").tolist() == [0.0, 0.0]  # of one class alone, nothing else can win
    assert losses(scores, problem, "squared").tolist() == pytest.approx(((scores - np.eye(3)[labels]) ** 2).mean(1))
    beta = temperature(scores, labels, problem.weights)
    soft = np.exp(beta * scores) / np.exp(beta * scores).sum(1, keepdims=True)
    np.testing.assert_allclose(probabilities(scores, beta), soft, rtol=1e-12)
    assert losses(scores, problem, "log-loss").mean() == pytest.approx(log_loss(labels, soft))
    two = problem.part(np.array([0, 1, 5, 6]))  # a class that is not there does not count
    assert losses(scores[[0, 1, 5, 6]], two, "balanced").mean() == pytest.approx(
        np.mean([(guess[:2] != 0).mean(), (guess[5:7] != 1).mean()])
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_the_temperature_has_the_lowest_penalised_log_loss_on_a_grid(scored, weighted):
    scores, problem = scored
    weights = np.linspace(0.2, 3.0, 10) if weighted else np.ones(10)
    betas = np.geomspace(0.01, 300, 4001)

    def loss(beta):
        p = np.exp(beta * scores) / np.exp(beta * scores).sum(1, keepdims=True)
        own = -np.log(p[np.arange(10), problem.labels])
        return (weights / weights.mean() * own).sum() - np.log(p).mean()  # and one sample of any class

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        values = np.array([loss(b) for b in betas])
    wanted = betas[np.nanargmin(values)]
    assert temperature(scores, problem.labels, weights) == pytest.approx(wanted, rel=0.02)


def test_areas_under_the_curve(scored):
    scores, problem = scored
    value, error = _loss(scores, problem, "auc")
    area = roc_auc_score(problem.labels, probabilities(scores, 1.0), multi_class="ovr")
    assert (value, error) == pytest.approx((1 - area, np.sqrt(area * (1 - area) / 10)))
    labels = np.arange(10) % 2
    two, _ = _loss(scores[:, :2], Problem(np.eye(2)[labels], labels, np.ones(10)), "auc")
    assert two == pytest.approx(1 - roc_auc_score(labels, scores[:, 1] - scores[:, 0]))


def test_rivals_are_behind_by_losses_paired_sample_by_sample():
    X = np.linspace(-1, 1, 25)[:, None]
    y = np.sin(4 * X) + 0.3 * RNG.normal(size=(25, 1))
    race = Race(X, Problem(y, None, np.ones(25)), kinds=("ntk", "nngp"), metric="squared", ridge=0.1)
    race.run([Candidate(f"fcn-{d}", fcn(d), Inputs.learnt(X, (1,))) for d in (1, 2, 3)])
    best, *others = race.rivals(race.leaders(1)[0])
    assert len(others) == 5
    assert best.score == min(f.rival.score for f in race.every) == race.best.rival.score
    assert [r.behind for r in others] == sorted(r.behind for r in others)
    stated = {f.rival.key: f.loss for f in race.every}
    for rival in others:
        gap = stated[rival.key] - stated[best.key]
        assert (rival.behind, rival.error) == pytest.approx((gap.mean(), stats.sem(gap)))
        assert rival.level == (rival.behind <= 2 * rival.error)
    assert [f.rival.score for f in race.leaders(3)] == sorted(f.rival.score for f in race.every)[:3]


def test_equal_counts_of_errors_are_settled_by_squares():
    X = np.linspace(-1, 1, 20)[:, None]
    labels = (X[:, 0] > 0).astype(int)
    race = Race(X, Problem(np.eye(2)[labels], labels, np.ones(20)), kinds=("ntk",), metric="error", ridge=None)
    found = race.run([Candidate(f"fcn-{d}", fcn(d), Inputs.learnt(X, (1,))) for d in (1, 2, 3)])
    ties = [f for f in race.every if f.rival.score == found.rival.score]
    assert len(ties) > 1
    assert found.rival.squared == min(f.rival.squared for f in ties)
    assert found.rival.wrong == found.rival.score


def test_scores_of_a_member_without_probabilities_and_of_a_class_that_a_fold_lacks():
    X = RNG.normal(size=(30, 2))
    y = np.where(X[:, 0] > 0, "q", "p")
    linear = RidgeClassifier().fit(X, y)
    scores = scores_of(linear, X, np.array(["a", "p", "q"]))
    np.testing.assert_allclose(scores[:, 2] - scores[:, 1], linear.decision_function(X))
    assert (scores[:, 0] < scores[:, 1:].min(1)).all()  # never chosen
    assert (np.array(["a", "p", "q"])[scores.argmax(1)] == linear.predict(X)).all()
    sure = scores_of(SGDClassifier(loss="log_loss", random_state=0).fit(X, y), X, np.array(["p", "q"]))
    np.testing.assert_allclose(sure.sum(1), 1)


def test_folds_hold_every_row_once_and_their_share_of_each_class():
    y = np.array(["a"] * 12 + ["b"] * 8)
    folds = folds_of(y, 4, True, 0)
    assert sorted(np.concatenate(folds)) == list(range(20))
    assert all((y[f] == "a").sum() == 3 and (y[f] == "b").sum() == 2 for f in folds)
    rare = folds_of(np.array(["a"] * 9 + ["b"] * 2), 5, True, 0)
    assert len(rare) == 5
    assert sorted(sum(test >= 9) for test in rare) == [0, 0, 0, 1, 1]  # its two rows are in two folds
    assert len(folds_of(np.array(["a"] * 9 + ["b"]), 5, True, 0)) == 5  # a lone sample cannot be in two folds
    assert len(folds_of(np.arange(3.0), 5, False, 0)) == 3


def test_the_spread_of_new_rows_is_the_error_of_the_best_linear_prediction():
    """Simple kriging with an unknown mean as one bordered system (Rasmussen & Williams 2006, sec. 2.7)."""
    import torch

    x, new = torch.tensor(RNG.normal(size=(9, 2))), torch.tensor(RNG.normal(size=(4, 2)))
    model, ridge = gaussian(1.3), 0.2
    K, k = model.kernel(x).ntk.numpy(), model.kernel(x, new).ntk.numpy()
    bordered = np.block([[K + ridge * np.eye(9), np.ones((9, 1))], [np.ones((1, 9)), np.zeros((1, 1))]])
    right = np.vstack([k, np.ones((1, 4))])
    weights = np.linalg.solve(bordered, right)
    wanted = ridge + 1 - (right * weights).sum(0)
    np.testing.assert_allclose(Spread(model, "ntk", x, ridge)(new) ** 2, wanted, rtol=1e-9)


def test_what_features_gain_has_the_error_of_a_mean_of_pairs():
    from types import SimpleNamespace

    y = RNG.normal(size=(12, 1))
    plain, learnt = y + RNG.normal(size=(12, 1)), y + 0.5 * RNG.normal(size=(12, 1))
    rows = np.arange(12)
    fit = SimpleNamespace(plan=SimpleNamespace(rows=rows, plain=plain, scores=learnt))
    gap = ((plain - y) ** 2 - (learnt - y) ** 2)[:, 0]
    assert _unsure(fit, Problem(y, None, np.ones(12)), "squared") == pytest.approx(stats.sem(gap))


def test_the_temperature_weighs_samples_by_their_class():
    """The log-loss of weighted samples and one more of any class, minimised on a grid."""
    labels = np.repeat([0, 1, 2], [20, 8, 5])
    scores = np.eye(3)[labels] + RNG.normal(size=(33, 3))
    weights = np.array([0.2, 1.0, 4.0])[labels]
    betas = np.geomspace(0.01, 30, 3000)

    def best(weights):
        share = weights / weights.mean()
        logs = [np.log(probabilities(scores, b)) for b in betas]
        loss = [-(share * l[np.arange(33), labels]).sum() - l.mean() for l in logs]
        return betas[int(np.argmin(loss))]

    assert temperature(scores, labels, weights) == pytest.approx(best(weights), rel=0.03)
    assert temperature(scores, labels, np.ones(33)) == pytest.approx(best(np.ones(33)), rel=0.03)
    assert abs(best(weights) / best(np.ones(33)) - 1) > 0.1
    numbers = Problem(scores, None, np.ones(33))
    np.testing.assert_allclose(losses(scores + 2, numbers, "error"), 4)  # numbers have the squared loss alone
