"""The policy that goes two ways: a certificate in exact fractions that it beats every necklace policy, and its limit."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from priorscope.memory import memento, necklace_limit, necklace_policy, performance, two_hypotheses, two_way_policy

WORDS = ["".join(w) for w in product("AB", repeat=4)]
SIGNS = ["".join(s) for s in product("-+", repeat=4)]
STATES = [word + signs for word in WORDS for signs in SIGNS]  # the oldest play on the left
MU = Fraction(1, 10)
DEVIATIONS = {  # state: the order of ε with which the other arm than the oldest is played; None for the ends' own rate
    "AAAA----": None, "BBBB----": None,
    "BAAA-+++": 1, "AABA--+-": 2, "BABA-+-+": 1, "ABAB-+-+": 2,
    "ABBB-+++": 1, "BABB-+--": 2, "AABB--++": 1, "BAAB-++-": 2,
}  # fmt: skip


def decisions(rate, end, deviations):
    """The chance to play B in each state, exactly."""
    chances = {state: Fraction(int(state[0] == "B")) for state in STATES}
    for state, order in deviations.items():
        deviates = end if order is None else rate**order
        chances[state] = deviates if state[0] == "A" else 1 - deviates
    return chances


def moves(chances, good):
    """Of each state: the states that may follow with their exact chances, from the letters alone."""
    pays = {arm: (1 + (MU if arm == good else -MU)) / 2 for arm in "AB"}
    found = {}
    for state in STATES:
        rows = {}
        for arm, chance in (("A", 1 - chances[state]), ("B", chances[state])):
            for sign, p in (("+", pays[arm]), ("-", 1 - pays[arm])):
                if chance:
                    rows[state[1:4] + arm + state[5:] + sign] = chance * p
        found[state] = rows
    return found


def potential(chain, wrong):
    """An approximate solution h of h + q = wrong + P h in floating point, as fractions: exact is only what is made of it."""
    index = {state: i for i, state in enumerate(STATES)}
    P = np.zeros((256, 256))
    for state, rows in chain.items():
        for after, p in rows.items():
            P[index[state], index[after]] = float(p)
    system = np.eye(256) - P
    system[:, 0] = 1.0  # h of the first state is 0; in its place the unknown q
    solution = np.linalg.solve(system, np.array([float(wrong[s]) for s in STATES]))
    values = [0.0, *solution[1:]]
    return {state: Fraction(round(values[i] * 2**30), 2**30) for i, state in enumerate(STATES)}


def certified(chances):
    """A rational number that the long-run chance to play the worse arm does not exceed, whatever state one starts from.

    For any numbers h: the mean of wrong + P h - h over a law that P keeps is the mean of wrong, so it is at most the largest
    value over states of wrong + P h - h. Mean over the two hypotheses. Every operation on fractions is exact.
    """
    bounds = []
    for good in "AB":
        wrong = {s: (1 - chances[s] if good == "B" else chances[s]) for s in STATES}
        chain = moves(chances, good)
        h = potential(chain, wrong)
        bounds.append(max(wrong[s] + sum(p * h[t] for t, p in chain[s].items()) - h[s] for s in STATES))
    return sum(bounds) / 2


def necklaces_at_best():
    """q* of necklace policies for m = 4, of which the longest chain has five, as a fraction: 1/(1 + ((1+μ)/(1-μ))^16)."""
    return 1 / (1 + ((1 + MU) / (1 - MU)) ** 16)


def test_a_certificate_in_fractions_puts_the_policy_below_every_necklace_policy():
    bound = certified(decisions(Fraction(1, 10), Fraction(1, 10_000), DEVIATIONS))
    assert float(necklaces_at_best()) == pytest.approx(necklace_limit(4, float(MU)), rel=1e-12)
    assert bound < Fraction(2308, 100_000) < necklaces_at_best()
    policy = two_way_policy(0.1, 1e-4)
    assert float(bound) == pytest.approx(performance(policy, memento(4), two_hypotheses(0.1), reset=0).wrong, abs=1e-6)


def test_the_certificate_does_not_hold_where_it_should_not():
    rate, end = Fraction(1, 10), Fraction(1, 10_000)
    one_way = {"AAAA----": None, "BBBB----": None, "BAAA-+++": 1, "AAAB---+": 1, "BAAB-++-": 1, "AABB--++": 1,
               "BABB-+--": 1, "ABBB-+++": 1}  # fmt: skip
    started = decisions(rate, end, {**one_way, "ABAB-+-+": 1})  # from ABAB, which is not on the chain, one gets away
    assert certified(started) > necklaces_at_best()
    seldom = {**DEVIATIONS, "BAAA-+++": 2, "AABA--+-": 1}  # AAAA is entered less often than left behind
    assert certified(decisions(rate, end, seldom)) > necklaces_at_best()


def test_the_policy_of_the_library_has_these_ten_deviations():
    policy = two_way_policy(0.1, 1e-4)
    wanted = decisions(Fraction(1, 10), Fraction(1, 10_000), DEVIATIONS)
    letters = memento(4).letters
    np.testing.assert_allclose(policy[:, 1], [float(wanted[word]) for word in letters], rtol=0, atol=1e-15)
    oldest = np.array([word[0] == "B" for word in letters], dtype=float)
    assert (policy[:, 1] != oldest).sum() == len(DEVIATIONS)


@pytest.mark.parametrize("mu", [0.05, 0.1, 0.3])
def test_its_limit_has_the_exponent_of_all_six_necklaces(mu):
    odds = (1 + mu) / (1 - mu)
    wrong = [
        performance(two_way_policy(e, e**4), memento(4), two_hypotheses(mu), reset=0).wrong for e in (1e-2, 1e-3, 1e-4)
    ]
    off = np.array(wrong) * (1 + odds**20) - 1
    assert (off > 0).all()
    assert off[2] / off[1] == pytest.approx(0.1, rel=0.02)  # the distance from the limit falls like ε
    line = performance(necklace_policy(4, 1e-16, 1e-4), memento(4), two_hypotheses(mu), reset=0)
    assert (
        wrong[-1] < necklace_limit(4, mu) <= line.wrong * (1 + 1e-3)
    )  # control: a chain does not come below its own limit


def test_restarts_leave_it_ahead():
    found = performance(two_way_policy(0.1, 1e-3), memento(4), two_hypotheses(0.1), reset=1e-8).wrong
    assert found < 0.03 < necklace_limit(4, 0.1)
