"""Labels that look wrong: closed forms against refitting, flips put in on purpose, rows that keep their numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.probes import label_noise, label_noise_of_grams
from priorscope.probes.limits.labels._label_noise import _candidates
from priorscope.probes.limits.labels._left_out import RIDGES, left_out
from priorscope.statistics import Interval


def clusters(n, seed, n_classes=3):
    rng = np.random.default_rng(seed)
    centres = 3 * rng.normal(size=(n_classes, 5))
    y = rng.integers(n_classes, size=n)
    return centres[y] + rng.normal(size=(n, 5)), y


def flips(y, rate, seed):
    rng = np.random.default_rng([seed, 5])
    rows = rng.permutation(len(y))[: round(rate * len(y))]
    given = y.copy()
    given[rows] = (y[rows] + rng.integers(1, y.max() + 1, len(rows))) % (y.max() + 1)
    return given, rows


def test_left_out_scores_are_those_of_fits_without_the_sample():
    x, y = clusters(45, 0)
    K = np.exp(-((x[:, None] - x) ** 2).sum(-1) / 8)
    found = left_out({"gauss": K}, y, 3)
    targets = np.eye(3)[y]
    centred = K - K.mean(0) - K.mean(1)[:, None] + K.mean()
    scale = np.trace(centred) / (len(K) - 1)
    by_ridge = []
    for ridge in scale * RIDGES:  # ridge regression with an intercept, n times
        scores = np.empty_like(targets)
        for i in range(len(y)):
            rest = np.delete(np.arange(len(y)), i)
            system = np.block([[K[np.ix_(rest, rest)] + ridge * np.eye(44), np.ones((44, 1))], [np.ones((1, 44)), 0.0]])
            solved = np.linalg.solve(system, np.vstack([targets[rest], np.zeros((1, 3))]))
            scores[i] = K[i, rest] @ solved[:-1] + solved[-1]
        by_ridge.append(scores)
    best = min(by_ridge, key=lambda s: ((s - targets) ** 2).sum())
    np.testing.assert_allclose(found.scores, best, atol=1e-8)


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3])
def test_flips_put_in_on_purpose_are_counted_and_named(rate):
    x, y = clusters(400, 1)
    given, rows = flips(y, rate, 1)
    found = label_noise(x, [f"c{c}" for c in given])
    assert abs(found.rate.value - rate) < 0.05
    flagged = set(found.rows[found.flagged()].tolist())
    if rate:
        assert len(flagged & set(rows.tolist())) > 0.8 * len(rows)
        assert len(flagged - set(rows.tolist())) < 0.1 * len(flagged)
        right = found.rows[found.flagged()]
        assert (found.suggested[found.flagged()] == y[right]).mean() > 0.9
    else:
        assert len(flagged) < 5
    random, _ = flips(y, 2 / 3, 2)  # nothing left of the classes: the most that can be wrong
    assert label_noise(x, [f"c{c}" for c in random]).rate.high > 0.4


def test_rows_are_those_of_the_arrays_that_were_given():
    x, y = clusters(200, 3)
    given = y.copy()
    given[17] = (y[17] + 1) % 3
    found = label_noise(torch.from_numpy(x), [f"c{c}" for c in given], n=150)
    if 17 not in found.rows:
        found = label_noise(torch.from_numpy(x), [f"c{c}" for c in given])
    assert found.worst(1)["row"].tolist() == [17]
    assert found.worst(1)["label"].tolist() == [f"c{given[17]}"]
    assert found.worst(1)["suggested"].tolist() == [f"c{y[17]}"]


def test_a_shuffle_of_the_samples_changes_nothing_but_the_order():
    x, y = clusters(120, 4)
    given, _ = flips(y, 0.1, 4)
    K = np.exp(-((x[:, None] - x) ** 2).sum(-1) / 8)
    order = np.random.default_rng(0).permutation(120)
    one = label_noise_of_grams({"k": K}, given)
    two = label_noise_of_grams({"k": K[np.ix_(order, order)]}, given[order])
    np.testing.assert_allclose(two.suspicion, one.suspicion[order], atol=1e-9)
    assert two.rate.value == pytest.approx(one.rate.value)


def test_the_information_space_of_block_labels():
    """Four groups of equal inputs: the centred kernel has three directions, and labels by group lie in them."""
    group = np.repeat(np.arange(4), 20)
    K = (group[:, None] == group).astype(float)
    found = label_noise_of_grams({"groups": K}, group // 2)
    assert found.dimension == 3
    assert found.information == pytest.approx(1.0)
    noise = label_noise_of_grams({"groups": K}, np.arange(80) % 2)  # half of every group: orthogonal to all directions
    assert noise.information == pytest.approx(0.0, abs=1e-12)


def test_images_and_tables_and_chart():
    found = label_noise(ps.data.digits().subset(150, seed=0))
    assert found.rate.value < 0.05
    assert found.table().shape == (150, 4)
    assert found.chart().to_dict()["mark"]["type"] == "bar"
    assert "look right" in found.sentences()[0]
    assert str(found).startswith("The labels look right")
    assert any(k.startswith(("vec", "lap", "fcn", "lap", "gauss")) for k in found.kernels)


def test_models_of_the_user():
    x, y = clusters(100, 5)
    words = [f"c{c}" for c in y]
    assert set(label_noise(x, words, models=["fcn", ps.models.laplace()]).kernels) == {"laplace", "fcn"}
    with pytest.raises(TypeError, match="models with a kernel"):
        label_noise(x, words, models=[torch.nn.Linear(5, 3)])


def test_what_cannot_be_said_is_refused():
    x, y = clusters(100, 6)
    with pytest.raises(ValueError, match="needs classes; these targets are numbers"):
        label_noise(x, x[:, 0])
    with pytest.raises(ValueError, match="at least 40 integer labels"):
        label_noise_of_grams({"k": np.eye(10)}, np.arange(10) % 2)
    with pytest.raises(ValueError, match="two classes or more"):
        label_noise_of_grams({"k": np.eye(50)}, np.zeros(50, dtype=int))
    with pytest.raises(ValueError, match=r"finite kernels \(100, 100\)"):
        label_noise_of_grams({"k": np.eye(50)}, y)
    with pytest.raises(ValueError, match=r"finite kernels \(100, 100\)"):
        label_noise_of_grams({}, y)
    y[y == 2] = 0
    y[3] = 2
    told = label_noise_of_grams({"k": np.exp(-((x[:, None] - x) ** 2).sum(-1))}, y).notes
    assert told == ("of 2 there is one sample: nothing can be said about its label",)


def test_labels_that_nothing_predicts_are_not_suspected_one_by_one():
    x, y = clusters(240, 3)
    clear = label_noise((x, flips(y, 0.2, 3)[0]))
    assert clear.learnt
    assert "can be named" in clear.sentences()[0]
    drawn = np.random.default_rng(9).integers(3, size=240)  # labels that the inputs know nothing of
    noise = label_noise((x, drawn))
    assert not noise.learnt
    assert noise.largest_class == np.bincount(drawn).max() / 240
    assert noise.left_out < noise.largest_class + 2 * (noise.left_out * (1 - noise.left_out) / 240) ** 0.5
    assert noise.sentences()[0].startswith("Nothing can be said of single labels: left out, ")


def test_kernels_of_convolutions_are_tried_on_images_large_enough_on_both_sides():
    for shape, tried in (((1, 8, 8), True), ((1, 5, 20), False), ((1, 20, 5), False), ((40,), False)):
        assert ("vec-2" in _candidates(None, shape, 20)[0]) == tried, shape


def test_counts_orders_and_worst_labels_by_hand():
    clean = label_noise(ps.data.digits().subset(120, seed=0))
    made = replace(
        clean,
        rate=Interval(0.3, 0.2, 0.4),
        rows=np.array([10, 11, 12, 13, 14]),
        labels=np.array([0, 1, 0, 1, 0]),
        suggested=np.array([1, 0, 0, 1, 1]),
        suspicion=np.array([-0.5, 0.9, 0.1, 0.4, -0.7]),
        wrong=np.array([0.6, 0.1, 0.4, 0.5, 0.9]),
        classes=("no", "yes"),
    )
    assert (made.n, made.count) == (5, 2)
    assert made.left_out == 3 / 5
    assert made.largest_class == 3 / 5
    assert not made.learnt
    assert made.order().tolist() == [4, 0, 2, 3, 1]
    assert made.flagged().tolist() == [4, 0]  # a half is not more than a half
    assert made.worst()["row"].tolist() == [14, 10]
    assert made.worst(3)["row"].tolist() == [14, 10, 12]
    assert made.worst(3)["label"].tolist() == ["no", "no", "no"]
    assert made.worst(3)["suggested"].tolist() == ["yes", "yes", "no"]
    sure = replace(made, suspicion=np.ones(5))
    assert sure.learnt
