"""Half of the seeds is the transition itself: the smallest width at which half of them fit."""

from types import SimpleNamespace

import pytest
import torch

from priorscope.data import random_patterns
from priorscope.models import plain_network
from priorscope.probes import JammingLoad, JammingPoint, jamming_point


class Threshold:
    """An inference that succeeds from a width on that depends on the seed."""

    def __init__(self, *thresholds):
        self.thresholds = thresholds

    def fit(self, model, data, seed):
        width = next(p for p in model.parameters() if p.ndim == 2).shape[0]
        return SimpleNamespace(finished=torch.tensor([width >= self.thresholds[seed]]))


def build(width, seed):
    return plain_network(3, width, 1, seed=seed)


@pytest.mark.parametrize("first", [5, 12, 17])
def test_the_bisection_ends_where_half_of_the_seeds_fit_for_the_first_time(first):
    inference = Threshold(first, 48)
    point = jamming_point(build, random_patterns(10, 3), range(1, 65), seeds=2, inference=inference)
    success = dict(zip(point.widths, point.success))
    assert success[first] == 0.5
    assert success[first - 1] == 0.0
    assert point.n_star == pytest.approx(4 * first)  # 4 weights per hidden unit: 3 in, 1 out
    assert (point.low, point.high) == (4 * (first - 1), 4 * 64)


def test_both_ends_of_a_transition_are_the_nearest_to_it():
    point = JammingPoint((1, 2, 3, 4, 5, 6), (10, 20, 40, 80, 160, 320), (0.0, 0.0, 0.25, 0.75, 1.0, 1.0), 60, 4)
    assert (point.low, point.high) == (20, 160)
    assert point.n_star == pytest.approx(40 * 2**0.5)
    assert point.ratio == pytest.approx(60 / (40 * 2**0.5))
    never = JammingPoint((1, 2), (10, 20), (0.5, 0.5), 60, 4)
    assert (never.low, never.high) == (0, float("inf"))
    load = JammingLoad((5, 10, 20, 40, 80, 160), (1.0, 1.0, 0.75, 0.25, 0.0, 0.0), 30, 4)
    assert (load.low, load.high) == (10, 80)
    assert load.p_star == pytest.approx(20 * 2**0.5)
    assert load.ratio == pytest.approx(20 * 2**0.5 / 30)
