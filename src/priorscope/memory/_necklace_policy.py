"""The necklace policy: how a player who remembers only the last plays writes a long memory into what it plays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from priorscope.checks import check, number, whole
from priorscope.memory._memory import Memory, memento
from priorscope.memory._necklaces import necklace_chain, necklace_of

__all__ = ["necklace_limit", "necklace_memory", "necklace_policy", "two_way_policy"]

Array = NDArray[np.float64]
_OTHER = {"A": "B", "B": "A"}
_FOR_A, _FOR_B = {"A": "+", "B": "-"}, {"A": "-", "B": "+"}


def _chain(m: int, chain: Sequence[str] | None) -> tuple[str, ...]:
    """The chain given, checked, or a longest one."""
    check("necklace_policy", "m", m, whole(2, most=6))
    if chain is None:
        return necklace_chain(m)
    names = tuple(necklace_of(word) for word in chain)
    apart = all(any(necklace_of(a[:i] + _OTHER[a[i]] + a[i + 1 :]) == b for i in range(m)) for a, b in pairwise(names))
    if names[0] != "A" * m or names[-1] != "B" * m or len(set(names)) < len(names) or not apart:
        raise ValueError(
            f"a chain of necklaces leads from {'A' * m} to {'B' * m} through different necklaces, one letter at a time; "
            f"got {chain}."
        )
    return names


def _exit(name: str, to: str) -> str:
    """The rotation whose oldest letter, played the other way, leads to the necklace ``to``; the first where several do."""
    rotations = sorted({name[i:] + name[:i] for i in range(len(name))})
    return next(w for w in rotations if necklace_of(w[1:] + _OTHER[w[0]]) == to)


def necklace_policy(m: int, end_rate: float, inner_rate: float, *, chain: Sequence[str] | None = None) -> Array:
    r"""The necklace policy for ``memento(m)``: (observations, arms).

    The oldest remembered arm is played again, so that the word of arms turns within its necklace, but for one word on each side
    of each inner necklace: there, if every reward spoke for the neighbour, the other arm is played with probability
    ``inner_rate`` (:math:`\epsilon_1`), and at the two ends, after losses only, with
    ``end_rate`` (:math:`\epsilon_0`). Geiger, Eloy & Wyart (2021), Definition 4.1.

    Example:
        >>> policy, states = necklace_policy(3, 0.01, 0.1), memento(3).letters
        >>> policy[states.index("AAA---")].tolist(), policy[states.index("AAA--+")].tolist()
        ([0.99, 0.01], [1.0, 0.0])
    """
    for name, rate in (("end_rate", end_rate), ("inner_rate", inner_rate)):
        check("necklace_policy", name, rate, number(least=0, below=1 + 1e-12))
    names = _chain(m, chain)
    moves = [(name, to, inner_rate) for a, name, b in zip(names, names[1:], names[2:]) for to in (a, b)]
    return _moving(m, [*moves, (names[0], names[1], end_rate), (names[-1], names[-2], end_rate)])


def _moving(m: int, moves: Sequence[tuple[str, str, float]]) -> Array:
    """The policy that plays the oldest arm again, and leaves a necklace for another at a rate when every reward spoke for it."""
    memory = memento(m)
    oldest = memory.plays[:, 0, 0]
    policy = np.eye(2)[oldest]
    for name, to, rate in moves:
        word, told = _exit(name, to), _FOR_B if to.count("B") > name.count("B") else _FOR_A
        s = memory.letters.index(word + "".join(told[letter] for letter in word))
        policy[s, oldest[s]] -= rate
        policy[s, 1 - oldest[s]] += rate
    return policy


def two_way_policy(rate: float, end_rate: float) -> Array:
    r"""A policy for ``memento(4)`` better than every necklace policy: up through one necklace, down through another.

    The six necklaces of length four cannot all lie on a chain, since AABB and ABAB have equally many letters of each kind. This
    policy visits all six: with ABAB on the way from A…A to B…B and AABB on the way back,

    .. math:: AAAA \leftrightarrow AAAB \leftrightarrow ABAB \to ABBB \leftrightarrow AABB \to AAAB,
              \quad ABBB \leftrightarrow BBBB.

    From each of these two it returns with probability ``rate`` (:math:`\epsilon`) and goes on with :math:`\epsilon^2`; they are
    entered with :math:`\epsilon^2`, the ends with :math:`\epsilon` and left with ``end_rate`` (:math:`\epsilon_0`). Let evidence
    of four rewards have the chances a (for A) and b (for B). Then one passes from AAAB to ABBB at a rate of
    :math:`\epsilon^3 b^2/a` and back at :math:`\epsilon^3 a^2/b`, and the masses of the ends are :math:`(b/a)^5` apart: the
    exponent of a chain through all six, where the longest chain gives :math:`(b/a)^4`. For r ≪ ε0 ≪ ε ≪ 1,
    with :math:`\alpha = (1-\mu)/(1+\mu)`,

    .. math:: q \to 1/(1+\alpha^{-20}), \quad \text{below } q^* = 1/(1+\alpha^{-16}) \text{ of :func:`necklace_limit`}.

    Found by this library; it refutes the conjecture of Geiger, Eloy & Wyart (2021), Sec. 6, for m = 4.

    Example:
        >>> from priorscope.memory import performance, two_hypotheses
        >>> found = performance(two_way_policy(1e-3, 1e-12), memento(4), two_hypotheses(0.1), reset=0)
        >>> round(found.wrong, 4), round(necklace_limit(4, 0.1), 4)
        (0.0178, 0.0388)
    """
    for name, value in (("rate", rate), ("end_rate", end_rate)):
        check("two_way_policy", name, value, number(least=0, below=1 + 1e-12))
    fast = [("AAAB", "AAAA"), ("ABAB", "AAAB"), ("AABB", "ABBB"), ("ABBB", "BBBB")]
    slow = [("AAAB", "ABAB"), ("ABAB", "ABBB"), ("ABBB", "AABB"), ("AABB", "AAAB")]
    ends = [("AAAA", "AAAB"), ("BBBB", "ABBB")]
    rates = ((fast, rate), (slow, rate**2), (ends, end_rate))
    return _moving(4, [(name, to, value) for pairs, value in rates for name, to in pairs])


def necklace_memory(m: int, *, chain: Sequence[str] | None = None) -> Memory:
    """``memento(m)`` that starts in the middle of the chain: off the chain, a necklace policy would turn for ever.

    Example:
        >>> started = necklace_memory(3)
        >>> sorted({word[:3] for word, p in zip(started.letters, started.start) if p > 0})
        ['AAB', 'ABA', 'ABB', 'BAA', 'BAB', 'BBA']
    """
    names, memory = _chain(m, chain), memento(m)
    middle = set(names[(len(names) - 1) // 2 : len(names) // 2 + 1])
    chosen = np.array([necklace_of(word[:m]) in middle for word in memory.letters], dtype=np.float64)
    words = chosen.sum() / 2**m  # each word of arms stands once for every list of rewards
    return replace(memory, name=f"memento({m}) on a chain", start=chosen / words)


def necklace_limit(m: int, success: tuple[float, float] | float, *, chain: Sequence[str] | None = None) -> float:
    r"""The least q of a necklace policy, for r ≪ ε0 ≪ ε1 ≪ 1; ``success`` is μ or the chances of the two arms.

    .. math:: q^{-1}-1 = \left(\frac{1-k_B}{1-k_A}\right)^m
              \prod_{i=2}^{n-1} \frac{k_A^{a_i}(1-k_B)^{b_i}}{(1-k_A)^{a_i}k_B^{b_i}},

    where :math:`a_i, b_i` count the letters of the inner necklaces. Geiger, Eloy & Wyart (2021), eqs. 33-36; for two hypotheses
    it is :math:`q^* = 1/(1+\alpha^{m(1-n)})`, their eq. 10. Their general form, eq. 39, holds where both letters are equally
    frequent on the chain; this one always does.

    Example:
        >>> round(necklace_limit(3, 0.1), 4), round(necklace_limit(4, 0.1), 5)
        (0.1411, 0.03876)
    """
    high, low = success if isinstance(success, tuple) else ((1 + success) / 2, (1 - success) / 2)
    if not 0 < low < high < 1:
        raise ValueError(f"necklace_limit needs chances 1 > k_A > k_B > 0, or μ between 0 and 1; got {success}.")
    odds = m * math.log((1 - low) / (1 - high))
    for name in _chain(m, chain)[1:-1]:
        a, b = name.count("A"), name.count("B")
        odds += a * math.log(high / (1 - high)) + b * math.log((1 - low) / low)
    return float(expit(-odds))
