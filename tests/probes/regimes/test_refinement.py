"""Where the ladder of scales is refined: around a kernel that changes by its own size, on average over seeds."""

import numpy as np
import pytest

from priorscope.probes.regimes._regime import _between

LADDER = np.array([0.01, 1.0, 100.0])


@pytest.mark.parametrize(
    "change, around",
    [
        ([3.0, 1.5, 0.5], (1.0, 100.0)),  # a change of 1.5 is still more than the kernel itself
        ([1.5, 0.9, 0.5], (0.01, 1.0)),
        ([9.0, 1.0, 0.5], (1.0, 100.0)),  # exactly one: above
    ],
)
def test_new_scales_lie_where_the_kernel_changes_by_its_own_size(change, around):
    found = _between(LADDER, np.array(change)[:, None])
    logs = np.linspace(*np.log(around), 5)[1:-1]
    np.testing.assert_allclose(found, np.exp(logs), rtol=1e-12)


def test_seeds_are_averaged_in_the_logarithm():
    change = np.array([[9.0, 9.0], [3.0, 0.2], [0.1, 0.1]])  # means of the middle row: sqrt(0.6) < 1 < 1.6
    assert _between(LADDER, change).max() < 1.0


@pytest.mark.parametrize("change, side", [([0.5, 0.3, 0.1], "below"), ([9.0, 5.0, 2.0], "above")])
def test_a_ladder_on_one_side_is_lengthened_by_two_decades(change, side):
    found = _between(LADDER, np.array(change)[:, None])
    step = 100 ** (1 / 3)
    expected = 0.01 / 100 * step ** np.arange(3) if side == "below" else 100.0 * step ** np.arange(1, 4)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
