"""Policies as graphs: moves of a walk that is solved by hand, and the places of its states along the line."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from priorscope.memory import PolicyGraph, automaton, bernoulli, memento, performance, policy_graph, ram

TURN = automaton(
    np.broadcast_to(np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])[:, None, None], (3, 2, 2, 3)), start=[0.2, 0.3, 0.5]
)  # 1, 2, 3, 1, …


def test_moves_of_a_ring_of_states():
    """Each memory state is visited equally often, left for the next one, and the arms and outcomes follow the policy."""
    plays = np.array([[1.0, 0.0], [0.25, 0.75], [0.0, 1.0]])
    world = bernoulli([[0.9, 0.2], [0.3, 0.6]])
    for hypothesis, chance in enumerate(world.laws):
        graph = policy_graph(plays, TURN, world, reset=0, hypothesis=hypothesis, by=1)
        assert graph.names == ("1", "2", "3")
        assert_allclose(graph.visits, 1 / 3, atol=1e-12)
        assert_allclose(graph.flows, np.roll(np.eye(3), 1, axis=1) / 3, atol=1e-12)
        whole = policy_graph(plays, TURN, world, reset=0, hypothesis=hypothesis, by=3)
        law = dict(zip(whole.names, whole.visits))
        for state, before in ((0, 2), (1, 0), (2, 1)):  # the last play is that of the state before
            for k, arm in enumerate("AB"):
                for c, sign in enumerate("-+"):
                    assert_allclose(law[f"{state + 1}{arm}{sign}"], plays[before, k] * chance[k, c] / 3, atol=1e-12)
        rows = whole.table()
        assert_allclose(rows["flow"].sum(), 1, rtol=1e-12)
        assert (rows["flow"].diff().dropna() <= 1e-15).all()
        for name, found in rows.groupby("from"):
            assert_allclose(found["flow"].sum(), law[name], rtol=1e-10)  # what arrives leaves
            assert_allclose(found["visits"], law[name])


def test_a_dot_leaves_out_the_outcomes_that_are_remembered():
    policy = np.random.default_rng(0).dirichlet([1, 1], 16)
    world = bernoulli([[0.9, 0.2], [0.3, 0.6]])
    graph = policy_graph(policy, memento(2), world, reset=0.1, hypothesis=1)
    assert sorted(graph.names) == ["AA", "AB", "BA", "BB"]
    law = performance(policy, memento(2), world, reset=0.1).occupancy[1]
    for name, visits in zip(graph.names, graph.visits):
        assert_allclose(visits, sum(p for p, word in zip(law, memento(2).letters) if word.startswith(name)), rtol=1e-12)


def test_a_line_is_drawn_in_its_order():
    """Moves to the neighbours alone, states named out of order: places along the line, the slow mode of its walk."""
    order = [3, 0, 4, 1, 2]
    flows = np.zeros((5, 5))
    for k, (a, b) in enumerate(pairwise(order)):
        flows[a, b], flows[b, a] = 0.04 * (k + 1), 0.01  # one way more often than the other
    place = PolicyGraph(tuple("abcde"), np.full(5, 0.2), flows).places()
    along = place[order, 0].tolist()
    assert along in ([0, 0.25, 0.5, 0.75, 1], [1, 0.75, 0.5, 0.25, 0])
    both = np.sqrt(flows + flows.T)
    walk = both / both.sum(1, keepdims=True)  # the same modes by another matrix: those of the walk itself
    values, modes = np.linalg.eig(walk)
    second = modes[:, np.argsort(-values.real)[2]].real
    up = (second - second.min()) / np.ptp(second)
    assert min(abs(place[:, 1] - up).max(), abs(place[:, 1] - (1 - up)).max()) < 1e-9


def test_two_states_and_states_that_are_never_used():
    flows = np.array([[0.2, 0.3], [0.3, 0.2]])
    two = PolicyGraph(("a", "b"), np.array([0.5, 0.5]), flows).places()
    assert sorted(two[:, 0].tolist()) == [0, 1]
    assert two[:, 1].tolist() == [0, 0]
    idle = np.zeros((3, 3))
    idle[:2, :2] = flows
    assert np.isfinite(PolicyGraph(("a", "b", "c"), np.array([0.5, 0.5, 0.0]), idle).places()).all()


@pytest.mark.parametrize("hypothesis", [-1, 2])
def test_a_hypothesis_that_is_not_there(hypothesis):
    with pytest.raises(ValueError, match="from 0 to 1"):
        policy_graph(
            np.full((4, 2), 0.5), ram(1), bernoulli([[0.9, 0.2], [0.3, 0.6]]), reset=0.1, hypothesis=hypothesis
        )
