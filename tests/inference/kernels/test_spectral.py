"""Modes of eigenvalue zero and next to zero, solved by hand."""

import math
import warnings

import numpy as np
import pytest
import torch

from priorscope.inference import NumericalRepair, Schedule, Spectral

EPS = float(np.finfo(np.float32).eps)


def test_a_null_mode_moves_in_a_straight_line():
    """c' = (y - K c)/n with K = diag(2, 0): the second coefficient meets no resistance and is t y/n at time t."""
    y = torch.tensor([[3.0], [5.0]], dtype=torch.float64)
    found = Spectral(torch.diag(torch.tensor([2.0, 0.0], dtype=torch.float64)), endless=False)
    flow = found.solve(y, Schedule(time=7.0))
    by_hand = [3.0 * (1 - math.exp(-2 * 7.0 / 2)) / 2, 5.0 * 7.0 / 2]
    torch.testing.assert_close(flow[:, 0], torch.tensor(by_hand, dtype=torch.float64), rtol=1e-12, atol=0)
    c = np.zeros(2)
    for _ in range(9):  # plain descent on the coefficients
        c = c + 0.4 * (y[:, 0].numpy() - np.array([2.0, 0.0]) * c) / 2
    steps = found.solve(y, Schedule(learning_rate=0.4, steps=9))
    np.testing.assert_allclose(steps[:, 0].numpy(), c, rtol=1e-12)
    assert c[1] == pytest.approx(5.0 * 9 * 0.4 / 2)


def test_a_null_mode_is_left_alone_for_ever():
    """Training that never ends has the pseudo-inverse for its limit: a mode of eigenvalue zero is not divided by."""
    lam = torch.tensor([4.0, 0.0], dtype=torch.float64)
    assert Schedule().filter(lam, n=2).tolist() == [0.25, 0.0]
    assert Schedule(time=math.inf).filter(lam, n=2).tolist() == np.linalg.pinv(np.diag(lam)).diagonal().tolist()


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_jitter_is_added_below_the_floor_of_rounding_and_not_above(scale):
    """Floor of a float32 kernel: 4 eps sqrt(n) max K_ii, here of two samples."""
    floor = 4 * EPS * math.sqrt(2) * scale
    above = torch.diag(torch.tensor([scale, 1.5 * floor]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = Spectral(above)
        cut_short = Spectral(torch.diag(torch.tensor([scale, 0.0])), endless=False)
        ridged = Spectral(torch.diag(torch.tensor([scale, 0.0])), ridge=1.5 * floor)
    assert whole.jitter == cut_short.jitter == ridged.jitter == 0
    y = torch.ones(2, 1)
    np.testing.assert_allclose(whole.solve(y).numpy()[:, 0], 1 / above.double().diagonal().numpy(), rtol=1e-12)
    for small in (0.0, 0.6 * floor):
        K = torch.diag(torch.tensor([scale, small]))
        with pytest.warns(NumericalRepair, match="added jitter") as said:
            repaired = Spectral(K)
        assert repaired.jitter == pytest.approx(floor, rel=1e-12)
        assert f"{floor:.3g}" in str(said[0].message)
        shifted = K.double().diagonal().numpy() + floor
        np.testing.assert_allclose(repaired.solve(y).numpy()[:, 0], 1 / shifted, rtol=1e-9)
        with pytest.raises(ValueError, match="added jitter.*Add a ridge"):
            Spectral(K, strict=True)
        with pytest.warns(NumericalRepair):
            weak = Spectral(K, ridge=0.5 * floor)  # too little a ridge to help
        assert weak.jitter == pytest.approx(floor, rel=1e-12)


def test_a_ridge_is_solved_by_a_factor_and_the_spectrum_waits(monkeypatch):
    """The solution is that of the decomposition, which is not made before a mode, a time or the trajectory is asked for."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(60, 3, generator=generator, dtype=torch.float64)
    K, y = torch.exp(-torch.cdist(x, x)), torch.randn(60, 2, generator=generator)
    ridged = Spectral(K, ridge=0.1)
    lam, U = torch.linalg.eigh(K)
    want = U @ ((U.mT @ y.double()) / (lam + 0.1)[:, None])
    with monkeypatch.context() as patch:
        patch.setattr(torch.linalg, "eigh", lambda *_: pytest.fail("decomposed without need"))
        torch.testing.assert_close(ridged.solve(y), want)
        with pytest.raises(pytest.fail.Exception, match="without need"):
            ridged.solve(y, Schedule(time=3.0))
    torch.testing.assert_close(ridged.eigenvalues, lam.flip(0))
    torch.testing.assert_close(ridged.solve(y, Schedule(time=1e9)), want)
    bad = K - 0.5 * torch.eye(60, dtype=torch.float64)  # has eigenvalues below zero that the ridge would hide
    with pytest.warns(NumericalRepair, match="negative kernel eigenvalues"):
        repaired = Spectral(bad, ridge=0.6)
    assert (repaired.eigenvalues >= 0).all()
