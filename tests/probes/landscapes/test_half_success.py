"""Half of the seeds is the transition itself: the smallest width at which half of them fit."""

from types import SimpleNamespace

import pytest
import torch

from priorscope.data import random_patterns
from priorscope.models import plain_network
from priorscope.probes import jamming_point


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
