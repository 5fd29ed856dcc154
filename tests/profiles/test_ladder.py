"""The ladder: nested, stratified, no block and no time on both sides, all rows tested once."""

from __future__ import annotations

import numpy as np
import pytest

from priorscope.data import Structure
from priorscope.profiles._ladder import Ladder


def structure(n: int, **more: object) -> Structure:
    rng = np.random.default_rng(3)
    return Structure.of(rng.normal(size=(n, 3)), (np.arange(n) % 10 == 0).astype(int), **more)


def test_rungs_are_nested_stratified_and_apart_from_their_tests() -> None:
    rows = structure(1000)
    ladder = Ladder.of(rows)
    assert ladder.sizes == (64, 128, 256, 512, 800)
    for fold in range(ladder.folds):
        before: set[int] = set()
        for rung, size in enumerate(ladder.sizes):
            part = ladder.part(rung, fold)
            train = set(part.train.tolist())
            assert len(train) == size
            assert before <= train
            assert not train & set(part.test.tolist())
            assert abs(int(rows.strata[part.train].sum()) - size / 10) <= 1
            before = train
    tested = np.concatenate([ladder.part(ladder.top, k).test for k in range(ladder.folds)])
    assert sorted(tested.tolist()) == list(range(1000))


def test_groups_are_never_on_both_sides_and_rows_cannot_be_shuffled_into_a_leak() -> None:
    groups = np.repeat(np.arange(100), 6)
    ladder = Ladder.of(structure(600, groups=groups))
    for fold in range(ladder.folds):
        for rung in range(ladder.top + 1):
            part = ladder.part(rung, fold)
            assert not set(groups[part.train]) & set(groups[part.test])
    loose = Ladder.of(structure(600))  # without them they are: the control
    part = loose.part(loose.top, 0)
    assert set(groups[part.train]) & set(groups[part.test])


def test_times_are_forward() -> None:
    time = np.random.default_rng(0).permutation(500)
    ladder = Ladder.of(structure(500, time=time))
    assert ladder.folds == 1
    for rung in range(ladder.top + 1):
        part = ladder.part(rung, 0)
        assert time[part.train].max() < time[part.test].min()
        assert time[part.train].min() == 400 - len(part.train)  # the latest ones before the test


def test_many_rows_are_tested_once_and_little_on_low_rungs() -> None:
    ladder = Ladder.of(structure(60_000))
    assert ladder.folds == 1
    assert ladder.sizes[-1] == 50_000
    assert len(ladder.part(ladder.top, 0).test) == 10_000
    low = ladder.part(0, 0)
    assert len(low.test) == 2000
    assert set(low.test) < set(ladder.part(ladder.top, 0).test)


@pytest.mark.parametrize("n", [8, 12, 40])
def test_few_rows_have_a_ladder_too(n: int) -> None:
    ladder = Ladder.of(structure(n))
    assert ladder.sizes[-1] == min(len(train) for train, _ in ladder.divided)
    assert len(ladder.part(0, 0).train) >= 2
