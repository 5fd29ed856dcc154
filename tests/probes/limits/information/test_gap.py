"""The widest gap of a spectrum."""

from __future__ import annotations

import pytest

from priorscope.probes import gap_dimension


def test_the_widest_gap_within_bounds():
    values = [100.0, 9.0, 8.0, 2.0, 1.0]
    assert gap_dimension(values) == (1, pytest.approx(100 / 9))
    assert gap_dimension(values, least=2) == (3, 4.0)
    assert gap_dimension(values, least=2, most=2) == (2, pytest.approx(9 / 8))
    assert gap_dimension([3.0, 2.0, 0.0])[0] == 2


def test_wrong_arguments_are_told():
    with pytest.raises(ValueError, match="descending singular values"):
        gap_dimension([1.0, 2.0])
    with pytest.raises(ValueError, match="descending singular values"):
        gap_dimension([0.0, 0.0])
    with pytest.raises(ValueError, match="least"):
        gap_dimension([2.0, 1.0], least=3)
