"""The pilot: the part of the data a forecast looks at, its kernel matrix, and regression on all of its prefixes."""

from ._gram import Pilot, draw_pilot, gram_of
from ._nested import Nested, factorise, leave_one_out, nested_regression, prefix_sizes

__all__ = [
    "Nested",
    "Pilot",
    "draw_pilot",
    "factorise",
    "gram_of",
    "leave_one_out",
    "nested_regression",
    "prefix_sizes",
]
