"""Learning by exact gradients: the flow against an integrator of differential equations, Adam against torch's own."""

from __future__ import annotations

import numpy as np
import torch
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from priorscope.memory import Loop, learn, ram, random_start, two_hypotheses

WORLD, RESET = two_hypotheses(0.6), 0.05


def gain_and_slope(w):
    """The gain of softmax policies and its derivative by the logits, by torch through the restarted chain."""
    logits = torch.from_numpy(np.asarray(w)).requires_grad_()
    memory, pi = ram(2), torch.softmax(logits, -1)
    total = torch.zeros((), dtype=torch.float64)
    for e in range(2):
        chain = torch.zeros(8, 8, dtype=torch.float64)
        for c in range(2):
            chance = torch.from_numpy(WORLD.laws[e, memory.arm, c])
            chain = chain.scatter_add(1, torch.from_numpy(memory.successors[:, :, c, 0]), pi * chance)
        start = torch.from_numpy(memory.restart(WORLD)[e])
        law = torch.linalg.solve((torch.eye(8) - (1 - RESET) * chain).mT, RESET * start)
        total = total + 0.5 * law @ torch.from_numpy(WORLD.rewards[memory.plays[:, -1, 1]])
    (total / RESET).backward()
    return float(total.detach() / RESET), logits.grad.numpy()


def test_the_flow_follows_the_differential_equation():
    start = random_start(ram(2), range(1))
    reached = []
    for turn in (1e-2, 1e-4):
        found = learn(start, ram(2), WORLD, reset=RESET, evaluations=40, max_turn=turn, records=3)
        assert found.evaluations.tolist() == [1, 6, 40]
        assert found.times[0, 0] == 0
        end = float(found.times[0, -1])
        path = solve_ivp(lambda _, w: gain_and_slope(w.reshape(8, 4))[1].ravel(), (0, end), start.ravel(), rtol=1e-8)
        exact = torch.softmax(torch.from_numpy(path.y[:, -1].reshape(1, 8, 4)), -1)
        _, wrong, _ = Loop(ram(2), WORLD).reward_and_gradient(exact, RESET)
        moved = abs(found.wrong[0, 0] - float(wrong))
        assert abs(found.wrong[0, -1] - float(wrong)) < 0.01 * moved
        reached.append(end)
    assert reached[1] < reached[0] / 3  # a turn of g grows like the square of the step


def test_adam_is_that_of_torch():
    start = random_start(ram(2), range(2))
    found = learn(start, ram(2), WORLD, reset=RESET, method="adam", evaluations=16, rate=0.2, records=5)
    assert found.evaluations.tolist() == [1, 2, 4, 8, 16]
    assert found.times.tolist() == [[0, 1, 3, 7, 15]] * 2
    for seed, logits in enumerate(start):
        w = torch.from_numpy(logits.copy()).requires_grad_()
        adam, seen = torch.optim.Adam([w], lr=0.2, maximize=True), []
        for _ in range(16):
            policies = torch.softmax(w.detach(), -1)[None]
            seen.append(float(Loop(ram(2), WORLD).reward_and_gradient(policies, RESET)[1]))
            w.grad = torch.from_numpy(gain_and_slope(w.detach().numpy())[1])
            adam.step()
        assert_allclose(found.wrong[seed], [seen[k - 1] for k in (1, 2, 4, 8, 16)], rtol=1e-6)
        assert_allclose(found.best[seed], min(seen), rtol=1e-6)


def test_the_best_policy_of_each_seed_is_kept_though_the_last_is_worse():
    """Steps so long that a seed ends worse than it was on the way."""
    start = random_start(ram(2), range(6))
    found = learn(start, ram(2), WORLD, reset=RESET, method="adam", evaluations=12, rate=1.0)
    assert (found.wrong[:, -1] > found.best + 1e-6).any()
    loop = Loop(ram(2), WORLD)
    _, wrong, _ = loop.reward_and_gradient(torch.from_numpy(found.policies), RESET)
    assert_allclose(wrong.numpy(), found.best, rtol=1e-12)
    assert_allclose(found.best, found.wrong.min(1), rtol=1e-12)  # twelve evaluations, all of them recorded
