"""Necklaces of two letters, and the longest chains in which neighbours differ by one letter."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from priorscope.checks import check, whole

__all__ = ["chain_bound", "count_necklaces", "necklace_chain", "necklace_of"]

_LONGEST = 16  # 2^16 words are still classed in a second
_TRIES = 400
_CHOICE = 8  # chains to choose from


def necklace_of(word: str) -> str:
    """The first of a word's rotations in the alphabet: the name of its necklace.

    Example:
        >>> necklace_of("BAAB")
        'AABB'
    """
    return min(word[i:] + word[:i] for i in range(len(word)))


def count_necklaces(m: int) -> int:
    r"""How many necklaces of m letters A and B there are.

    .. math:: N(m) = \frac1m \sum_{d | m} \varphi(d)\, 2^{m/d}

    Pólya (1937), as given by Geiger, Eloy & Wyart (2021), Definition 4.1; :math:`2 + (2^m-2)/m` for a prime m.

    Example:
        >>> [count_necklaces(m) for m in range(1, 9)]
        [2, 3, 4, 6, 8, 14, 20, 36]
    """
    check("count_necklaces", "m", m, whole(1))
    totient = {d: sum(math.gcd(d, k) == 1 for k in range(1, d + 1)) for d in range(1, m + 1) if m % d == 0}
    return int(sum(phi * 2 ** (m // d) for d, phi in totient.items()) // m)


@cache
def _neighbours(m: int) -> dict[str, tuple[str, ...]]:
    """Necklaces one letter apart from each."""
    names = sorted({necklace_of(format(w, f"0{m}b").replace("0", "A").replace("1", "B")) for w in range(2**m)})
    other = {"A": "B", "B": "A"}
    return {
        name: tuple(sorted({necklace_of(name[:i] + other[name[i]] + name[i + 1 :]) for i in range(m)}))
        for name in names
    }


def chain_bound(m: int) -> int:
    """No chain from A…A to B…B has more necklaces than this: each step changes the parity of the number of B.

    Example:
        >>> [chain_bound(m) for m in range(1, 10)]
        [2, 3, 4, 5, 8, 13, 20, 33, 60]
    """
    check("chain_bound", "m", m, whole(1, most=_LONGEST))
    odd = sum(name.count("B") % 2 for name in _neighbours(m))
    even = len(_neighbours(m)) - odd
    return 2 * odd if m % 2 else 2 * min(even - 1, odd) + 1  # for an odd m, A for B turns even ones into odd ones


@cache
def necklace_chain(m: int) -> tuple[str, ...]:
    """A longest chain of different necklaces from A…A to B…B whose neighbours differ by one letter.

    It is found by Pósa's rotations of a growing path, and is longest because it meets :func:`chain_bound`; where none that
    long is found (none was missed up to m = 13), a RuntimeError says so. Of a few found, the one with the fewest words that
    repeat a shorter one is taken. Degni & Drisko (2007) conjecture that for a prime m it passes every necklace.

    Example:
        >>> necklace_chain(4)
        ('AAAA', 'AAAB', 'AABB', 'ABBB', 'BBBB')
    """
    check("necklace_chain", "m", m, whole(1, most=_LONGEST))
    wanted = chain_bound(m)
    found: list[list[str]] = []
    for seed in range(_TRIES):
        grown = _grow(m, wanted, np.random.default_rng(seed))
        found += [] if grown is None else [grown]
        if len(found) == _CHOICE:
            break
    if not found:
        raise RuntimeError(
            f"no chain of {wanted} necklaces of {m} letters was found in {_TRIES} tries; shorter ones exist."
        )
    return tuple(min(found, key=lambda chain: sum(word in (word + word)[1:-1] for word in chain)))


def _grow(m: int, wanted: int, rng: np.random.Generator) -> list[str] | None:
    """One attempt: extend the path at its end, or turn part of it round where it is stuck."""
    neighbours = _neighbours(m)
    last, before = "B" * m, necklace_of("A" + "B" * (m - 1))
    if m == 1:
        return ["A", "B"]
    path, place = ["A" * m], {"A" * m: 0}
    for _ in range(60 * wanted):
        end = path[-1]
        if len(path) == wanted - 1 and end == before:
            return [*path, last]
        free = [w for w in neighbours[end] if w not in place and w != last]
        if len(path) < wanted - 1 and free:
            ways = [sum(x not in place for x in neighbours[w]) for w in free]
            least = [w for w, n in zip(free, ways) if n == min(ways)]
            chosen = least[int(rng.integers(len(least)))]
            place[chosen] = len(path)
            path.append(chosen)
            continue
        turns = [w for w in neighbours[end] if w in place and place[w] < len(path) - 2]
        if not turns:
            return None
        at = place[turns[int(rng.integers(len(turns)))]]
        path[at + 1 :] = path[:at:-1]
        for k in range(at + 1, len(path)):
            place[path[k]] = k
    return None
