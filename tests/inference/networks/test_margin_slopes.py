"""Slopes of margin losses at margins and sharpness of the user's choosing, by hand and by differences."""

import numpy as np
import pytest
import torch

from priorscope.inference import Hinge, QuadraticHinge, SoftHinge


@pytest.mark.parametrize("margin", [0.3, 2.5])
@pytest.mark.parametrize("sharpness", [1.0, 7.0])
def test_the_slope_of_the_soft_hinge_is_a_logistic_function_of_its_slack(margin, sharpness):
    f, y = np.array([-1.2, 0.1, 0.9, 3.0]), np.array([1.0, -1.0, 1.0, 1.0])
    by_hand = -y / (1 + np.exp(-sharpness * (margin - y * f)))
    found = SoftHinge(margin=margin, sharpness=sharpness).slope(torch.tensor(f)[:, None], torch.tensor(y)[:, None])
    np.testing.assert_allclose(found[:, 0].numpy(), by_hand, rtol=1e-12)


@pytest.mark.parametrize("loss", [Hinge(0.4), QuadraticHinge(0.4), QuadraticHinge(3.0), SoftHinge(0.4, 2.0)])
def test_slopes_at_other_margins_are_derivatives(loss):
    generator = torch.Generator().manual_seed(0)
    f = torch.randn(40, 2, generator=generator, dtype=torch.float64)
    y = torch.randn(40, 2, generator=generator, dtype=torch.float64)
    h = 1e-6
    bump = torch.tensor([h, 0.0], dtype=torch.float64)
    finite = (loss.pointwise(f + bump, y) - loss.pointwise(f - bump, y)) / (2 * h)
    torch.testing.assert_close(loss.slope(f, y)[:, 0], finite, atol=1e-6, rtol=1e-6)
    other = type(loss)(1.0).slope(f, y)[:, 0]
    assert float((other - finite).abs().max()) > 0.1  # the margin matters here
