"""The ladder: nested training sets that double, test rows that take no part in any, the same for all contenders."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from priorscope.data import Structure

__all__ = ["Ladder", "Part"]

Rows = NDArray[np.int64]
FOLDS = 5
_ONE_TEST = 20_000  # rows from which one test part says enough
_MOST_TESTED = 10_000
_FEW_TESTED = 2000  # rows at least that a lower rung tests, where there are more of them
_ENOUGH_TESTED = 400  # test rows on the lower rungs, where the data have them


@dataclass(frozen=True)
class Part:
    """Training and test rows of one fold on one rung."""

    train: Rows = field(repr=False)
    test: Rows = field(repr=False)


@dataclass(frozen=True)
class Ladder:
    """Sizes, smallest first, and how many folds there are; the last rung holds all rows that are not tested on.

    Example:
        >>> rows = Structure.of(np.arange(300.0)[:, None], np.arange(300) % 2)
        >>> ladder = Ladder.of(rows, first=64)
        >>> ladder.sizes, ladder.folds, len(ladder.part(2, 0).train), len(ladder.part(0, 0).test)
        ((64, 128, 240), 5, 240, 60)
    """

    structure: Structure = field(repr=False)
    sizes: tuple[int, ...]
    divided: tuple[tuple[Rows, Rows], ...] = field(repr=False)
    orders: dict[int, Rows] = field(default_factory=dict, repr=False)
    tests: dict[int, Rows] = field(default_factory=dict, repr=False)
    seed: int = 0

    @classmethod
    def of(cls, structure: Structure, *, first: int = 64, seed: int = 0) -> Ladder:
        """Rungs from about ``first`` rows to all there are.

        Up to 20,000 rows are divided into five folds that are all tested on; of more, at most 10,000 rows are tested on, once.
        With time the test rows are the last ones.
        """
        n = len(structure)
        if structure.time is not None or n > _ONE_TEST:
            divided: tuple[tuple[Rows, Rows], ...] = (structure.held_out(min(max(n // 5, 1), _MOST_TESTED), seed),)
        else:
            divided = structure.folds(min(FOLDS, structure.n_blocks), seed)
        most = min(len(train) for train, _ in divided)
        sizes, size = [], max(min(first, most), 2)
        while size < 0.75 * most:
            sizes.append(size)
            size *= 2
        return cls(structure, (*sizes, most), divided, seed=seed)

    @property
    def folds(self) -> int:
        """How many divisions into training and test rows there are."""
        return len(self.divided)

    @property
    def top(self) -> int:
        """The last rung."""
        return len(self.sizes) - 1

    def wanted(self, rung: int) -> int:
        """How many folds are measured on a rung: all on the last, below as many as test some 400 rows."""
        if rung == self.top:
            return self.folds
        return min(self.folds, max(1, -(-_ENOUGH_TESTED // max(len(self.divided[0][1]), 1))), 3)

    def part(self, rung: int, fold: int) -> Part:
        """Training and test rows; training rows of a rung are the beginning of those of the next."""
        train, test = self.divided[fold]
        if rung == self.top:
            return Part(train, test)
        few = max(_FEW_TESTED, 2 * self.sizes[rung])
        if len(test) > few:
            if fold not in self.tests:
                self.tests[fold] = self.structure.growing(test, len(test), self.seed + fold)
            test = self.tests[fold][:few]
        if fold not in self.orders:
            self.orders[fold] = self.structure.growing(train, self.sizes[-2], self.seed + fold)
        order, marks = self.orders[fold], self.sizes[rung]
        return Part(order[:marks], test)
