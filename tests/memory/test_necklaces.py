"""Necklaces: counts, chains, the policy and its limit, walks between neighbours."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from priorscope.memory import (
    bernoulli,
    chain_bound,
    chance_to_cross,
    column_limit,
    count_necklaces,
    learn,
    mass_at_far_end,
    memento,
    memento_start,
    necklace_chain,
    necklace_limit,
    necklace_memory,
    necklace_of,
    necklace_policy,
    performance,
    steady_state,
    two_hypotheses,
)


def test_counts_and_longest_chains():
    for m in (1, 2, 3, 4, 5, 6, 7, 8):
        words = ["".join(w) for w in itertools.product("AB", repeat=m)]
        assert count_necklaces(m) == len({necklace_of(w) for w in words})
    lengths = [len(necklace_chain(m)) for m in range(1, 10)]
    assert lengths == [2, 3, 4, 5, 8, 13, 20, 33, 60]  # Degni & Drisko for primes; the parity bound for the others
    assert lengths == [chain_bound(m) for m in range(1, 10)]
    for m in (4, 5, 6, 9):
        chain = necklace_chain(m)
        assert (chain[0], chain[-1], len(set(chain))) == ("A" * m, "B" * m, len(chain))
        for a, b in itertools.pairwise(chain):
            rotations = [b[i:] + b[:i] for i in range(m)]
            assert min(sum(x != y for x, y in zip(a, r)) for r in rotations) == 1


@pytest.mark.parametrize("m, end, inner, value", [(3, 1e-9, 1e-3, 0.1413), (4, 1e-9, 1e-3, 0.03887)])
def test_policy_reaches_its_limit_from_above(m, end, inner, value):
    found = performance(necklace_policy(m, end, inner), necklace_memory(m), two_hypotheses(0.1), reset=0).wrong
    assert_allclose(found, value, rtol=2e-3)  # computed on the whole chain of 4^m states by another program
    assert found > necklace_limit(m, 0.1)
    hasty = performance(necklace_policy(m, 0.1, 1.0), necklace_memory(m), two_hypotheses(0.1), reset=0).wrong
    assert hasty > 1.3 * found


def test_limit_is_the_published_formula():
    for m, value in ((2, 0.3095), (3, 0.1411), (4, 0.03876), (5, 8.90e-4), (6, 5.31e-7)):
        assert_allclose(necklace_limit(m, 0.1), value, rtol=2e-3)
        alpha, n = 0.9 / 1.1, len(necklace_chain(m))
        assert_allclose(necklace_limit(m, 0.1), 1 / (1 + alpha ** (m * (1 - n))), rtol=1e-10)
    ka, kb = 0.7, 0.4
    for m in (3, 5):  # chains on which both letters are equally frequent: the source's general form
        n = len(necklace_chain(m))
        power = ((1 - kb) / (1 - ka)) ** m * ((1 / kb - 1) / (1 / ka - 1)) ** (m * (n - 2) / 2)
        assert_allclose(1 / necklace_limit(m, (ka, kb)) - 1, power, rtol=1e-10)
    world = bernoulli([[ka, kb]])
    found = performance(necklace_policy(3, 1e-9, 1e-3), necklace_memory(3), world, reset=0).wrong
    assert_allclose(found, necklace_limit(3, (ka, kb)), rtol=0.01)
    assert necklace_limit(5, 0.1) < column_limit(4, 0.1)  # a longer memory, though it is only read


def test_learnt_policies_stay_above_the_limit():
    found = learn(
        memento_start(2, "random", range(4)),
        memento(2),
        two_hypotheses(0.1),
        reset=1e-4,
        method="adam",
        evaluations=300,
    )
    assert (found.best > necklace_limit(2, 0.1)).all()
    assert found.best.min() < 0.36
    for kind in ("cycles", "necklace"):
        start = memento_start(3, kind, range(2))
        assert learn(start, memento(3), two_hypotheses(0.1), reset=1e-4, evaluations=5).wrong.shape[0] == 2


def walk(left, right, near, far):
    """The chain with an end state on either side."""
    n = len(left)
    chain = np.zeros((n + 2, n + 2))
    chain[0, 1], chain[-1, -2] = near, far
    for i, (l, r) in enumerate(zip(left, right), 1):
        chain[i, i - 1], chain[i, i + 1] = l, r
    return chain + np.diag(1 - chain.sum(1))


@pytest.mark.parametrize("n", [1, 4, 20])
def test_walks(n):
    rng = np.random.default_rng(n)
    left, right = 0.5 * rng.uniform(0.3, 1, n), 0.5 * rng.uniform(0.3, 1, n)
    law = steady_state(walk(left, right, 2e-7, 3e-7), np.full(n + 2, 1 / (n + 2)), 0)
    assert_allclose(law[-1], mass_at_far_end(left, right, leave_far=3.0, leave_near=2.0), rtol=1e-4, atol=1e-6)
    absorbing = walk(left, right, 0.0, 0.0)
    start = np.eye(n + 2)[1]
    assert_allclose(steady_state(absorbing, start, 0)[-1], chance_to_cross(left, right), rtol=1e-10)
    assert abs(chance_to_cross(right, left) - chance_to_cross(left, right)) > 1e-6


def test_a_search_that_finds_no_chain_says_so(monkeypatch):
    monkeypatch.setattr("priorscope.memory._necklaces._TRIES", 0)
    with pytest.raises(RuntimeError, match="no chain of 5 necklaces of 4 letters was found in 0 tries"):
        necklace_chain.__wrapped__(4)


def test_a_chain_of_ones_own():
    """A short chain of five letters, with an end that the longest one does not have: fewer necklaces, a larger limit."""
    short = ["AAAAA", "AAAAB", "ABBAA", "BBABA", "ABBBB", "BBBBB"]
    names = [necklace_of(word) for word in short]
    assert_allclose(1 / necklace_limit(5, 0.1, chain=short) - 1, (1.1 / 0.9) ** (5 * 5), rtol=1e-10)
    assert necklace_limit(5, 0.1, chain=short) > necklace_limit(5, 0.1)
    started = necklace_memory(5, chain=short)
    middle = {word[:5] for word, p in zip(started.letters, started.start) if p > 0}
    assert {necklace_of(word) for word in middle} == {names[2], names[3]}
    assert len(middle) == 10
    world = bernoulli([[0.6, 0.45]])
    found = performance(necklace_policy(5, 1e-9, 1e-4, chain=short), started, world, reset=0).wrong
    assert_allclose(found, necklace_limit(5, (0.6, 0.45), chain=short), rtol=0.02)
    assert necklace_limit(6, 0.999) == pytest.approx((0.001 / 1.999) ** (6 * 12), rel=1e-9)  # no overflow, no zero


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: necklace_limit(3, 0.1, chain=["AAA", "AAB", "ABB"]), "one letter at a time"),
        (lambda: necklace_limit(3, 0.1, chain=["AAB", "ABB", "BBB"]), "one letter at a time"),
        (lambda: necklace_limit(2, 0.1, chain=["AA", "AB", "AA", "AB", "BB"]), "one letter at a time"),
        (lambda: chance_to_cross([0.0], [0.1]), "positive"),
        (lambda: chance_to_cross([0.1, 0.1], [0.1]), "positive"),
        (lambda: chance_to_cross([[0.1]], [[0.1]]), "positive"),
        (lambda: mass_at_far_end([0.1], [0.2], leave_near=0.0), "leave_near"),
        (lambda: necklace_policy(3, 0.1, 2.0), "inner_rate"),
        (lambda: necklace_policy(3, 0.1, 0.1, chain=["AAA", "BBB"]), "one letter at a time"),
        (lambda: necklace_limit(3, 1.2), "k_A > k_B"),
        (lambda: chance_to_cross([0.1], [0.0]), "positive"),
        (lambda: mass_at_far_end([0.1], [0.2], leave_far=0.0), "leave_far"),
        (lambda: necklace_chain(40), "<= 16"),
        (lambda: memento_start(3, "ring", range(2)), "cycles"),
        (lambda: learn(np.zeros((1, 4, 4)), memento(2), two_hypotheses(0.1), reset=0.1), "needs logits"),
        (lambda: learn(memento_start(2, "random", range(1)), memento(2), two_hypotheses(0.1), reset=0.0), "restarts"),
        (
            lambda: learn(
                memento_start(2, "random", range(1)), memento(2), two_hypotheses(0.1), reset=0.1, method="sgd"
            ),
            "flow and adam",
        ),
    ],
)
def test_bad_input_is_told(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()
