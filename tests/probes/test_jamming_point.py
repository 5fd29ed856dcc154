"""The bisection against a transition that is known, and a real one against the bound N* <= 4P."""

import math
from types import SimpleNamespace

import pytest
import torch

from priorscope.inference import AllFitted, GradientDescent
from priorscope.probes import jamming_point, plain_network, random_patterns


class Threshold:
    """An inference that succeeds from a width on that depends on the seed."""

    def __init__(self, thresholds):
        self.thresholds, self.trained = thresholds, []

    def fit(self, model, data, seed):
        width = model[0].out_features
        self.trained.append(width)
        return SimpleNamespace(finished=torch.tensor([width >= self.thresholds[seed]]))


def build(width, seed):
    return plain_network(3, width, 1, seed=seed)


def test_a_known_transition_is_found_with_few_trainings():
    inference = Threshold([9, 11, 13])
    point = jamming_point(build, random_patterns(10, 3), range(1, 65), seeds=3, inference=inference)
    weights = {h: 4 * h for h in (10, 11)}
    assert weights[10] < point.n_star <= weights[11]  # two of three seeds fit from width 11 on
    assert len(set(inference.trained)) <= 2 + math.ceil(math.log2(63))
    assert point.ratio == pytest.approx(10 / point.n_star)
    assert list(point.table().success) == sorted(point.table().success)
    assert point.chart().to_dict()


def test_a_ladder_on_one_side_says_so():
    point = jamming_point(build, random_patterns(10, 3), [2, 4], inference=Threshold([99] * 3))
    assert math.isnan(point.n_star)
    assert point.low == 16
    assert point.high == math.inf
    with pytest.raises(ValueError, match="at least two positive widths"):
        jamming_point(build, random_patterns(10, 3), [4])


def test_random_labels_jam_below_the_bound():
    data = random_patterns(40, 6)
    inference = GradientDescent(
        optimiser="adam", learning_rate=0.02, steps=600, loss="quadratic-hinge", stop=AllFitted()
    )
    point = jamming_point(
        lambda h, s: plain_network(6, h, 1, seed=s), data, [1, 2, 4, 8, 16, 24], seeds=2, inference=inference
    )
    assert 0 < point.n_star < 4 * 40  # the bound of Geiger et al. (2019), eq. 13
    assert point.success[0] == 0
    assert point.success[-1] == 1
