"""The share of wrong labels: samples of the model itself, and cases that can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from priorscope.probes import noise_rate
from priorscope.probes.limits.labels._rate import _anchors, _uneven


def drawn(rate, n, n_classes, power, seed):
    """Margins and agreement as the docstring says: right with c(m), then the label replaced at the rate."""
    rng = np.random.default_rng(seed)
    margins = rng.uniform(0, 1.25, n)
    right = rng.random(n) < 1 / (1 + np.exp(-np.log(99) * margins**power))  # the anchor is 1, the 80 % quantile
    truth = rng.integers(n_classes, size=n)
    guess = np.where(right, truth, (truth + rng.integers(1, n_classes, n)) % n_classes)
    wrong = rng.random(n) < rate
    label = np.where(wrong, (truth + rng.integers(1, n_classes, n)) % n_classes, truth)
    return margins, guess == label, guess


@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3])
def test_the_rate_of_samples_of_the_model(rate, n_classes):
    found = [noise_rate(*drawn(rate, 4000, n_classes, 0.7, s)[:2], n_classes).rate for s in range(3)]
    for interval in found:
        assert abs(interval.value - rate) < 0.03
        assert interval.low - 0.01 <= rate <= interval.high + 0.01


def test_difficulty_is_not_noise():
    """Half of the predictions are coin flips, none of the labels is wrong: a count of disagreement says 25 %."""
    rng = np.random.default_rng(0)
    margins = np.concatenate([np.full(1000, 0.01), np.full(1000, 1.0)])
    agrees = np.concatenate([rng.random(1000) < 0.5, np.ones(1000, dtype=bool)])
    assert (~agrees).mean() > 0.2
    assert noise_rate(margins, agrees, 2).rate.value < 0.02


def test_noise_of_one_class_alone_is_found_by_its_own_anchor():
    rng = np.random.default_rng(0)
    guess = np.repeat([0, 1], 500)
    margins = np.where(guess == 0, 0.5, 1.0) * rng.uniform(
        0.9, 1.1, 1000
    )  # wrong labels shrink the margins of their class
    agrees = np.where(guess == 0, rng.random(1000) > 0.2, True)
    truth = (~agrees).mean()
    assert abs(noise_rate(margins, agrees, 2, guesses=guess).rate.value - truth) < 0.03
    assert noise_rate(margins, agrees, 2).rate.value < truth - 0.04  # without it the other class hides the noise


def test_probabilities_follow_bayes_rule():
    found = noise_rate(np.ones(1000), np.arange(1000) % 5 > 0, 2)  # one in five disagrees, all margins alike
    rho = found.rate.value
    odds = 99.0 * rho / (1 - rho)  # of a label that the anchor contradicts
    assert found.wrong(-np.ones(1000))[0] == pytest.approx(odds / (1 + odds))
    assert found.wrong(np.ones(1000))[0] == pytest.approx(rho / (rho + 99 * (1 - rho)))


def test_wrong_arguments_are_told():
    with pytest.raises(ValueError, match="at least 10 margins"):
        noise_rate(np.ones(3), np.ones(3), 2)
    with pytest.raises(ValueError, match="at least 10 margins"):
        noise_rate(-np.ones(30), np.ones(30), 2)
    with pytest.raises(ValueError, match="one predicted class per margin"):
        noise_rate(np.ones(30), np.ones(30), 2, guesses=np.zeros(4, dtype=int))


def test_what_counts_as_certain_is_a_high_margin_of_all_or_of_the_own_class():
    m = np.concatenate([np.linspace(0, 1, 101), np.linspace(0, 10, 101), [5.0]])
    guess = np.repeat([0, 1, 2], [101, 101, 1])
    alone = _anchors(m, 0.8, None)
    assert np.ptp(alone) == 0
    assert alone[0] == pytest.approx(np.sort(m)[round(0.8 * 202)], rel=0.05)
    own = _anchors(m, 0.8, guess)
    assert own[[0, 150, -1]].tolist() == pytest.approx([0.8, 8.0, alone[0]])  # one sample has no quantile of its own
    assert _anchors(np.zeros(5), 0.8, None).min() > 0


def test_classes_whose_surer_half_disagrees_more_often_are_uneven():
    m, guess = np.tile(np.linspace(0, 1, 200), 2), np.repeat([0, 1], 200)
    low = np.tile(np.arange(200) < 100, 2)
    unsure = np.where(low & (guess == 0), 0.0, 1.0)  # class 0 is wrong where margins are small: no sign of noise
    unsure[[150, 350]] = 0.0  # one mistake each among the sure
    assert not _uneven(m, unsure, guess)
    sure = unsure.copy()
    sure[120:160] = 0.0
    assert _uneven(m, sure, guess)
    assert not _uneven(m, np.ones(400), guess)  # nobody disagrees
    assert not _uneven(m[:200], sure[:200], guess[:200])  # one class has none to differ from


def test_classes_predicted_too_seldom_say_nothing_of_the_others():
    """Ten sure predictions of a third class are all wrong: too few to count, and none of the other classes' business."""
    m = np.concatenate([np.tile(np.linspace(0, 1, 100), 2), np.full(10, 2.0)])
    guess = np.repeat([0, 1, 2], [100, 100, 10])
    agrees = np.ones(210)
    agrees[[70, 170]] = 0.0
    agrees[200:] = 0.0
    assert not _uneven(m, agrees, guess)
    many = (
        np.concatenate([m, np.full(10, 2.0)]),
        np.concatenate([agrees, np.zeros(10)]),
        np.concatenate([guess, [2] * 10]),
    )
    assert _uneven(*many)  # twenty are enough
    found = noise_rate(many[0], many[1], 3, guesses=many[2])
    assert found.anchors[-1] == 2.0  # an anchor of its own
    assert found.anchors[0] < 1.0
