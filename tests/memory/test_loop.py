"""Values and gradients of policies: against the whole chain, finite differences, chance, and torch's own derivative."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from priorscope.memory import (
    Bandit,
    Loop,
    Performance,
    arms_in_any_order,
    automaton,
    bernoulli,
    memento,
    performance,
    ram,
    random_start,
    simulate,
    steady_state,
    two_hypotheses,
)


def leaky(sees_last: bool = False):
    rng = np.random.default_rng(5)
    return automaton(rng.dirichlet(np.ones(3), size=(3, 2, 2, 2)), start=[0.2, 0.3, 0.5], sees_last=sees_last)


THREE = Bandit(np.random.default_rng(2).dirichlet(np.ones(3), size=(2, 3)), rewards=[-1.0, 0.5, 3.0], prior=[0.3, 0.7])
CASES = [
    (ram(3), two_hypotheses(0.3)),
    (memento(2), bernoulli([[0.8, 0.3], [0.2, 0.6], [0.5, 0.4]], prior=[0.5, 0.2, 0.3])),
    (leaky(), two_hypotheses(0.2)),
    (leaky(sees_last=True), two_hypotheses(0.2)),
    (ram(2, arms=3), arms_in_any_order([0.7, 0.5, 0.2])),
    (memento(2, arms=3, outcomes=3), THREE),
]


def policy_of(memory, seed=0):
    return torch.softmax(torch.from_numpy(random_start(memory, range(seed, seed + 1))[0]), -1).numpy()


def whole_chain(memory, bandit, policy, e):
    """The chain on all states, entry by entry."""
    chain = np.zeros((memory.n_states, memory.n_states))
    s, a, c, b = memory.successors.shape
    for i, j, k, m in np.ndindex(s, a, c, b):
        chance = policy[memory.observation[i], j] * bandit.laws[e, memory.arm[j], k] * memory.chances[i, j, k, m]
        chain[i, memory.successors[i, j, k, m]] += chance
    return chain


@pytest.mark.parametrize("memory, bandit", CASES)
@pytest.mark.parametrize("reset", [0.2, 1e-4, 0.0])
def test_reduced_chain_equals_the_whole_one(memory, bandit, reset):
    policy = policy_of(memory)
    found = performance(policy, memory, bandit, reset=reset)
    last = memory.plays[:, -1]
    wrong = reward = 0.0
    for e, prior in enumerate(bandit.prior):
        start = memory.restart(bandit)[e]
        assert_allclose(start.sum(), 1, rtol=1e-14)
        law = steady_state(whole_chain(memory, bandit, policy, e), start, reset)
        assert_allclose(found.occupancy[e], law, atol=1e-10)
        wrong += prior * law @ bandit.wrong[e, last[:, 0]]
        reward += prior * law @ bandit.rewards[last[:, 1]]
    assert_allclose([found.wrong, found.reward], [wrong, reward], atol=1e-10)
    assert found.gain == (found.reward / reset if reset else np.sign(found.reward) * np.inf)


@pytest.mark.parametrize("memory, bandit", CASES)
def test_gradient_is_the_derivative_of_the_value(memory, bandit):
    reset, loop = 0.01, Loop(memory, bandit)
    logits = torch.from_numpy(random_start(memory, range(1)))
    policies = torch.softmax(logits, -1)
    reward, _, slope = loop.reward_and_gradient(policies, reset)
    assert_allclose(float(reward), performance(policies[0], memory, bandit, reset=reset).reward, atol=1e-12)
    by_logit = (policies * (slope - (policies * slope).sum(-1, keepdim=True)))[0]
    rng = np.random.default_rng(0)
    for _ in range(6):
        o, a = rng.integers(memory.n_observations), rng.integers(memory.n_actions)
        ends = []
        for h in (1e-4, -1e-4):
            moved = logits.clone()
            moved[0, o, a] += h
            ends.append(float(loop.reward_and_gradient(torch.softmax(moved, -1), reset)[0]))
        assert_allclose((ends[0] - ends[1]) / 2e-4, float(by_logit[o, a]), rtol=1e-5, atol=1e-10)


def test_gradient_equals_torchs_through_repeated_squaring():
    """The source's own way: square the restarted matrix, and let torch differentiate."""
    memory, bandit, reset = ram(2), two_hypotheses(0.3), 1e-3
    logits = torch.from_numpy(random_start(memory, range(1))[0]).requires_grad_()
    pi = torch.softmax(logits, -1)
    total = torch.zeros((), dtype=torch.float64)
    for e in range(2):
        chain = torch.zeros(memory.n_states, memory.n_states, dtype=torch.float64)
        for c in range(2):
            to = torch.from_numpy(memory.successors[:, :, c, 0])
            chance = torch.from_numpy(bandit.laws[e, memory.arm, c])
            chain = chain.scatter_add(1, to, pi * chance)
        whole = reset * torch.from_numpy(memory.restart(bandit)[e]) + (1 - reset) * chain
        for _ in range(20):
            whole = whole @ whole
            whole = whole / whole.sum(1, keepdim=True)
        total = total + 0.5 * whole[0] @ torch.from_numpy(bandit.rewards[memory.plays[:, -1, 1]])
    total.backward()
    policies = torch.softmax(logits.detach(), -1)[None]
    reward, _, slope = Loop(memory, bandit).reward_and_gradient(policies, reset)
    assert_allclose(float(reward), float(total.detach()), rtol=1e-9)
    mine = policies * (slope - (policies * slope).sum(-1, keepdim=True))
    assert_allclose(mine[0].numpy(), logits.grad.numpy(), rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("memory, bandit", CASES)
def test_chance_agrees(memory, bandit):
    policy = policy_of(memory, 3)
    exact = performance(policy, memory, bandit, reset=0.05)
    seen = simulate(policy, memory, bandit, reset=0.05, players=600, steps=400, seed=4)
    for interval, value in ((seen.wrong, exact.wrong), (seen.reward, exact.reward)):
        half = (interval.high - interval.low) / 2
        assert abs(interval.value - value) < 2.2 * half  # 4.3 standard errors
        assert half < 0.1
    assert abs(seen.wrong.value - (1 - exact.wrong)) > abs(seen.wrong.value - exact.wrong)


def test_ram_is_an_automaton_that_writes():
    n = 3
    write = np.broadcast_to(np.eye(n)[None, :, None, None], (n, n, 2, 2, n))
    own = automaton(write, sees_last=True)
    policy = policy_of(ram(n))
    for reset in (0.0, 0.01):
        mine = performance(policy, own, two_hypotheses(0.4), reset=reset)
        assert_allclose(mine.wrong, performance(policy, ram(n), two_hypotheses(0.4), reset=reset).wrong, rtol=1e-12)


def test_reward_and_wrong_plays_are_one_number_for_two_hypotheses():
    found = performance(policy_of(ram(2)), ram(2), two_hypotheses(0.3), reset=0.01)
    assert_allclose(found.reward, 0.3 * (1 - 2 * found.wrong), rtol=1e-12)


def test_equal_chances_are_the_prior_unless_told():
    plain = Bandit(np.full((4, 2, 2), 0.5))
    assert plain.prior.tolist() == [0.25] * 4
    assert (plain.n_hypotheses, plain.n_arms, plain.n_outcomes) == (4, 2, 2)
    sure = bernoulli([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert_allclose(sure.prior, 1 / 3)
    assert sure.wrong.tolist() == [[False, True], [True, False], [False, False]]


def test_nothing_is_gained_without_restarts_where_nothing_is_earned():
    fair = Bandit(np.full((1, 2, 2), 0.5))
    found = performance(np.full((4, 2), 0.5), ram(1), fair, reset=0)
    assert_allclose(found.reward, 0, atol=1e-15)
    assert Performance(0.5, 0.0, 0.0, found.occupancy).gain == 0
    assert Performance(0.5, -0.1, 0.0, found.occupancy).gain == -np.inf


def test_plays_of_the_warm_up_do_not_count():
    told = simulate(np.full((4, 2), 0.5), ram(1), two_hypotheses(0.3), reset=0.1, players=3, steps=10, warm_up=4)
    assert told.plays == 3 * 6
    assert simulate(np.full((4, 2), 0.5), ram(1), two_hypotheses(0.3), reset=0.1, players=3, steps=10).plays == 3 * 7
    hers = np.zeros((8, 4))
    hers[:4, 2], hers[4:, 3] = 1.0, 1.0  # from memory 1 she writes 2 and plays A, and from memory 2 plays B for ever
    world = Bandit([[[0.0, 1.0], [1.0, 0.0]]])  # A pays, B does not
    late = simulate(hers, ram(2), world, reset=1e-12, players=5, steps=6, warm_up=2)
    assert (late.wrong.value, late.reward.value) == (1.0, -1.0)
    whole = simulate(hers, ram(2), world, reset=1e-12, players=200, steps=6, warm_up=0)
    assert_allclose(whole.wrong.value, (0.5 + 4) / 6, atol=0.03)  # the first arm is drawn, the second is A, then B


def test_outcomes_and_a_name_of_ones_own():
    assert ram(2, outcomes=3).letters[:6] == ("1A0", "1A1", "1A2", "1B0", "1B1", "1B2")
    assert ram(2, outcomes=3).n_outcomes == 3
    assert automaton(np.full((2, 2, 2, 2), 0.5), name="mine").name == "mine"


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: two_hypotheses(1.5), "mu"),
        (lambda: Bandit(np.ones((2, 2))), "hypotheses, arms, outcomes"),
        (lambda: Bandit(np.full((1, 2, 3), 1 / 3)), "needs rewards"),
        (lambda: Bandit(np.full((1, 2, 2), 0.4)), "probabilities"),
        (lambda: Bandit([[[-0.5, 1.5], [0.5, 0.5]]]), "probabilities"),
        (lambda: Bandit(np.ones((1, 0, 2))), "hypotheses, arms, outcomes"),
        (lambda: Bandit(np.full((1, 2, 2), 0.5), rewards=[0.0, 1.0, 2.0]), "2 finite rewards"),
        (lambda: Bandit(np.full((1, 2, 2), 0.5), rewards=[0.0, np.inf]), "2 finite rewards"),
        (lambda: Bandit(np.full((2, 2, 2), 0.5), prior=[0.5, 0.6]), "2 probabilities"),
        (lambda: Bandit(np.full((2, 2, 2), 0.5), prior=[-0.5, 1.5]), "2 probabilities"),
        (lambda: bernoulli([0.5, 0.2]), "between 0 and 1"),
        (lambda: bernoulli(np.zeros((0, 2))), "hypotheses, arms, outcomes"),
        (lambda: arms_in_any_order([[0.5, 0.2], [0.3, 0.4]]), "two to six arms"),
        (lambda: arms_in_any_order([0.5]), "two to six arms"),
        (lambda: arms_in_any_order(np.linspace(0, 1, 7)), "two to six arms"),
        (lambda: Loop(ram(2), arms_in_any_order([0.7, 0.4, 0.1])), "arms=3, outcomes=2"),
        (lambda: Loop(ram(2, arms=3, outcomes=3), two_hypotheses(0.1)), "3 arms and 3 outcomes; the bandit has 2"),
        (lambda: automaton(np.full((2, 2, 2, 2), 0.5), start=[0.5, 0.6]), "2 probabilities"),
        (lambda: automaton(np.full((2, 2, 2, 2), 0.5), start=[-0.5, 1.5]), "2 probabilities"),
        (lambda: automaton(np.full((2, 2, 2, 2), 0.5), start=[1.0]), "2 probabilities"),
        (lambda: automaton(np.full((82, 10, 10, 82), 1 / 82)), "too large"),
        (lambda: bernoulli([[0.5, 1.2]]), "between 0 and 1"),
        (lambda: bernoulli([[0.5, 0.2]], prior=[0.5, 0.5]), "prior"),
        (lambda: ram(0), "n >= 1"),
        (lambda: ram(2**12), "Use fewer states"),
        (lambda: memento(40), "Remember fewer plays"),
        (lambda: automaton(np.ones((2, 2, 2, 3))), "as many states before as after"),
        (lambda: automaton(np.ones((2, 2, 2, 2))), "sum to 1"),
        (lambda: performance(np.ones((8, 4)), ram(2), two_hypotheses(0.1), reset=0.1), "one law per observation"),
        (lambda: performance(np.full((4, 4), 0.25), ram(2), two_hypotheses(0.1), reset=0.1), r"\(8, 4\)"),
        (lambda: performance(np.tile([-1.0, 1, 1, 0], (8, 1)), ram(2), two_hypotheses(0.1), reset=0.1), "no negative"),
        (lambda: performance(np.full((2, 8, 4), 0.25), ram(2), two_hypotheses(0.1), reset=0.1), r"\(8, 4\)"),
        (
            lambda: simulate(np.full((8, 4), 0.25), ram(2), two_hypotheses(0.1), reset=0.1, steps=5, warm_up=5),
            "warm_up",
        ),
        (lambda: performance(np.full((8, 4), 0.25), ram(2), two_hypotheses(0.1), reset=1.0), "reset"),
        (lambda: performance(np.full((8, 4), 0.25), ram(2), two_hypotheses(0.1), reset=float("nan")), "reset"),
    ],
)
def test_bad_input_is_told(call, words):
    with pytest.raises(ValueError, match=words):
        call()
