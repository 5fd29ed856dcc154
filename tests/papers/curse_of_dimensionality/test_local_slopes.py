"""Slopes between neighbouring sizes, of power laws that are known."""

import numpy as np
import pandas as pd
import pytest

from priorscope.papers.curse_of_dimensionality._dide import local_slopes


def test_each_system_has_its_own_slopes():
    rows = [
        {"system": name, "m": m, "seed": seed, "error": (1 + seed) * m**-beta}
        for name, beta in (("first", 0.5), ("second", 1.5))
        for m in (10, 40, 80)
        for seed in range(3)
    ]
    found = local_slopes(pd.DataFrame(rows))
    assert found.system.tolist() == ["first", "first", "second", "second"]
    assert found.beta.tolist() == pytest.approx([0.5, 0.5, 1.5, 1.5])
    assert found.m.tolist() == pytest.approx([20, np.sqrt(3200)] * 2)
    assert (found.high - found.low).max() < 1e-9  # draws that differ by a factor have one slope
