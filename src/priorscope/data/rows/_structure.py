"""The structure of rows: which belong together, which come first, and how they are divided so that nothing leaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorscope.checks import SEED, checked, each, optional, whole
from priorscope.data.rows._copies import copy_blocks
from priorscope.data.rows._repeats import in_order, joined
from priorscope.data.rows._strata import even_order, target_strata
from priorscope.printing import printed

__all__ = ["Ladder", "Structure"]

Ids = NDArray[np.int64]
MOST_TESTED = 10_000  # test rows by default at most: an error rate is known to half a point by then


@printed
@dataclass(frozen=True, eq=False)
class Ladder:
    """Nested training rows, smallest first, the test rows that take no part in any, and what there is to say on them.

    Example:
        >>> ladder = Structure.of(np.arange(50.0)[:, None], np.arange(50) % 2).nested([8, 16], test=20)
        >>> [len(rows) for rows in ladder.train], len(ladder.test), ladder.notes
        ([8, 16], 20, ())
    """

    train: tuple[Ids, ...]
    test: Ids
    notes: tuple[str, ...] = ()


@printed
@dataclass(frozen=True, eq=False)
class Structure:
    """What holds the rows of a data set together, and their divisions into training and test rows.

    Rows of one number in ``blocks`` (n,) are left out together: rows of a group, and copies of one row
    (:meth:`of` finds them). ``strata`` (n,) are classes, or quantiles of a numeric target. Where ``time`` (n,) is given,
    training rows come before test rows. ``notes`` says in words what was found, ``about`` whom an error speaks of: "new rows",
    "new groups" or "later times".

    Example:
        >>> rows = Structure.of([[0.3], [1.1], [2.5], [4.2], [4.2]], [0, 1, 0, 1, 1])
        >>> rows.blocks.tolist(), rows.about
        ([0, 1, 2, 3, 3], 'new rows')
        >>> rows.notes
        ('2 of 5 rows repeat another row, or nearly: they count as 1, and copies are left out together',)
    """

    blocks: Ids
    strata: Ids
    time: NDArray[np.float64] | None = None
    grouped: bool = False
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def of(
        cls,
        inputs: ArrayLike,
        targets: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        time: ArrayLike | None = None,
        repeats: bool = True,
    ) -> Structure:
        """The structure of rows with these inputs (n, ...) and targets, classes where they are not floats.

        ``groups`` (n,) names the group of each row, ``time`` (n,) its time (numbers or dates). With ``repeats`` rows that
        repeat another row, or nearly, belong together: equal to within 1e-9 of each column's spread, or a thousand times nearer
        to each other than to the next row (:func:`copy_blocks`).

        Example:
            >>> x, y = np.arange(8.0)[:, None], np.arange(8.0)
            >>> Structure.of(x, y, groups=["a", "a", "b", "b", "c", "c", "d", "d"]).blocks.tolist()
            [0, 0, 1, 1, 2, 2, 3, 3]
        """
        x, y = np.asarray(inputs), np.asarray(targets)
        n = len(x)
        if n < 2 or len(y) != n:
            raise ValueError(
                f"a structure needs inputs and targets of the same 2 rows or more; got {n} and {len(y)}. Pass the targets of "
                "these rows."
            )
        blocks, notes = np.arange(n), []
        if repeats:
            blocks = copy_blocks(x, y)
            counts = np.bincount(blocks)
            if counts.max() > 1:
                notes.append(
                    f"{counts[counts > 1].sum()} of {n} rows repeat another row, or nearly: they count as "
                    f"{(counts > 1).sum()}, and copies are left out together"
                )
        if groups is not None:
            own = in_order(_column(groups, n, "groups"))
            copies = blocks
            blocks = in_order(joined(n + int(own.max()) + 1, np.r_[:n, :n], np.r_[own + n, _first(copies)])[:n])
            if blocks.max() < own.max():
                notes.append(
                    f"copies of rows lie in several groups: the {own.max() + 1} groups are left out as {blocks.max() + 1}"
                )
        strata = target_strata(y)
        names = () if y.dtype.kind == "f" else tuple(str(v) for v in np.unique(y, axis=0))
        when = None if time is None else _times(_column(time, n, "time"))
        return cls(blocks.astype(np.int64), strata, when, groups is not None, names, tuple(notes))

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def n_blocks(self) -> int:
        """How many blocks there are: independent samples, as far as is known."""
        return int(self.blocks.max()) + 1

    @property
    def single(self) -> bool:
        """Whether every row is a block of its own."""
        return self.n_blocks == len(self)

    @property
    def about(self) -> str:
        """What an error measured by these divisions speaks of."""
        return "later times" if self.time is not None else "new groups" if self.grouped else "new rows"

    def subset(self, index: ArrayLike) -> Structure:
        """The structure of the rows ``index``, in that order; blocks are numbered anew.

        Example:
            >>> Structure.of(np.eye(4), np.arange(4.0), groups=[7, 7, 8, 9]).subset([3, 1, 0]).blocks.tolist()
            [0, 1, 1]
        """
        rows = np.asarray(index)
        time = None if self.time is None else self.time[rows]
        return replace(self, blocks=in_order(self.blocks[rows]), strata=self.strata[rows], time=time)

    @checked(k=whole(2), seed=SEED)
    def folds(self, k: int, seed: int = 0) -> tuple[tuple[Ids, Ids], ...]:
        """Training and test rows of ``k`` folds: stratified, no block on both sides, forward in time where time is given.

        With time the rows are cut into k + 1 parts of consecutive times, each but the first is tested on, and training rows are
        those of all earlier times.

        Example:
            >>> rows = Structure.of(np.eye(6), np.array([0, 0, 0, 1, 1, 1]))
            >>> [sorted(rows.strata[test].tolist()) for _, test in rows.folds(3)]
            [[0, 1], [0, 1], [0, 1]]
        """
        if self.time is not None:
            return self._forward(k)
        if self.n_blocks < k:
            raise ValueError(f"{k} folds need {k} blocks of rows or more; got {self.n_blocks}. Ask for fewer folds.")
        fold = self._dealt(k, np.random.default_rng(seed))[self.blocks]
        every = np.arange(len(self))
        return tuple((every[fold != f], every[fold == f]) for f in range(k))

    def _dealt(self, k: int, rng: np.random.Generator) -> Ids:
        """The fold of each block: large blocks to the fold with the fewest rows of their stratum, then single rows in turn."""
        sizes, kinds = np.bincount(self.blocks), self._kinds()
        fold = np.empty(len(sizes), dtype=np.int64)
        rows = np.zeros((int(self.strata.max()) + 1, k))  # of each stratum in each fold
        shuffled = rng.permutation(len(sizes))
        ranked = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
        several = ranked[sizes[ranked] > 1]
        own = [np.zeros((0, 0), dtype=np.int64)] * len(sizes)
        if len(several):
            order = np.argsort(self.blocks, kind="stable")
            own = np.split(self.strata[order], sizes.cumsum()[:-1])
        for block in several:
            best = np.lexsort((rows.sum(0), rows[kinds[block]]))[0]
            fold[block] = best
            np.add.at(rows[:, best], own[block], 1)
        single = ranked[sizes[ranked] == 1]
        total = rows.sum(0)
        for kind in np.unique(kinds[single]):
            blocks = single[kinds[single] == kind]
            places = _levelled(rows[kind], total, len(blocks), rng)
            fold[blocks] = places
            total = total + np.bincount(places, minlength=k)
        return fold

    def _kinds(self) -> Ids:
        """The stratum that most rows of each block are of."""
        if self.single:
            found = np.empty(len(self), dtype=np.int64)
            found[self.blocks] = self.strata
            return found
        cells, counts = np.unique(np.stack([self.blocks, self.strata], 1), axis=0, return_counts=True)
        ranked = cells[np.argsort(counts, kind="stable")]
        found = np.empty(self.n_blocks, dtype=np.int64)
        found[ranked[:, 0]] = ranked[:, 1]  # the last one written is the most frequent
        return found

    def _forward(self, k: int) -> tuple[tuple[Ids, Ids], ...]:
        """Consecutive parts of time, each tested on by what comes before it."""
        assert self.time is not None
        edges = np.quantile(self.time, np.arange(1, k + 1) / (k + 1), method="inverted_cdf")
        part = np.searchsorted(edges, self.time, side="left")  # rows of one time are of one part
        folds = []
        for p in range(1, k + 1):
            test = np.flatnonzero(part == p)
            train = self._apart(np.flatnonzero(part < p), test)
            if len(test) and len(train):
                folds.append((train, test))
        if not folds:
            raise ValueError(
                "rows of one time, or of blocks that last all the time, cannot be divided forward in time. Leave time out, or "
                "give a finer one."
            )
        return tuple(folds)

    def _apart(self, train: Ids, test: Ids) -> Ids:
        """The training rows whose block has no test row."""
        found: Ids = train[~np.isin(self.blocks[train], self.blocks[test])]
        return found

    @checked(sizes=each(whole()), seed=SEED, test=optional(whole()))
    def nested(self, sizes: Sequence[int], seed: int = 0, *, test: int | None = None) -> Ladder:
        """Nested stratified training rows of these sizes, and stratified test rows that share no block with them.

        ``test`` rows are set aside (None: all beyond the largest size, at most 10,000). Blocks come whole, so that sizes are
        met to within half a block; single rows keep every stratum within one row of its share. With time, test rows are the
        last ones and training rows those just before them. ``notes`` tells which classes a training set or the test rows lack.

        Example:
            >>> rows = Structure.of(np.arange(100.0)[:, None], np.arange(100) % 2)
            >>> ladder = rows.nested([10, 40], test=20)
            >>> [int(rows.strata[train].sum()) for train in ladder.train], int(rows.strata[ladder.test].sum())
            ([5, 20], 10)
        """
        wanted = sorted({int(size) for size in sizes})
        n = len(self)
        held = min(n - wanted[-1], MOST_TESTED) if test is None else int(test)
        if held < 1 or wanted[-1] + held > n:
            raise ValueError(
                f"nested training sets of up to {wanted[-1]} rows and {max(held, 1)} test rows need "
                f"{wanted[-1] + max(held, 1)} rows; got {n}. Ask for smaller ones."
            )
        rng = np.random.default_rng(seed)
        if self.time is None:
            tested = self._first_rows([held], np.arange(n), rng)[0]
            train = self._first_rows(wanted, np.setdiff1d(np.arange(n), tested), rng)
        else:
            order = rng.permutation(n)
            order = order[np.argsort(self.time[order], kind="stable")]
            tested = np.flatnonzero(self.time >= self.time[order[-held]])
            before = self._apart(order[self.time[order] < self.time[order[-held]]], tested)
            train = [np.sort(before[-size:]) for size in wanted]
        if not len(train[-1]):
            raise ValueError(
                "no training row is left beside the test rows: all are of their blocks or times. Ask for fewer test rows."
            )
        return Ladder(tuple(train), tested, self._lacking(train, tested))

    @checked(test=whole(), seed=SEED)
    def held_out(self, test: int, seed: int = 0) -> tuple[Ids, Ids]:
        """Training and test rows of one division, about ``test`` to test on: stratified, whole blocks, the last rows with time.

        Example:
            >>> train, test = Structure.of(np.arange(50.0)[:, None], np.arange(50) % 2).held_out(10)
            >>> len(train), len(test)
            (40, 10)
        """
        if self.time is not None:
            order = np.argsort(self.time, kind="stable")
            tested = np.flatnonzero(self.time >= self.time[order[-test]])
            train = self._apart(np.flatnonzero(self.time < self.time[order[-test]]), tested)
        else:
            tested = self._first_rows([test], np.arange(len(self)), np.random.default_rng(seed))[0]
            train = np.setdiff1d(np.arange(len(self)), tested)
        if not len(train):
            raise ValueError(
                f"no training row is left beside {len(tested)} test rows: all are of their blocks or times. Ask for fewer test "
                "rows, or give finer groups or times."
            )
        return train, tested

    @checked(most=whole(), seed=SEED)
    def growing(self, rows: ArrayLike, most: int, seed: int = 0) -> Ids:
        """The first ``most`` of these rows in an order whose every beginning holds its share of every stratum.

        Blocks stay together in it; with time it goes back from the latest row.

        Example:
            >>> rows = Structure.of(np.arange(40.0)[:, None], np.arange(40) % 2)
            >>> order = rows.growing(np.arange(40), 20)
            >>> [int(rows.strata[order[:size]].sum()) for size in (4, 10, 20)]
            [2, 5, 10]
        """
        given = np.asarray(rows)
        rng = np.random.default_rng(seed)
        if self.time is not None:
            mixed = rng.permutation(given)
            late: Ids = mixed[np.argsort(-self.time[mixed], kind="stable")][:most]
            return late
        part = self.subset(given)
        sizes = np.bincount(part.blocks)
        enough = min(len(sizes), int(np.searchsorted(np.sort(sizes).cumsum(), most)) + 1)
        order = even_order(part._kinds(), enough, rng)
        starts = np.r_[0, sizes.cumsum()[:-1]]
        inside = np.argsort(part.blocks, kind="stable")
        found = (
            np.concatenate([inside[starts[b] : starts[b] + sizes[b]] for b in order])
            if sizes.max() > 1
            else inside[order]
        )
        chosen: Ids = given[found[:most]]
        return chosen

    def _first_rows(self, sizes: Sequence[int], rows: Ids, rng: np.random.Generator) -> list[Ids]:
        """Of these rows, sets of whole blocks of about these sizes, each the beginning of the next."""
        part = self.subset(rows)
        held = np.bincount(part.blocks)
        count = min(len(held), int(np.searchsorted(np.sort(held).cumsum(), sizes[-1])) + 1)
        order = even_order(part._kinds(), count, rng)
        ends = held[order].cumsum()
        place = np.empty(len(held), dtype=np.int64)
        place[:] = len(held)
        place[order] = np.arange(len(order))
        found = []
        for size in sizes:
            taken = int(np.abs(ends - size).argmin())
            found.append(rows[place[part.blocks] <= taken])
        return found

    def _lacking(self, train: Sequence[Ids], test: Ids) -> tuple[str, ...]:
        """Which classes are too rare for which of the sets."""
        counts = np.bincount(self.strata)
        notes = []
        for kind, name in enumerate(self.names):
            without = [str(len(rows)) for rows in train if not (self.strata[rows] == kind).any()]
            places = [f"the training sets of {', '.join(without)} rows"] if without else []
            places += [] if (self.strata[test] == kind).any() else [f"the {len(test)} test rows"]
            if places:
                notes.append(
                    f"class {name!r} ({counts[kind]} of {len(self)} rows) has none in {' and in '.join(places)}"
                )
        return tuple(notes)


def _levelled(rows: NDArray[np.float64], total: NDArray[np.float64], count: int, rng: np.random.Generator) -> Ids:
    """Folds of ``count`` single rows, so that those of their stratum get level, then all of them."""
    k, level = len(rows), np.sort(rows)
    heights = (count + level.cumsum()) / np.arange(1, k + 1)  # of the water where the lowest 1, 2, … folds share it
    height = np.floor(heights[np.flatnonzero(heights >= level)[-1]])
    filled = np.maximum(height - rows, 0).astype(np.int64)
    places = np.repeat(np.arange(k), filled)
    rest = count - len(places)
    open_ = np.flatnonzero(rows + filled <= height)
    ranked = open_[np.lexsort((rng.random(len(open_)), (total + filled)[open_]))]
    return rng.permutation(np.r_[places, ranked[:rest]])


def _first(ids: Ids) -> Ids:
    """For each row the first row of its number."""
    return np.unique(ids, return_index=True)[1][np.unique(ids, return_inverse=True)[1]]


def _column(values: ArrayLike, n: int, what: str) -> NDArray[np.generic]:
    column = np.asarray(values)
    if column.shape != (n,):
        raise ValueError(f"{what} must be one value per row, shape ({n},); got {column.shape}. Pass a column.")
    missing = np.array([v is None or v != v for v in column.tolist()])
    if missing.any():
        raise ValueError(
            f"{what} must be known for every row; {missing.sum()} of {n} are missing (the first is row {missing.argmax()}). "
            "Fill them in or drop these rows."
        )
    return column.astype(str) if column.dtype.kind == "O" else column


def _times(column: NDArray[np.generic]) -> NDArray[np.float64]:
    if column.dtype.kind in "US":
        try:
            column = column.astype("datetime64[ns]")
        except ValueError as problem:
            raise ValueError(f"time must be numbers or dates such as 2024-05-01; got {column[0]!r}.") from problem
    if column.dtype.kind not in "iufM":
        raise ValueError(f"time must be numbers or dates; got an array of type {column.dtype}.")
    found: NDArray[np.float64] = np.unique(column, return_inverse=True)[1].ravel().astype(np.float64)
    return found
