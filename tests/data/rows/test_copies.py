"""Copies of rows: hand-made tables whose copies are known, and tables on few values that only look like copies."""

import numpy as np
import pytest

from priorscope.data.rows._copies import copy_blocks
from priorscope.data.rows._repeats import in_order, number_equal, scaled_columns


def draw(seed: int, n: int, d: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("noise", [0.0, 1e-13, 1e-6])
@pytest.mark.parametrize("d", [2, 3, 12])
def test_rows_given_three_times_are_one_block_each(noise, d):
    x = np.repeat(draw(0, 80, d), 3, 0) + noise * draw(1, 240, d)
    assert copy_blocks(x, np.repeat(draw(2, 80, 1)[:, 0], 3)).tolist() == np.repeat(np.arange(80), 3).tolist()
    assert len(set(copy_blocks(draw(0, 240, d), draw(2, 240, 1)))) == 240  # and independent rows are none


@pytest.mark.parametrize("scale, shift", [(1e-30, 0.0), (1e12, 0.0), (1.0, 1e6)])
def test_units_of_columns_do_not_matter(scale, shift):
    x = np.repeat(draw(0, 60, 3), 2, 0) + 1e-7 * draw(1, 120, 3)
    moved = x * np.array([scale, 1.0, 1.0]) + np.array([0.0, shift, 0.0])
    y = np.repeat(np.arange(60.0), 2)
    assert np.array_equal(copy_blocks(moved, y), copy_blocks(x, y))


def test_order_of_rows_and_gaps_do_not_matter():
    x = np.repeat(draw(0, 50, 3), 2, 0)
    x[::8, 1] = np.nan  # one of two copies has a gap: they differ
    order = np.random.default_rng(3).permutation(100)
    blocks = copy_blocks(x, np.repeat(np.arange(50.0), 2))
    assert blocks.max() + 1 == 50 + len(range(0, 100, 8))
    assert np.array_equal(copy_blocks(x[order], np.repeat(np.arange(50.0), 2)[order]), in_order(blocks[order]))


def test_neighbours_of_a_single_column_are_no_copies():
    """Gaps of uniform numbers differ a thousandfold by chance once in a thousand rows: no more than that may link up."""
    for seed in range(20):
        x = np.random.default_rng(seed).random((500, 1))
        assert (np.bincount(copy_blocks(x, x[:, 0])) > 1).sum() <= 0.5 + 4 * 0.5**0.5


def test_few_possible_inputs_meet_by_chance_and_copies_of_them_do_not():
    rng = np.random.default_rng(0)
    table = np.stack([rng.integers(30, 80, 300), rng.integers(58, 70, 300), rng.geometric(0.3, 300)], 1)
    classes = rng.integers(0, 2, 300)
    assert len(np.unique(table, axis=0)) < 290  # some do meet
    assert copy_blocks(table, classes).max() == 299
    assert copy_blocks(np.repeat(table, 2, 0), np.repeat(classes, 2)).max() == 299  # the whole table, twice
    rare = classes == 1
    more = np.r_[np.arange(300), *[np.flatnonzero(rare)] * 3]  # one class four times: ordinary oversampling
    blocks = copy_blocks(table[more], classes[more])
    assert blocks.max() == 299
    assert sorted(set(np.bincount(blocks)[np.unique(blocks[classes[more] == 1])])) == [4]


def test_one_column_of_two_values_is_no_copy_and_designed_points_are():
    bits = np.random.default_rng(0).integers(0, 2, (400, 1))
    noise = np.random.default_rng(1).integers(0, 2, 400)
    assert copy_blocks(bits, noise).max() == 399
    assert copy_blocks(np.hstack([bits, 1 - bits]), noise).max() == 399  # as two marks
    designed = np.repeat(draw(0, 20, 3), 5, 0)  # measured five times each: a new row is at a new point
    assert copy_blocks(designed, draw(1, 100, 1)[:, 0]).max() == 19


def test_rounding_goes_by_the_spread_of_a_column():
    x = scaled_columns(np.array([[1e9, 0.0], [1e9 + 1e-3, 0.0], [1e9 + 1.0, 0.0], [1e9, 0.0]]))
    assert in_order(number_equal(x)).tolist() == [0, 1, 2, 0]


def test_a_hundred_thousand_rows():
    x = draw(0, 100_000, 6)
    x[90_000:] = x[:10_000]
    assert np.array_equal(copy_blocks(x, x[:, 0]), np.r_[np.arange(90_000), np.arange(10_000)])
