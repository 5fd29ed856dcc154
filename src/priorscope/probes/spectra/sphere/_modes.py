"""Which degree vectors a kernel sees, how many windows hold them, and how many eigenfunctions they give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations
from math import comb, factorial, gcd, prod

from priorscope.probes.spectra.sphere._harmonic_moments import harmonic_count

__all__ = ["Family", "families"]


@dataclass(frozen=True)
class Family:
    """All degree vectors with the same nonzero degrees that lie in the same number of windows: one eigenvalue.

    ``windows``: patches that contain the support; ``multiplicity``: dimension of the eigenspace; ``vectors``: how many
    degree vectors there are (for "gap": orbits of them under shifts).

    Example:
        >>> Family((2,), windows=3, multiplicity=5, vectors=1).order
        2
    """

    degrees: tuple[int, ...]
    windows: int
    multiplicity: int
    vectors: int

    @property
    def order(self) -> int:
        """r = Σ r_i."""
        return sum(self.degrees)


def families(readout: str, dim: int, p: int, s: int, order: int) -> list[Family]:
    """Every family up to an order, for "fcn" (all vectors), "vec" (banded ones) or "gap" (their shift orbits).

    Example:
        >>> [(f.degrees, f.windows, f.multiplicity) for f in families("vec", dim=3, p=8, s=3, order=1)]
        [((), 8, 1), ((1,), 3, 24)]
        >>> [f.multiplicity for f in families("gap", dim=3, p=8, s=3, order=1)]
        [1, 3]
    """
    found: list[Family] = []
    for total in range(order + 1):
        for degrees in _partitions(total, total):
            if len(degrees) > (p if readout == "fcn" else s):
                continue
            size = prod(harmonic_count(dim, r) for r in degrees)
            if size == 0:
                continue
            if readout == "fcn":
                placements = comb(p, len(degrees)) * _orders(degrees)
                found.append(Family(degrees, 1, placements * size, placements))
            elif not degrees:
                found.append(Family((), p, 1, 1))
            elif p >= 2 * s - 1:
                found.extend(_banded(readout, degrees, size, p, s))
            else:
                found.extend(_wrapped(readout, degrees, dim, p, s))
    return found


def _banded(readout: str, degrees: tuple[int, ...], size: int, p: int, s: int) -> Iterator[Family]:
    """Windows short enough that a support of span w lies in s − w + 1 of them, and no vector is periodic."""
    k, orders = len(degrees), _orders(degrees)
    for span in range(1, s + 1):
        supports = int(span == 1) if k == 1 else (comb(span - 2, k - 2) if span >= 2 else 0)
        if supports:
            vectors = supports * orders * (p if readout == "vec" else 1)
            yield Family(degrees, s - span + 1, vectors * size, vectors)


def _wrapped(readout: str, degrees: tuple[int, ...], dim: int, p: int, s: int) -> Iterator[Family]:
    """Long windows: list the vectors, count their windows, and count shift orbits of basis functions by Burnside's lemma."""
    if p > 16:
        raise ValueError(
            f"patches of s = {s} on p = {p} mini-patches overlap around the circle and are listed one by one; "
            "that is done up to p = 16. Use p >= 2 s - 1, or s smaller."
        )
    multiplicity: Counter[int] = Counter()
    vectors: Counter[int] = Counter()
    for support in combinations(range(p), len(degrees)):
        windows = sum(all((place - start) % p < s for place in support) for start in range(p)) if s < p else p
        if windows == 0:
            continue
        for arrangement in set(permutations(degrees)):
            vector = [0] * p
            for place, degree in zip(support, arrangement):
                vector[place] = degree
            shifts = [tuple(vector[i:] + vector[:i]) for i in range(p)]
            is_first = tuple(vector) == min(shifts)
            vectors[windows] += readout == "vec" or is_first
            if readout == "vec":
                multiplicity[windows] += prod(harmonic_count(dim, r) for r in degrees)
            elif is_first:
                multiplicity[windows] += _shift_orbits(vector, len(set(shifts)), dim, p)
    for windows, count in sorted(multiplicity.items(), reverse=True):
        yield Family(degrees, windows, count, vectors[windows])


def _shift_orbits(vector: list[int], period: int, dim: int, p: int) -> int:
    """Orbits of the basis functions of one degree vector: the mean over shifts of the number of functions left fixed."""
    per_period = prod(harmonic_count(dim, r) for r in vector[:period])
    fixed = sum(period * per_period ** (gcd(shift, p) // period) for shift in range(period, p + 1, period))
    found: int = fixed // p
    return found


def _orders(degrees: tuple[int, ...]) -> int:
    """Distinct orders of the degrees."""
    return factorial(len(degrees)) // prod(factorial(n) for n in Counter(degrees).values())


def _partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
    for part in range(min(total, largest), 0, -1):
        for rest in _partitions(total - part, part):
            yield (part, *rest)
