"""The structure of rows: divisions solved by hand, and what holds for every one of them on seeded draws."""

import numpy as np
import pandas as pd
import pytest
import torch

from priorscope.data import Dataset, Split, Structure, as_dataset
from priorscope.data.rows._strata import even_order


def drawn(seed: int, *, grouped: bool, timed: bool = False, n: int = 240) -> Structure:
    rng = np.random.default_rng(seed)
    labels = rng.choice(4, n, p=[0.55, 0.25, 0.15, 0.05])
    return Structure.of(
        rng.normal(size=(n, 3)),
        labels,
        groups=rng.integers(0, 60, n) if grouped else None,
        time=rng.integers(0, 50, n) if timed else None,
    )


def test_groups_by_hand():
    rows = Structure.of(np.eye(6), np.array([0, 0, 1, 1, 0, 1]), groups=["b", "b", "a", "a", "c", "c"])
    assert rows.blocks.tolist() == [0, 0, 1, 1, 2, 2]
    assert rows.about == "new groups"
    assert sorted(sorted(test.tolist()) for _, test in rows.folds(3)) == [[0, 1], [2, 3], [4, 5]]
    copied = Structure.of(
        np.arange(12.0).reshape(6, 2)[[0, 1, 2, 3, 4, 0]] ** 2, np.arange(6.0), groups=["b", "b", "a", "a", "c", "c"]
    )
    assert copied.blocks.tolist() == [0, 0, 1, 1, 0, 0]  # rows 0 and 5 are copies: their groups go together
    assert "3 groups are left out as 2" in copied.notes[-1]


def test_time_by_hand():
    rows = Structure.of(np.eye(8), np.arange(8.0), time=[7, 0, 1, 2, 3, 4, 5, 6])
    assert rows.about == "later times"
    assert [(sorted(a.tolist()), sorted(b.tolist())) for a, b in rows.folds(3)] == [
        ([1, 2], [3, 4]),
        ([1, 2, 3, 4], [5, 6]),
        ([1, 2, 3, 4, 5, 6], [0, 7]),
    ]
    ladder = rows.nested([2, 4], test=2)
    assert sorted(ladder.test.tolist()) == [0, 7]
    assert [sorted(train.tolist()) for train in ladder.train] == [[5, 6], [3, 4, 5, 6]]
    dates = Structure.of(np.eye(4), np.arange(4.0), time=["2024-03-01", "2023-01-01", "2024-01-01", "2025-01-01"])
    assert dates.time is not None
    assert dates.time.tolist() == [2, 0, 1, 3]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("timed", [False, True])
def test_no_block_is_on_both_sides_and_every_row_has_its_turn(seed, grouped, timed):
    rows = drawn(seed, grouped=grouped, timed=timed)
    folds = rows.folds(5, seed)
    for train, test in folds:
        assert not set(rows.blocks[train]) & set(rows.blocks[test])
        assert rows.time is None or rows.time[train].max() < rows.time[test].min()
    tested = np.concatenate([test for _, test in folds])
    assert len(set(tested.tolist())) == len(tested)
    assert timed or len(tested) == len(rows)
    ladder = rows.nested([20, 60, 120], seed)
    for small, large in zip(ladder.train, ladder.train[1:], strict=False):
        assert set(small.tolist()) <= set(large.tolist())
    assert not set(rows.blocks[ladder.train[-1]]) & set(rows.blocks[ladder.test])
    assert rows.time is None or rows.time[ladder.train[-1]].max() < rows.time[ladder.test].min()


@pytest.mark.parametrize("seed", range(12))
def test_strata_stay_within_one_row_of_their_share(seed):
    rows = drawn(seed, grouped=False)
    shares = np.bincount(rows.strata) / len(rows)
    for _, test in rows.folds(7, seed):
        assert (np.abs(np.bincount(rows.strata[test], minlength=4) - shares * len(rows) / 7) < 1).all()
        assert abs(len(test) - len(rows) / 7) < 1
    sizes = [17, 33, 64, 150]
    ladder = rows.nested(sizes, seed, test=80)
    assert (np.abs(np.bincount(rows.strata[ladder.test], minlength=4) - 80 * shares) < 1).all()
    rest = np.bincount(rows.strata) - np.bincount(rows.strata[ladder.test], minlength=4)
    for size, train in zip(sizes, ladder.train, strict=True):
        assert len(train) == size
        assert (np.abs(np.bincount(rows.strata[train], minlength=4) - size * rest / rest.sum()) < 1).all()
    worst = max(
        np.abs(
            np.bincount(rows.strata[np.random.default_rng(s).permutation(240)[:80]], minlength=4) - 80 * shares
        ).max()
        for s in range(5)
    )
    assert worst > 1  # the control: rows drawn at random do not


@pytest.mark.parametrize("seed", range(8))
def test_every_beginning_of_an_even_order_has_its_shares(seed):
    kinds = np.random.default_rng(seed).choice(9, 150, p=np.arange(1, 10) / 45)
    order = even_order(kinds, 150, np.random.default_rng(seed))
    counts = (kinds[order][:, None] == np.arange(9)).cumsum(0)
    wanted = np.arange(1, 151)[:, None] * np.bincount(kinds, minlength=9) / 150
    assert sorted(order.tolist()) == list(range(150))
    assert (np.abs(counts - wanted) < 1).all()


def test_large_blocks_keep_strata_as_far_as_they_can():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 10)
    labels = (rng.random(400) < np.repeat(rng.random(40), 10)).astype(int)  # groups differ in their share
    folds = Structure.of(rng.normal(size=(400, 2)), labels, groups=groups).folds(5)
    shares = [labels[test].mean() for _, test in folds]
    assert [len(test) for _, test in folds] == [80] * 5
    assert np.ptp(shares) < 0.5 * np.mean([np.ptp([labels[np.isin(groups, p)].mean() for p in np.split(rng.permutation(40), 5)])
                                           for _ in range(20)])  # fmt: skip


def test_rare_classes_are_told():
    labels = np.r_[np.zeros(1000, int), 1, 1]
    ladder = Structure.of(np.random.default_rng(0).normal(size=(1002, 2)), labels).nested([64, 128], test=100)
    assert any("class '1' (2 of 1002 rows) has none in" in note for note in ladder.notes)
    assert (
        not Structure.of(np.random.default_rng(0).normal(size=(90, 2)), np.arange(90) % 2).nested([40], test=20).notes
    )


def test_data_sets_carry_their_structure():
    x = torch.arange(12.0)[:, None]
    data = as_dataset(x, x[:, 0], groups=np.arange(12) // 3, test_fraction=0.25)
    assert (len(data), len(data.test), data.structure.about) == (9, 3, "new groups")
    assert len({int(v) // 3 for v in data.test.inputs[:, 0]}) == 1  # the test part is a whole group
    assert data.subset(6, seed=0).structure.grouped
    assert data.take(torch.tensor([0, 1])).to(torch.float64).with_targets(lambda v: v[:, 0]).structure.n_blocks <= 2
    later = as_dataset(x, x[:, 0], time=np.arange(12)[::-1], test_fraction=0.25)
    assert sorted(later.test.inputs[:, 0].tolist()) == [0, 1, 2]
    assert later.structure.about == "later times"
    twice = Dataset(Split(x[[0, 1, 2, 3, 0, 1]], x[[0, 1, 2, 3, 0, 1], 0]), Split(x, x[:, 0]))
    assert (twice.structure.n_blocks, twice.structure.about) == (4, "new rows")
    one_hot = Dataset(Split(x, torch.eye(3)[torch.arange(12) % 3]), Split(x, torch.eye(3)[torch.arange(12) % 3]),
                      classes=("a", "b", "c"))  # fmt: skip
    assert one_hot.structure.names == ("a", "b", "c")


def test_groups_and_time_are_columns_of_tables(tmp_path):
    frame = pd.DataFrame({"who": list("aabbccdd"), "when": range(8), "x": np.arange(8.0) ** 2, "y": np.arange(8.0)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for data in (
        as_dataset(frame, target="y", groups="who", time="when", test_fraction=0.25),
        as_dataset(frame.drop(columns="y"), frame["y"], groups="who", time="when", test_fraction=0.25),
        as_dataset(tmp_path / "t.csv", target="y", groups="who", time="when", test_fraction=0.25),
        as_dataset(frame[["x", "y"]], target="y", groups=frame["who"], time=frame["when"], test_fraction=0.25),
    ):
        assert data.columns == ("x",)
        assert data.test.inputs[:, 0].sort().values.tolist() == [36, 49]
        assert data.structure.n_blocks == 3


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: Structure.of(np.eye(3), np.arange(4.0)), "same 2 rows or more; got 3 and 4"),
        (lambda: Structure.of(np.eye(3), np.arange(3.0), groups=[1, 2]), r"groups must be one value per row, shape \(3,\)"),
        (lambda: Structure.of(np.eye(3), np.arange(3.0), groups=["a", None, "b"]), "1 of 3 are missing"),
        (lambda: Structure.of(np.eye(3), np.arange(3.0), groups=[1, 1, 1]).folds(2), "2 folds need 2 blocks.*got 1"),
        (lambda: Structure.of(np.eye(3), np.arange(3.0), time=["soon", "late", "now"]), "numbers or dates"),
        (lambda: Structure.of(np.eye(3), np.arange(3.0)).folds(4), "4 folds need 4 blocks"),
        (lambda: Structure.of(np.eye(3), np.arange(3.0)).nested([3]), "need 4 rows; got 3"),
        (lambda: as_dataset(np.eye(3), np.arange(3.0), groups="who"), "has no columns"),
        (lambda: as_dataset("digits", groups=np.arange(3)), "gives no rows in order"),
        (lambda: as_dataset(pd.DataFrame({"who": [1, 2], "y": [1.0, 2.0]}), groups="whom"), "Did you mean 'who'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(call, message):
    with pytest.raises(ValueError, match=message):
        call()
