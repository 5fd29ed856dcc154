"""Bilinear and Gaussian reading against the formulas written out, and their derivatives against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from priorscope.data.deformations import displaced, participation_ratio
from priorscope.data.deformations._gaussian import SIGMA, by_taps, gaussian_read


def images(n=7, N=3, C=2, dtype=torch.float64):
    g = torch.Generator().manual_seed(0)
    return torch.randn(N, C, n, n, generator=g, dtype=dtype), 2 * torch.randn(N, 2, n, n, generator=g, dtype=dtype)


def by_hand(x, d, weigh):
    """One pixel after another: positions, clamped; ``weigh(position, n)`` gives weights of all pixels along one axis."""
    out = np.zeros(x.shape)
    N, C, n, _ = x.shape
    for b in range(N):
        for v in range(n):
            for u in range(n):
                along = weigh(min(max(u - float(d[b, 0, v, u]), 0), n - 1), n)
                down = weigh(min(max(v - float(d[b, 1, v, u]), 0), n - 1), n)
                for c in range(C):
                    out[b, c, v, u] = down @ x[b, c].numpy() @ along
    return torch.from_numpy(out)


def hat(position, n):
    return np.maximum(1 - np.abs(np.arange(n) - position), 0)


def bell(position, n):
    w = np.exp(-((np.arange(n) - position) ** 2) / (2 * 0.4715**2))
    return w / w.sum()


@pytest.mark.parametrize(("interpolation", "weigh", "close"), [("bilinear", hat, 1e-12), ("gaussian", bell, 1e-8)])
def test_interpolation_is_that_of_the_formula(interpolation, weigh, close):
    x, d = images()
    slow = by_hand(x, d, weigh)
    assert (displaced(x, d, interpolation) - slow).abs().max() < close
    assert (displaced(x, d.flip(1), interpolation) - slow).abs().max() > 0.1  # rows and columns cannot be exchanged
    assert (displaced(x.float(), d.float(), interpolation) - slow).abs().max() < 2e-5


@pytest.mark.parametrize("n", [3, 28, 32, 33])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_no_displacement_changes_nothing_to_the_last_bit(n, dtype):
    x, d = images(n, dtype=dtype)
    assert torch.equal(displaced(x, torch.zeros_like(d)), x)


def test_whole_displacements_copy_pixels():
    x, _ = images()
    one = torch.zeros(3, 2, 7, 7, dtype=torch.float64)
    one[:, 0] = 1
    assert torch.equal(displaced(x, one)[..., 1:], x[..., :-1])


def test_gaussian_weights_at_rest_and_the_participation_ratio():
    line = torch.zeros(1, 1, 15, 15, dtype=torch.float64)
    line[0, 0, :, 7] = 1
    smooth = displaced(line, torch.zeros(1, 2, 15, 15, dtype=torch.float64), "gaussian")[0, 0, 7]
    assert smooth[7:10].tolist() == pytest.approx([0.8256, 0.0871, 1.0e-4], abs=5e-5)
    for sigma, ratio in ((0.3, 4.0), (0.4715, 4.00198), (0.5, 4.0054), (0.7, 4.27)):
        assert participation_ratio(sigma) == pytest.approx(ratio, abs=6e-5 if sigma < 0.7 else 5e-3)
    assert SIGMA == 0.4715


def test_the_compiled_pass_and_torch_agree():
    x, d = images(9)
    n = 9
    pixels = torch.arange(n, dtype=torch.float64)
    along, down = (pixels - d[:, 0]).clamp(0, n - 1), (pixels[:, None] - d[:, 1]).clamp(0, n - 1)
    torch.testing.assert_close(gaussian_read(x, along, down), by_taps(x, along, down), rtol=0, atol=1e-13)
    grads = []
    for read in (gaussian_read, by_taps):
        leaves = [t.clone().requires_grad_() for t in (x, along, down)]
        (read(*leaves) * x.cos()).sum().backward()
        grads.append([t.grad for t in leaves])
    for ours, other in zip(*grads):
        torch.testing.assert_close(ours, other, rtol=0, atol=1e-11)


@pytest.mark.parametrize("interpolation", ["bilinear", "gaussian"])
def test_derivatives(interpolation):
    x, d = images(5, 1, 2)
    d = d / 2 + 0.13  # away from whole pixels, where a bilinear reading has a kink
    x, d = x.requires_grad_(), d.requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: displaced(a, b, interpolation), (x, d), atol=1e-6)


def test_bad_input():
    x, d = images()
    with pytest.raises(ValueError, match="displaced needs images \\(N, C, n, n\\) and displacements \\(N, 2, n, n\\)"):
        displaced(x, d[:2])
    with pytest.raises(ValueError, match="interpolation must be 'bilinear' or 'gaussian'; got 'cubic'"):
        displaced(x, d, "cubic")
