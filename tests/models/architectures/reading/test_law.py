"""Weights that are no independent draws of one law are told from such, on both sides."""

import pytest
import torch

from priorscope.models.architectures.reading._law import _unlike

W = torch.randn(40, 30, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("factor", [0.05, 4.0])
def test_one_group_that_is_smaller_or_larger_than_chance_allows_is_told(axis, factor):
    scaled = W.clone()
    scaled.select(axis, 3).mul_(factor)
    (told,) = _unlike("weight", scaled)
    assert f"over its {('outputs', 'inputs')[axis]}" in told


def test_a_mean_is_told_and_gaussian_draws_are_not():
    assert _unlike("weight", W) == []
    assert any("standard errors from zero" in line for line in _unlike("weight", W + 0.5))
    assert any("standard errors from zero" in line for line in _unlike("weight", W - 0.5))
