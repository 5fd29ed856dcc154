"""Mean and standard deviation of columns of any size: what standardised numbers are made with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["mean_and_scale"]

Array = NDArray[np.float64]
CONSTANT = 1e-12  # a deviation below this share of the largest number is rounding: the column counts as constant


def mean_and_scale(values: Array, axes: tuple[int, ...] = (0,)) -> tuple[Array, Array]:
    r"""Mean and standard deviation :math:`\sqrt{\overline{(x-\bar x)^2}}` over ``axes``; 1 in place of that of a constant.

    (by definition). Numbers are first divided by a power of two near the largest of them, which changes no digit, so that
    squares neither overflow nor underflow.

    Example:
        >>> mean_and_scale(np.array([[1e200, 5.0], [3e200, 5.0]]))[1].tolist()
        [1e+200, 1.0]
    """
    largest = np.abs(values).max(axes, initial=0.0, keepdims=True)
    power = np.frexp(largest)[1]
    small = np.ldexp(values, -power)
    mean, deviation = small.mean(axes, keepdims=True), small.std(axes, keepdims=True)
    scale = np.where(deviation <= CONSTANT * np.ldexp(largest, -power), 1.0, np.ldexp(deviation, power))
    return np.ldexp(mean, power).squeeze(axes), scale.squeeze(axes)
