"""Where a Markov chain spends its time: with restarts by one factorisation, without them by elimination free of subtractions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

__all__ = ["steady_state", "without_restarts"]

Array = NDArray[np.float64]


def steady_state(transition: Array, start: Array, reset: float) -> Array:
    r"""The law p of a chain that restarts with probability r from any state (rows of ``transition`` sum to 1).

    .. math:: p = r\,p_0 + (1-r)\,T^\top p

    Geiger, Eloy & Wyart (2021), Lemma 2.1. For r = 0 the limit r → 0, see :func:`without_restarts`.

    Example:
        >>> steady_state(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 0.0]), 0.5).round(4).tolist()
        [0.6667, 0.3333]
    """
    if reset == 0:
        return without_restarts(transition, start)
    p = np.linalg.solve(np.eye(len(start)) - (1 - reset) * transition.T, reset * start)
    return np.asarray(p / p.sum())


def without_restarts(transition: Array, start: Array) -> Array:
    r"""The limit of :func:`steady_state` for r → 0: the laws of the closed classes, weighted by the chance to end in each.

    The law of a class comes from the elimination of Grassmann, Taksar & Heyman (1985), which adds, multiplies and divides
    positive numbers only: a probability of 1e-60 keeps its digits, which a plain solution of the equations does not.

    Example:
        >>> walk = np.array([[1 - 1e-30, 1e-30], [0.5, 0.5]])
        >>> float(without_restarts(walk, np.array([0.5, 0.5]))[1]) / 2e-30
        1.0
    """
    n, labels = connected_components(csr_array(transition > 0), directed=True, connection="strong")
    leaves = np.zeros(n, dtype=bool)
    rows, columns = np.nonzero(transition)
    np.logical_or.at(leaves, labels[rows], labels[rows] != labels[columns])
    closed = np.flatnonzero(~leaves)
    weights = _absorption(transition, start, labels, closed)
    p = np.zeros(len(start))
    for label, weight in zip(closed, weights):
        if weight > 0:
            members = np.flatnonzero(labels == label)
            p[members] = weight * _eliminate(transition[np.ix_(members, members)])
    return p


def _absorption(transition: Array, start: Array, labels: NDArray[np.int32], closed: NDArray[np.int64]) -> Array:
    """The chance to end in each closed class from the law ``start``."""
    inside = np.isin(labels, closed)
    mass = np.array([start[labels == label].sum() for label in closed])
    passing = np.flatnonzero(~inside)
    if len(passing) and start[passing].sum() > 0:
        visits = np.linalg.solve(
            np.eye(len(passing)) - transition[np.ix_(passing, passing)].T, start[passing]
        )  # mean visits of each state that is left for ever
        arrivals = visits @ transition[passing]
        mass += [arrivals[labels == label].sum() for label in closed]
    return np.asarray(mass / mass.sum())


def _eliminate(transition: Array) -> Array:
    """The stationary law of an irreducible chain, without subtractions."""
    chain = transition.copy()
    n = len(chain)
    for k in range(n - 1, 0, -1):
        chain[:k, k] /= chain[k, :k].sum()
        chain[:k, :k] += np.outer(chain[:k, k], chain[k, :k])
    p = np.zeros(n)
    p[0] = 1.0
    for k in range(1, n):
        p[k] = p[:k] @ chain[:k, k]
    return np.asarray(p / p.sum())
