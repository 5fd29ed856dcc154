"""The smallest deformation that can be seen: by about one pixel."""

from __future__ import annotations

from priorscope.contracts import Shape
from priorscope.data.deformations._transform import Deform

__all__ = ["one_pixel"]

_LEAST_SIDE = 8  # pixels, below which no deformation by one pixel is smooth


def one_pixel(input_shape: Shape) -> Deform | None:
    """Deformations by about one pixel, of the highest cutoff up to 3 that does not fold; None for what is no square image.

    Example:
        >>> one_pixel((3, 32, 32)).cutoff, one_pixel((1, 8, 8)).cutoff, one_pixel((1, 7, 7)), one_pixel((64,))
        (3, 2, None, None)
    """
    if len(input_shape) != 3 or input_shape[1] != input_shape[2] or input_shape[1] < _LEAST_SIDE:
        return None
    return Deform(1.0, 3 if input_shape[1] >= 10 else 2, folds="allow")
