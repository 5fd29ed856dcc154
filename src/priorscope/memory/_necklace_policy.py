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

__all__ = ["necklace_limit", "necklace_memory", "necklace_policy"]

Array = NDArray[np.float64]
_OTHER = {"A": "B", "B": "A"}


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
    names, memory = _chain(m, chain), memento(m)
    index = {word: s for s, word in enumerate(memory.letters)}
    oldest = memory.plays[:, 0, 0]
    policy = np.eye(2)[oldest]

    def deviate(word: str, rewards: str, rate: float) -> None:
        s = index[word + rewards]
        policy[s, oldest[s]] -= rate
        policy[s, 1 - oldest[s]] += rate

    for_a, for_b = {"A": "+", "B": "-"}, {"A": "-", "B": "+"}
    for before, name, after in zip(names, names[1:], names[2:]):
        for to, told in ((before, for_a), (after, for_b)):
            word = _exit(name, to)
            deviate(word, "".join(told[letter] for letter in word), inner_rate)
    for end in (names[0], names[-1]):
        deviate(end, "-" * m, end_rate)
    return policy


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
