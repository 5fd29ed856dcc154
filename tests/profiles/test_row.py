"""A row's curve: errors between its sizes and the samples that an error needs, of power laws that are known."""

import numpy as np
import pytest

from priorscope.profiles._row import ErrorCurve

GRID = np.geomspace(10, 10_000, 40)
SIZES = np.array([10.0, 20.0, 50.0])


def law(scale: float) -> np.ndarray:
    return scale * GRID**-0.5


def test_samples_needed_by_a_power_law() -> None:
    curve = ErrorCurve(SIZES, 2 * SIZES**-0.5, SIZES, SIZES, GRID, law(2), law(1), law(4))
    found = curve.needed(0.1)  # 2 n^-1/2 = 0.1 at n = 400; the ends of the interval at 100 and 1600
    assert (found.error, found.value, found.low, found.high) == pytest.approx((0.1, 400, 100, 1600))
    assert curve.last == (50, pytest.approx(2 * 50**-0.5))
    at_once = curve.needed(0.9)  # the middle is below it from the first size on, the upper end from 20 on
    assert (at_once.value, at_once.low) == (10, 10)
    assert at_once.high == pytest.approx((4 / 0.9) ** 2)
    never = curve.needed(0.015)
    assert (never.low, never.value, never.high) == (pytest.approx((1 / 0.015) ** 2), np.inf, np.inf)
