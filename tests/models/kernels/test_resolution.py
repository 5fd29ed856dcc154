"""Differences that a bias drowns: refused just below the limit that is stated, taken just above it."""

import pytest
import torch

from priorscope.models import Architecture, Dense
from priorscope.models.kernels._resolution import GONE, check_resolution


@pytest.mark.parametrize("weight_variance, bias_variance", [(1.0, 1.0), (2.0, 0.5)])
def test_inputs_are_told_apart_by_half_their_squared_distance_over_the_bias(weight_variance, bias_variance):
    """Of 0 and a: D = σ_w² a² / 2 σ_b², of which a linear network keeps what there is."""
    arch = Architecture("linear", (Dense(weight_variance, bias_variance), Dense(1.0, 0.0)))

    def pair(part):
        a = (2 * part * bias_variance / weight_variance) ** 0.5
        return torch.tensor([[0.0], [a]], dtype=torch.float64)

    check_resolution(arch, pair(1.2 * GONE), None)
    with pytest.raises(ValueError, match="lost in the rounding"):
        check_resolution(arch, pair(0.8 * GONE), None)
