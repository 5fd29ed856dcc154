"""Weights that are no independent draws of one law are told from such, on both sides."""

import pytest
import torch
from scipy.stats import norm

from priorscope.models.architectures.reading._law import CHANCE, _unlike

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


def test_a_mean_is_tested_on_both_sides():
    """Between the one-sided and the two-sided bound nothing is told: a mean may lie on either side of zero."""
    one, two = (float(norm.isf(CHANCE / sides)) for sides in (1, 2))
    signs = torch.tensor([1.0, -1.0], dtype=torch.float64).repeat(600)
    for deviations, told in (((one + two) / 2, False), (two + 0.01, True)):
        mean = deviations / 1200**0.5  # in units of the root of the mean square, which the spread completes
        w = (mean + (1 - mean**2) ** 0.5 * signs).reshape(40, 30)
        assert bool(_unlike("weight", w)) == told
