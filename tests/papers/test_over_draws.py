"""The worst of several cells: it must be able to hold, and to fail where one cell surely does."""

from __future__ import annotations

import numpy as np
import pytest

from priorscope.lab import above, at_most, below, judge_interval
from priorscope.papers._over_draws import highest, lowest, over_draws
from priorscope.statistics import Interval


def cells(values):
    return {str(i): over_draws(row) for i, row in enumerate(values)}


def test_one_cell_that_surely_fails_decides_whatever_a_noisier_one_says():
    found = {
        "sure": Interval(-0.03, -0.04, -0.02),
        "noisy": Interval(-0.02, -0.06, 0.02),
        "good": Interval(1, 0.9, 1.1),
    }
    assert judge_interval(lowest(found).interval, above(0)) == "fails"
    turned = {name: Interval(-i.value, -i.high, -i.low) for name, i in found.items()}
    assert judge_interval(highest(turned).interval, below(0)) == "fails"
    assert judge_interval(found["noisy"], above(0)) == "not shown"  # the cell that reaches lowest would not have told


def test_all_cells_must_hold():
    found = {"a": Interval(0.3, 0.2, 0.4), "b": Interval(0.2, 0.1, 0.3)}
    assert judge_interval(lowest(found).interval, above(0.05)) == "holds"
    assert judge_interval(lowest(found).interval, above(0.15)) == "not shown"
    assert judge_interval(highest(found).interval, at_most(0.45)) == "holds"
    assert judge_interval(highest(found).interval, at_most(0.35)) == "not shown"


def test_one_cell_is_its_own_interval():
    one = Interval(0.3, 0.2, 0.5)
    for of in (lowest, highest):
        measured = of({"a": one}).interval
        assert (measured.value, measured.low, measured.high) == pytest.approx((0.3, 0.2, 0.5))


@pytest.mark.parametrize("draws", [4, 16])
def test_cells_without_an_effect_fail_together_no_oftener_than_one_alone_may(draws):
    rng, k, repeats = np.random.default_rng(draws), 6, 1000
    shared = alone = 0
    for _ in range(repeats):
        found = cells(rng.normal(size=(k, draws)))
        shared += lowest(found).interval.high < 0
        alone += min(i.high for i in found.values()) < 0
    noise = (0.025 * 0.975 / repeats) ** 0.5
    assert shared / repeats < 0.025 + 3 * noise
    assert (
        alone / repeats > 0.025 + 3 * noise
    )  # the control: without sharing, one of six fails by chance (about 1 - 0.975^6)
    assert alone / repeats == pytest.approx(1 - 0.975**k, abs=0.035)
