"""Label signal by leaving samples out one at a time, and standard errors of merged halves."""

import numpy as np
import pytest
import torch

from priorscope.data import Dataset, Split
from priorscope.models import fcn
from priorscope.probes import average_geometry, blind_spots
from priorscope.probes.symmetries._blind_spots import _signal


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_signal_is_that_of_n_regressions_each_without_one_sample(outputs):
    rng = np.random.default_rng(0)
    n, d = 24, 5
    x = rng.standard_normal((n, d)) * [3, 1, 1, 0.3, 0.1]
    x -= x.mean(0)
    y = x @ (1 + rng.random((d, outputs))) + 2 * rng.standard_normal((n, outputs)) + 5
    ridge = 1e-2 * (np.linalg.svd(x, compute_uv=False) ** 2).mean() + 1e-12
    left = []
    for i in range(n):  # ridge regression with a free intercept, without sample i
        rest = np.delete(np.arange(n), i)
        A = np.hstack([np.ones((n - 1, 1)), x[rest]])
        w = np.linalg.solve(A.T @ A + ridge * np.diag([0.0] + [1.0] * d), A.T @ y[rest])
        left.append(y[i] - np.r_[1.0, x[i]] @ w)
    expected = 1 - (np.array(left) ** 2).sum() / ((y - y.mean(0)) ** 2).sum()
    assert 0.1 < expected < 0.95
    found = _signal(torch.tensor(x), torch.tensor(y))
    assert found == pytest.approx(expected, rel=1e-9)
    fitted = x @ np.linalg.solve(x.T @ x + ridge * np.eye(d), x.T @ (y - y.mean(0)))
    seen = 1 - ((y - y.mean(0) - fitted) ** 2).sum() / ((y - y.mean(0)) ** 2).sum()
    assert seen > expected + 0.05  # what samples that were fitted would claim


def test_labels_that_say_nothing_have_no_signal():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(60, 40, generator=generator, dtype=torch.float64)
    y = torch.randn(60, 1, generator=generator, dtype=torch.float64)
    assert _signal(x - x.mean(0), y) == 0.0
    assert _signal(x[:, :0], y) == 0.0


def test_the_standard_error_of_two_halves_adds_in_squares():
    x = torch.randn(30, 4, generator=torch.Generator().manual_seed(0))
    data = Dataset(Split(x[:20], x[:20, :1]), Split(x[20:], x[20:, :1]), "made-up")
    spots = blind_spots(data, fcn(depth=1), n_models=40, width=8, seed=3)
    halves = [average_geometry(fcn(depth=1), data.inputs, n_models=20, seed=s, width=8) for s in (6, 7)]
    a, b = (h.standard_error.double().numpy() for h in halves)
    np.testing.assert_allclose(spots.geometry.standard_error.double().numpy(), np.sqrt(a**2 + b**2) / 2, rtol=1e-5)
    torch.testing.assert_close(spots.geometry.matrix, (halves[0].matrix + halves[1].matrix) / 2)
    assert spots.geometry.n_models == 40
    whole = average_geometry(fcn(depth=1), data.inputs, n_models=40, seed=3, width=8).standard_error
    ratio = float(spots.geometry.standard_error.norm() / whole.norm())
    assert (
        0.6 < ratio < 1.6
    )  # that of 40 networks at once; a sum would be sqrt(2), a mean of errors too, halves 2 times it
