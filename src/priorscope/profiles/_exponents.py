"""In how many dimensions the data live, and the exponent that each kernel machine should reach on them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from priorscope.probes import ExpectedExponents, effective_dimension, expected_exponents
from priorscope.profiles._view import View

__all__ = ["exponents_of"]

ROWS = 1500  # looked at for nearest neighbours
FEWEST = 100  # samples below which kernel components say nothing


def exponents_of(view: View, grams: Mapping[str, NDArray[np.float64]]) -> ExpectedExponents | None:
    """Dimension of the inputs as kernels see them, and exponents on the first draw; None where there is too little."""
    rows = view.inputs[:ROWS].flatten(1).double().numpy()
    if len(view.pilot) < FEWEST or not grams or len(np.unique(rows, axis=0)) < FEWEST:
        return None
    dimension = effective_dimension(rows, subsets=3)
    return expected_exponents(rows, view.pilot.targets, grams, dimension=dimension)
