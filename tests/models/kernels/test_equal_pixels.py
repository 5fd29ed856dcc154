"""Pixels that are equal number by number have their variance as covariance, to the last bit and in every image."""

import torch

from priorscope.models import Need
from priorscope.models.kernels._covariance import with_equal_pixels


def test_equal_and_opposite_pixels_of_every_pair_of_images():
    x = torch.randn(3, 2, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = x.flip(0).roll(1, 2).clone()
    y[1] *= -1
    exact = torch.einsum("ncp,mcq->nmpq", x, y)
    rounded = exact * (1 + 3e-15)
    self1, self2 = (torch.einsum("ncp,ncq->npq", z, z) for z in (x, y))
    found = with_equal_pixels(rounded, x, y, self1, self2, 1, Need.FULL)
    seen = 0
    for n, m, p, q in torch.cartesian_prod(*(torch.arange(k) for k in found.shape)).tolist():
        same, opposite = (bool((x[n, :, p] == sign * y[m, :, q]).all()) for sign in (1, -1))
        want = self1[n, p, p] if same else -self1[n, p, p] if opposite else rounded[n, m, p, q]
        assert found[n, m, p, q] == want
        seen += same or opposite
    assert seen == 12  # each pixel of three images once
