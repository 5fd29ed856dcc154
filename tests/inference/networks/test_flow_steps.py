"""The step rule of gradient flow on one weight, where change and turn of a step are known in closed form."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from priorscope.inference import GradientFlow, Members
from priorscope.inference.networks._flow_integration import Integration

ROW = slice(0, 1)
TURN = 1e-2


def one_weight(w=0.0):
    net = nn.Linear(1, 1, bias=False).double()
    nn.init.constant_(net.weight, w)
    return net


def quadratic(max_change=1e9):
    """f = w x at x = 1 with target 1: g = w - 1, so a step h turns g into (1 - h) g, its turn h^2/(1 - h)."""
    flow = GradientFlow(record=[1e9], max_turn=TURN, max_change=max_change)
    return Integration.of(flow, Members(one_weight()), torch.ones(1, 1).double(), torch.ones(1, 1).double())


def step_of_strain(strain):
    """The step whose turn is strain^2 max_turn."""
    s = strain**2 * TURN
    return (-s + np.sqrt(s**2 + 4 * s)) / 2


@pytest.mark.parametrize(
    "strain, accepted, factor",
    [
        (0.1, True, 2.0),  # 8 times shorter than need be: twice as long, no more
        (0.5, True, 1.6),
        (0.9, True, 1.0),  # nearly too long: kept, never shortened after it held
        (0.999, True, 1.0),
        (1.001, False, 0.7),  # just too long: shortened at once by a good part
        (1.1, False, 0.7),
        (1.6, False, 0.5),
        (6.0, False, 0.8 / 6),
        (20.0, False, 0.1),  # never below a tenth
    ],
)
def test_a_step_is_lengthened_or_shortened_by_its_strain(strain, accepted, factor):
    run = quadratic()
    h = step_of_strain(strain)
    run.dt.fill_(h)
    run.advance(ROW)
    assert bool(run.steps[0]) == accepted
    assert float(run.dt[0]) == pytest.approx(h * factor, rel=1e-6)
    assert float(run.t[0]) == (pytest.approx(h) if accepted else 0.0)
    assert float(run.w[0]) == (pytest.approx(h) if accepted else 0.0)  # w' = 1 - w from 0


@pytest.mark.parametrize("strain, accepted", [(0.9, True), (1.1, False)])
def test_the_change_of_the_outputs_bounds_a_step_too(strain, accepted):
    run = quadratic(max_change=0.01)  # the first step moves the output by h
    run.dt.fill_(0.01 * strain)
    run.advance(ROW)
    assert bool(run.steps[0]) == accepted


def kink(w, max_change=1.0):
    """Hinge losses of two points, x = 1 and x = 1/2: the gradient jumps from -3/4 to -1/4 where w crosses 1."""
    flow = GradientFlow(centre=False, loss="hinge", record=[1e9], max_turn=TURN, max_change=max_change)
    x = torch.tensor([[1.0], [0.5]], dtype=torch.float64)
    return Integration.of(flow, Members(one_weight(w)), x, torch.ones(2, 1).double())


def test_a_short_step_over_a_kink_passes_if_it_moves_no_output():
    """Turn 4/3 at any length: only the floor, a thousandth of max(t, loss/|g|^2), lets it through."""
    w = 1 - 1e-5
    run = kink(w)
    assert float(run.size[0]) == pytest.approx(0.75**2)
    floor = 1e-3 * float(run.value[0]) / 0.75**2
    assert float(run.value[0]) == pytest.approx((1e-5 + 0.5 + 0.5e-5) / 2)
    run.dt.fill_(0.99 * floor)
    run.advance(ROW)
    assert int(run.steps[0]) == 1
    assert float(run.w[0]) == pytest.approx(w + 0.75 * 0.99 * floor)
    longer = kink(w)
    longer.dt.fill_(1.5 * floor)
    longer.advance(ROW)
    assert int(longer.steps[0]) == 0  # above the floor the turn refuses it,
    assert float(longer.dt[0]) == pytest.approx(floor)  # and the next trial is no shorter than the floor
    late = kink(w)
    late.t.fill_(5.0)  # late in a run the floor is a thousandth of the time
    late.dt.fill_(4.9e-3)
    late.advance(ROW)
    assert int(late.steps[0]) == 1


def test_a_short_step_over_a_kink_that_moves_outputs_is_refused():
    run = kink(1 - 1e-5, max_change=1e-2)
    floor = 1e-3 * float(run.value[0]) / 0.75**2
    h = 0.99 * floor
    assert 1e-2 * 1e-2 < 0.75 * h < 1e-2  # more than a hundredth of the bound, less than the bound
    run.dt.fill_(h)
    run.advance(ROW)
    assert int(run.steps[0]) == 0
    assert float(run.dt[0]) < h


def test_a_step_cut_short_by_a_record_says_nothing_against_longer_ones():
    flow = GradientFlow(record=[1e-4, 1e9], max_turn=TURN, max_change=1e9)
    run = Integration.of(flow, Members(one_weight()), torch.ones(1, 1).double(), torch.ones(1, 1).double())
    run.dt.fill_(0.05)
    run.advance(ROW)
    assert float(run.t[0]) == 1e-4
    assert float(run.dt[0]) == 0.05


def test_the_first_step_is_a_thousandth_of_the_time_of_the_loss():
    data = SimpleNamespace(inputs=torch.ones(1, 1).double(), targets=torch.ones(1, 1).double())
    run = Integration.of(GradientFlow(), Members(one_weight()), data.inputs, data.targets)
    assert float(run.dt[0]) == pytest.approx(1e-3 * 0.5)  # loss 1/2, |g|^2 = 1
