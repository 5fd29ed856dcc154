"""Small numbers of the regime probes, worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from priorscope.probes import fluctuations
from priorscope.probes.regimes._movement import half_times, relative_change
from priorscope.probes.regimes._regime import _default_flow
from priorscope.probes.regimes._result import Regime, crossing


def regime(change, test_error=None, alphas=(0.1, 1.0, 10.0), alpha=1.0, **options):
    change = np.asarray(change, float)
    zeros = np.zeros_like(change)
    given = {"weight_change": zeros, "activation_change": zeros, "half_time": zeros, "fitted": np.ones_like(change)}
    error = zeros if test_error is None else np.asarray(test_error, float)
    return Regime(
        width=options.pop("width", 16),
        alphas=np.asarray(alphas, float),
        alpha=alpha,
        kernel_change=change,
        test_error=error,
        **given,
        **options,
    )


def test_standard_errors_of_ensembles_by_hand():
    """Four single members with 0, 1, 2, 3 of four signs wrong: mean 3/8, standard error sqrt(5/3)/4/2."""
    outputs = np.array([[1, 1, 1, 1], [-1, 1, 1, 1], [-1, -1, 1, 1], [-1, -1, -1, 1]], float)
    found = fluctuations(outputs, np.ones(4), sizes=(1, 2, 4))
    assert found.error[0] == pytest.approx(3 / 8)
    assert found.spread[0] == pytest.approx(math.sqrt(5 / 3) / 4 / 2)
    assert found.error[1] == pytest.approx((1 / 4 + 3 / 4) / 2)  # a mean of zero is on no side: wrong
    assert found.spread[1] == pytest.approx(math.sqrt(0.5**2 / 2) / math.sqrt(2))
    assert np.isnan(found.spread[2])  # one group has no spread
    assert found.variance.value == pytest.approx(np.mean([1.0, 4 / 3, 1.0, 0.0]))


def test_the_crossing_is_that_of_the_mean_logarithm():
    """Between alpha 1 (change sqrt(9 * 1) = 3) and 100 (change 1/27): log change falls to zero after a quarter of the way."""
    alphas = np.array([0.01, 1.0, 100.0])
    change = np.array([[9.0, 9.0], [9.0, 1.0], [1 / 81, 1 / 9]])
    assert crossing(alphas, change) == pytest.approx(100**0.25)
    assert np.isnan(crossing(alphas, change + 10))
    assert np.isnan(crossing(alphas, change / 1000))


@pytest.mark.parametrize(
    "alpha, name", [(1.0, "crossover"), (2.9, "crossover"), (3.1, "lazy"), (1 / 2.9, "crossover"), (1 / 3.1, "feature")]
)
def test_the_regime_is_named_by_its_distance_to_the_crossover(alpha, name):
    alphas = np.unique([0.1, alpha, 10.0])
    found = regime((1 / alphas)[:, None] ** 1.5, alphas=alphas, alpha=alpha)  # change 1 at alpha 1
    assert found.crossover == pytest.approx(1.0)
    assert found.name == name


def test_without_a_crossover_the_mean_logarithm_at_the_own_scale_decides():
    lazy = regime([[0.5, 0.5], [3.0, 0.2], [0.1, 0.1]])  # sqrt(0.6) < 1, the plain mean is not
    assert lazy.name == "lazy"
    assert regime([[9, 9], [3.0, 0.5], [2.0, 2.0]]).name == "feature"
    assert lazy.row == 1
    assert lazy.table().rescaled_alpha.tolist() == pytest.approx([0.4, 0.4, 4.0, 4.0, 40.0, 40.0])


def test_errors_are_told_apart_beyond_two_standard_errors():
    """Of two seeds each: low 0.2 +- 0.02, high 0.1 +- 0.02, noise 2 * hypot(0.02, 0.02) = 0.057; at +- 0.04 it is 0.113."""
    sharp = regime([[9, 9], [1, 1], [0.1, 0.1]], [[0.18, 0.22], [0, 0], [0.08, 0.12]])
    assert "the larger one does better" in sharp.words
    blurred = regime([[9, 9], [1, 1], [0.1, 0.1]], [[0.16, 0.24], [0, 0], [0.06, 0.14]])
    assert "no difference beyond the seeds" in blurred.words
    turned = regime([[9, 9], [1, 1], [0.1, 0.1]], [[0.08, 0.12], [0, 0], [0.18, 0.22]])
    assert "the smaller one does better" in turned.words
    # 0.1 apart, noise 0.1004 with n - 1 in the variances; with n in either it would be 0.088
    edge = regime([[9, 9], [1, 1], [0.1, 0.1]], [[0.165, 0.235], [0, 0], [0.064, 0.136]])
    assert "no difference beyond the seeds" in edge.words


def test_half_times_are_interpolated_in_the_logarithm_of_time():
    """Loss 8 -> half is 4, passed between t = 10 (loss 6) and t = 1000 (loss 2), half of the way."""
    loss = torch.tensor([[8.0, 8.0], [8.0, 8.0], [6.0, 7.0], [2.0, 5.0]])
    times = torch.tensor([0.0, 1.0, 10.0, 1000.0])
    found = half_times(SimpleNamespace(trajectory=SimpleNamespace(loss=loss, times=times), predict=len, seconds=0.0))
    assert float(found[0]) == pytest.approx(100.0)
    assert torch.isnan(found[1])  # never


def test_relative_change_is_a_ratio_of_norms():
    start, end = torch.tensor([[3.0, 4.0], [1.0, 0.0]]), torch.tensor([[3.0, 5.0], [0.0, 2.0]])
    assert relative_change(start, end).tolist() == pytest.approx([1 / 5, 5**0.5])


def test_flows_of_regressions_stop_at_a_hundredth_of_what_nothing_explains():
    targets = torch.tensor([[1.0, 2.0], [3.0, 0.0], [0.0, 1.0]])
    split = SimpleNamespace(targets=targets)
    flow = _default_flow(SimpleNamespace(task="regression", train=split), quick=True)
    assert flow.stop == pytest.approx((5 + 9 + 1) / 3 / 2 / 100)
    assert (flow.max_turn, flow.max_steps) == (2e-2, 250)
    slow = _default_flow(SimpleNamespace(task="classification", train=split), quick=False)
    assert (slow.stop, slow.max_turn, slow.max_steps) == ("fitted", 1e-3, 3000)
