"""Random patterns: the law they say, one draw per seed."""

import torch

from priorscope.data import random_patterns


def test_one_draw_per_seed_on_the_sphere_with_balanced_labels():
    one, same, other = (random_patterns(50, 4, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(one.inputs, same.inputs)
    assert not torch.equal(one.inputs, other.inputs)
    assert torch.allclose(other.inputs.square().sum(1), torch.full((50,), 4.0, dtype=torch.float64))
    assert sorted(other.targets.flatten().tolist()) == [-1.0] * 25 + [1.0] * 25
