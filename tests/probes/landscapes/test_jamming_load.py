"""P* of an inference whose capacity is known, and of a real network on labels of any data set."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch

from priorscope.data import digits, from_arrays, random_patterns
from priorscope.inference import AllFitted, GradientDescent
from priorscope.models import fcn, gap, plain_network
from priorscope.probes import jamming_load
from priorscope.system import System


class Capacity:
    """An inference that fits up to a number of patterns that depends on the seed."""

    def __init__(self, capacities):
        self.capacities, self.seen = capacities, []

    def fit(self, model, data, seed):
        self.seen.append((seed, data))
        return SimpleNamespace(finished=torch.tensor([len(data.inputs) <= self.capacities[seed]]))


def build(seed):
    return plain_network(3, 5, 1, seed=seed)


def test_a_known_capacity_is_found_with_few_trainings_on_nested_sets():
    inference = Capacity([90, 110, 130])
    load = jamming_load(build, random_patterns(400, 3), range(10, 401, 2), seeds=3, inference=inference)
    assert 110 <= load.p_star < 112
    assert load.low <= 90
    assert load.high > 130
    assert load.n_weights == 20
    assert load.ratio == pytest.approx(load.p_star / 20)
    assert len(load.n_train) <= 2 + math.ceil(math.log2(200))
    assert list(load.table().success) == sorted(load.table().success, reverse=True)
    assert load.chart().to_dict()
    sets = [d.inputs for s, d in inference.seen if s == 1]
    small, large = min(sets, key=len), max(sets, key=len)
    assert torch.equal(large[: len(small)], small)
    signs = next(d.targets for s, d in inference.seen if s == 1)
    assert float(signs.sum()) == 0  # both signs in their proportion
    other = next(d.inputs for s, d in inference.seen if s == 0 and len(d.inputs) == len(small))
    assert not torch.equal(other, small)  # each seed has its own shuffle


def test_digits_load_a_small_network():
    data = digits("parity", dtype=torch.float64).train
    flat = SimpleNamespace(inputs=data.inputs.flatten(1)[:, 20:24], targets=data.targets)  # four pixels tell little
    quick = GradientDescent(optimiser="adam", learning_rate=0.02, steps=150, loss="quadratic-hinge", stop=AllFitted())
    load = jamming_load(lambda s: plain_network(4, 2, 1, seed=s), flat, [2, 200], seeds=2, inference=quick)
    assert load.success[-1] == 0
    assert load.high == 200


def test_ten_classes_of_images_keep_their_proportion():
    data, inference = digits("classes").train, Capacity([60, 60])
    load = jamming_load(gap(1), data, [20, 50, 100, 200], seeds=2, inference=inference)
    assert 50 < load.p_star < 100
    largest = max((d.targets for _, d in inference.seen), key=len)
    counts = torch.bincount(largest[:100].argmax(1), minlength=10)
    share = torch.bincount(data.targets.argmax(1), minlength=10) / len(data.targets)
    assert float((counts - 100 * share).abs().max()) <= 1  # also in a beginning of the order


def test_a_ladder_on_one_side_says_so():
    load = jamming_load(build, random_patterns(40, 3), [4, 8], inference=Capacity([100] * 3))
    assert math.isnan(load.p_star)
    assert load.chart().to_dict()
    with pytest.raises(ValueError, match="from 2 to the 10 patterns"):
        jamming_load(build, random_patterns(10, 3), [4, 20])


def test_a_system_is_taken_as_it_is():
    patterns = random_patterns(40, 3)
    data = from_arrays(patterns.inputs.numpy(), patterns.targets.numpy()[:, 0], test_fraction=0.2)
    inference = Capacity([20, 20])
    load = jamming_load(System(data, fcn(1), inference, width=6), sizes=[8, 16, 24, 32], seeds=2)
    assert 16 < load.p_star < 24
    assert load.n_weights == 3 * 6 + 6
