"""Columns of confidence: the policies for a random access memory, and their exact values."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit

from priorscope.checks import check, number, whole
from priorscope.memory._bandit import Bandit, two_hypotheses
from priorscope.memory._steady_state import steady_state

__all__ = [
    "best_exit_rate",
    "column_limit",
    "column_of_confidence",
    "column_wrong",
    "exit_rate_law",
    "hellman_cover_limit",
]

Array = NDArray[np.float64]
RATE = number(least=0, advice="An exit rate is a probability.")
MU = number(above=0, below=1)


def column_of_confidence(n: int, exit_rate: float, *, arms: int = 2) -> Array:
    """The column-of-confidence policy for ``ram(n, arms=arms)``: (observations, actions).

    The memory state is the confidence in the arm being played. A reward moves it up; a loss moves it down, from the top only with
    probability ``exit_rate``; a loss at the bottom changes to the next arm. With more than two arms, the columns form a star.
    Geiger, Eloy & Wyart (2021), Definition 3.1; the star is what their conclusion proposes.

    Example:
        >>> column_of_confidence(2, 0.25)[2 * 2 + 0].tolist()  # memory 2, arm A, loss: actions 1A, 1B, 2A, 2B
        [0.25, 0.0, 0.75, 0.0]
    """
    check("column_of_confidence", "n", n, whole(1))
    check("column_of_confidence", "arms", arms, whole(2, most=10))
    if not 0 <= exit_rate <= 1:
        raise ValueError(f"column_of_confidence needs an exit_rate between 0 and 1; got {exit_rate}.")
    policy = np.zeros((n, arms, 2, n, arms))  # memory, arm, outcome -> memory, arm
    for i in range(n):
        for k in range(arms):
            policy[i, k, 1, min(i + 1, n - 1), k] = 1
            rate = exit_rate if i == n - 1 else 1.0
            down = (i - 1, k) if i > 0 else (0, (k + 1) % arms)
            policy[i, k, 0][down] = rate
            policy[i, k, 0, i, k] += 1 - rate
    return policy.reshape(n * arms * 2, n * arms)


def _line(n: int, chances: Array, exit_rate: float) -> Array:
    """Transitions on the line MA … 1A 1B … MB for arms that pay with these chances."""
    pays = np.repeat(chances, n)  # of the arm played at each site
    toward_a = np.where(np.arange(2 * n) < n, pays, 1 - pays)
    left, right = toward_a.copy(), 1 - toward_a
    right[0] *= exit_rate
    left[-1] *= exit_rate
    chain = np.diag(right[:-1], 1) + np.diag(left[1:], -1)
    chain[0, 0] = 1 - right[0]
    chain[-1, -1] = 1 - left[-1]
    return np.asarray(chain)


def column_wrong(n: int, bandit: Bandit | float, *, exit_rate: float, reset: float) -> float:
    r"""q of the column of confidence with two arms, from the chain of its 2n pairs of confidence and arm.

    ``bandit`` is a :class:`Bandit` with two arms that pay or do not, or μ of :func:`two_hypotheses`. The steps of the
    line replace eqs. 15-21 of Geiger, Eloy & Wyart (2021), Appendix C: a reward moves away from the middle, a loss towards
    it and beyond.

    Example:
        >>> round(column_wrong(4, 0.1, exit_rate=0.01, reset=1e-4), 4)
        0.2091
    """
    check("column_wrong", "n", n, whole(1))
    check("column_wrong", "exit_rate", exit_rate, RATE)
    check("column_wrong", "reset", reset, number(least=0, below=1))
    world = bandit if isinstance(bandit, Bandit) else two_hypotheses(bandit)
    if (world.n_arms, world.n_outcomes) != (2, 2) or world.rewards[1] <= world.rewards[0]:
        raise ValueError("column_wrong is for two arms that pay or do not; use performance() for other bandits.")
    start = np.zeros(2 * n)
    start[[n - 1, n]] = 0.5
    wrong = 0.0
    for prior, law, worse in zip(world.prior, world.laws[..., 1], world.wrong):
        p = steady_state(_line(n, law, exit_rate), start, reset)
        wrong += prior * float(p @ np.repeat(worse.astype(float), n))
    return float(wrong)


def column_limit(n: int, success: tuple[float, float] | float) -> float:
    r"""q of the column of confidence for r → 0, then exit rate → 0; ``success`` is μ or the chances of the two arms.

    .. math:: q^{-1} - 1 = \frac{1-k_B}{1-k_A}\left(\frac{1/k_B-1}{1/k_A-1}\right)^{M-1},

    which is :math:`q = \alpha^{2M-1}/(1+\alpha^{2M-1})`, :math:`\alpha = (1-\mu)/(1+\mu)`, for two
    hypotheses. Geiger, Eloy & Wyart (2021), eqs. 7 and 41.

    Example:
        >>> round(column_limit(8, 0.1), 5), round(column_limit(3, (0.7, 0.4)), 5)
        (0.04697, 0.03922)
    """
    check("column_limit", "n", n, whole(1))
    high, low = success if isinstance(success, tuple) else ((1 + success) / 2, (1 - success) / 2)
    if not 0 < low < high < 1:
        raise ValueError(f"column_limit needs chances 1 > k_A > k_B > 0, or μ between 0 and 1; got {success}.")
    odds = math.log((1 - low) / (1 - high)) + (n - 1) * math.log((1 / low - 1) / (1 / high - 1))
    return float(expit(-odds))


def hellman_cover_limit(n: int, mu: float) -> float:
    r"""The least q for r → 0 of ``n`` memory states that alone decide the arm: :math:`q = \alpha^{n-1}/(1+\alpha^{n-1})`.

    Hellman & Cover (1970), as given by Geiger, Eloy & Wyart (2021), Sec. 3. A column of n states reaches that of 2n.

    Example:
        >>> hellman_cover_limit(8, 0.1) == column_limit(4, 0.1)
        True
    """
    check("hellman_cover_limit", "n", n, whole(1))
    check("hellman_cover_limit", "mu", mu, MU)
    power = (n - 1) * math.log((1 - mu) / (1 + mu))
    return math.exp(power) / (1 + math.exp(power))


def exit_rate_law(n: int, mu: float, reset: float) -> float:
    r"""The best exit rate of a column of ``n`` states to leading order in :math:`\sqrt r`.

    .. math:: \epsilon^* = \sqrt{2r}\;\frac{\sqrt{\alpha-\alpha^{3M-1}+\alpha^M(2\mu-3)+\alpha^{2M}(2\mu+3)}}
              {\sqrt{1-\alpha^M}\,(1-\alpha^M-\mu-\alpha^M\mu)}

    Geiger, Eloy & Wyart (2021), eqs. 6 and 22, where the root of the denominator is printed over both factors: only this form has
    their own limit :math:`\sqrt{2r/(1-\mu^2)}` for large M, and agrees with :func:`best_exit_rate`.

    Example:
        >>> round(exit_rate_law(5, 0.1, 1e-8) * 1e4, 4), round(exit_rate_law(200, 0.5, 1e-8) / (2e-8 / 0.75) ** 0.5, 6)
        (1.4378, 1.0)
    """
    check("exit_rate_law", "n", n, whole(2))
    check("exit_rate_law", "mu", mu, MU)
    check("exit_rate_law", "reset", reset, number(above=0, below=1))
    a, x = (1 - mu) / (1 + mu), ((1 - mu) / (1 + mu)) ** n
    top = a - x**3 / a + x * (2 * mu - 3) + x**2 * (2 * mu + 3)
    return math.sqrt(2 * reset * top / (1 - x)) / (1 - x - mu - x * mu)


def best_exit_rate(n: int, bandit: Bandit | float, reset: float) -> tuple[float, float]:
    """The exit rate with the least q at this reset, found by search, and that q.

    Example:
        >>> rate, wrong = best_exit_rate(4, 0.1, 1e-6)
        >>> round(wrong, 4), round(rate / exit_rate_law(4, 0.1, 1e-6), 2)
        (0.1982, 1.0)
    """
    check("best_exit_rate", "reset", reset, number(above=0, below=1))
    found = minimize_scalar(
        lambda x: column_wrong(n, bandit, exit_rate=math.exp(x), reset=reset),
        bounds=(0.5 * math.log(reset) - 7, 0.0),
        method="bounded",
        options={"xatol": 1e-7},
    )
    return math.exp(found.x), float(found.fun)
