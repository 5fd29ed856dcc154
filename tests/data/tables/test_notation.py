"""Numbers as people write them, by hand, and what is no number."""

from __future__ import annotations

import pytest

from priorscope.data.tables._notation import read_numeral

POINT = {
    "12": 12.0, "-0.5": -0.5, "1,234,567.25": 1234567.25, "$1,000": 1000.0, "3 €": 3.0, "(2.5)": -2.5, "50%": 0.5, "1e-3": 1e-3,
}  # fmt: skip
COMMA = {"12": 12.0, "-0,5": -0.5, "1.234.567,25": 1234567.25, "1 000,5": 1000.5}


@pytest.mark.parametrize(("text", "value"), POINT.items())
def test_decimal_points(text, value):
    assert read_numeral(text, ".").value == value


@pytest.mark.parametrize(("text", "value"), COMMA.items())
def test_decimal_commas(text, value):
    assert read_numeral(text, ",").value == value


@pytest.mark.parametrize(
    "text", ["", "a", "1,23", "1,2345", "12,34,567", "--1", "(1", "(-1)", "(+1)", "($-1)", "$1$", "1.2.3", "1e", "5 %%"]
)
def test_what_is_no_number_with_decimal_points(text):
    assert read_numeral(text, ".") is None
