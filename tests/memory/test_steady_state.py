"""Laws of chains: by powers of the restarted chain, and by exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose

from priorscope.memory import steady_state, without_restarts


def random_chain(n: int, seed: int, sparse: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    chain = rng.exponential(size=(n, n)) * (rng.random((n, n)) >= sparse)
    chain[np.arange(n), (np.arange(n) + 1) % n] += 0.1
    return chain / chain.sum(1, keepdims=True)


@pytest.mark.parametrize("reset", [0.3, 1e-3, 1e-6])
def test_restarts_equal_the_squared_chain_of_the_source(reset):
    chain, start = random_chain(9, 0, sparse=0.5), np.random.default_rng(1).dirichlet(np.ones(9))
    whole = reset * start + (1 - reset) * chain
    for _ in range(40):  # algorithm 1 of the source
        whole = whole @ whole
        whole /= whole.sum(1, keepdims=True)
    assert_allclose(steady_state(chain, start, reset), whole[0], rtol=1e-8)
    assert abs(steady_state(chain, start, 0.5 * reset) - whole[0]).max() > 1e-9


def fractions_law(chain: list[list[Fraction]]) -> list[Fraction]:
    """The stationary law by Gaussian elimination in exact fractions."""
    n = len(chain)
    rows = [[chain[j][i] - (1 if i == j else 0) for j in range(n)] + [Fraction(0)] for i in range(n - 1)]
    rows.append([Fraction(1)] * n + [Fraction(1)])
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        rows = [row if i == k else [x - row[k] * y for x, y in zip(row, rows[k])] for i, row in enumerate(rows)]
    return [row[-1] for row in rows]


def test_tiny_probabilities_keep_their_digits():
    rare = 2.0**-60
    chain = np.array([[1 - rare, rare, 0, 0], [0.5, 0.25, 0.25, 0], [0, 0.5, 0.5 - rare, rare], [0, 0, 1, 0]])
    steps = [[Fraction(x) for x in row] for row in chain.tolist()]
    for i in range(4):  # floats cannot hold 1 - rare: the chance to stay is what the others leave
        steps[i][i] = 1 - sum(steps[i][j] for j in range(4) if j != i)
    exact = [float(p) for p in fractions_law(steps)]
    start = np.full(4, 0.25)
    assert_allclose(without_restarts(chain, start), exact, rtol=1e-14)
    plain = np.linalg.solve(np.vstack([(chain.T - np.eye(4))[:-1], np.ones(4)]), [0, 0, 0, 1.0])
    assert abs(plain[3] / exact[3] - 1) > 1e-6  # what elimination without subtractions is for


def test_several_closed_classes_are_weighted_by_the_chance_to_end_there():
    chain = np.array([[0.0, 0.25, 0.75, 0.0], [0, 1, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]])
    law = without_restarts(chain, np.array([0.8, 0.2, 0, 0]))
    assert_allclose(law, [0, 0.4, 0.3, 0.3], atol=1e-15)
    assert_allclose(law, steady_state(chain, np.array([0.8, 0.2, 0, 0]), 1e-9), atol=1e-8)
