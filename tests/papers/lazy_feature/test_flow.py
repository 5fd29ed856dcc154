"""Exact statements about gradient flow at an output scale: start, sign, accepted steps, accuracy of the step."""

from __future__ import annotations

import torch

from priorscope.inference import GradientFlow, SoftHinge
from priorscope.inference.networks._flow_control import KINK, KINK_CHANGE
from priorscope.inference.networks._flow_integration import Integration
from priorscope.inference.networks._members import Members
from priorscope.models import DenseStack
from priorscope.papers.lazy_feature._runs import split

TRAIN, TEST = split(12, 60, 0)


def integration(max_turn=1e-3, rescaled=(1e-2, 1.0, 1e3)):
    stack = DenseStack(64, 8, 2, [0] * len(rescaled))
    flow = GradientFlow(
        alpha=[a / 8**0.5 for a in rescaled], loss="soft-hinge", stop="fitted", max_turn=max_turn, time=1e9, record=1
    )
    return flow, stack, Integration.of(flow, Members(stack, dtype=torch.float64), TRAIN.inputs, TRAIN.targets)


def test_t2_gradient_by_finite_differences():
    _, _, run = integration()
    direction = torch.randn(run.w.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    rows, eps = slice(0, 3), 1e-6
    run.w = run.w + 0.01 * direction  # away from F = 0, where all members look alike
    _, _, g = run.evaluate(run.w, rows)
    step = eps * direction * run.alpha[:, None].clamp(max=1)
    up, down = (run.evaluate(run.w + s * step, rows)[1] for s in (1, -1))
    torch.testing.assert_close((up - down) / 2, (g * step).sum(1), rtol=1e-4, atol=0)


def test_t3_the_predictor_starts_at_zero_and_the_loss_pulls_to_the_label():
    _, _, run = integration()
    assert float(run.F.abs().max()) == 0
    slope = SoftHinge().slope(run.F, TRAIN.targets)
    assert bool((slope * TRAIN.targets < 0).all())


def test_t4_every_accepted_step_meets_both_bounds_and_lowers_the_loss():
    flow, _, run = integration()
    checked = exempt = done = 0
    for _ in range(250):
        if done == 3:
            break
        F, g, value, steps, t = (a.clone() for a in (run.F, run.g, run.value, run.steps, run.t))
        ended = run.advance(slice(done, 3))
        moved = run.steps > steps
        change = (run.F - F).abs().flatten(1).amax(1)[moved]
        turn = ((run.g - g).square().sum(1) / (run.g.norm(dim=1) * g.norm(dim=1)))[moved]
        assert bool((change < flow.max_change).all())
        # the documented exception: too short to matter, and no output moves
        short = (run.t - t <= KINK * torch.maximum(t, run.scale) * (1 + 1e-12))[moved]
        free = short & (change < KINK_CHANGE * flow.max_change)
        assert bool(((turn < flow.max_turn) | free).all())
        exempt += int((free & (turn >= flow.max_turn)).sum())
        assert bool((run.value[moved] <= value[moved]).all())
        checked += int(moved.sum())
        done += run._retire(slice(done, 3)) if ended else 0
    assert checked > 200
    assert exempt < 0.05 * checked


def test_t20_a_tenth_of_the_turn_moves_outputs_by_less_than_a_hundredth():
    def outputs(max_turn):
        flow, stack, _ = integration(max_turn, (1.0, 1e3))
        return flow.fit(stack, TRAIN).predict(TEST.inputs)

    fine, coarse, rough = outputs(1e-4), outputs(1e-3), outputs(0.3)
    distance = [float((other - fine).norm() / fine.norm()) for other in (coarse, rough)]
    assert distance[0] < 1e-2
    assert distance[1] > 2 * distance[0]  # and the measure sees a bound three hundred times as wide
