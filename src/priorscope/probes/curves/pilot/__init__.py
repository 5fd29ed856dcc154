"""The pilot: the part of the data a forecast looks at, its kernel matrix, and regression on parts of it."""

from priorscope.probes.curves.pilot._folds import fold_sizes, k_fold, leave_one_out, with_folds
from priorscope.probes.curves.pilot._gram import Pilot, draw_pilot, gram_of
from priorscope.probes.curves.pilot._nested import Nested, factorise, nested_regression, prefix_sizes
from priorscope.probes.curves.pilot._prepare import Prepared, prepare
from priorscope.probes.curves.pilot._tuned import ridge_grid, tuned_regression

__all__ = [
    "Nested",
    "Pilot",
    "Prepared",
    "draw_pilot",
    "factorise",
    "fold_sizes",
    "gram_of",
    "k_fold",
    "leave_one_out",
    "nested_regression",
    "prefix_sizes",
    "prepare",
    "ridge_grid",
    "tuned_regression",
    "with_folds",
]
