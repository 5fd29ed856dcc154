"""Which look at a network in training is taken: by the other networks of its size, never by its own test."""

from types import SimpleNamespace

import numpy as np

from priorscope.profiles._trained import _chosen


def runs(*losses: list[float]) -> list[SimpleNamespace]:
    return [SimpleNamespace(losses=row) for row in losses]


def test_the_look_is_the_best_of_the_others() -> None:
    """Sums without the own row: 3 5 7 of the last two, 5 4 8 and 6 1 9 of the others."""
    assert _chosen(runs([4.0, 0.0, 5.0], [2.0, 1.0, 4.0], [1.0, 4.0, 3.0])) == [0, 1, 1]
    assert _chosen(runs([3.0, 1.0, 2.0])) == [1]
    assert _chosen(runs([3.0, np.nan, 2.0], [1.0, 0.0, 5.0])) == [0, 2]  # never a look at which one of them diverged
