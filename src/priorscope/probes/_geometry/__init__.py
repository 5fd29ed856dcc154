"""Geometry of the input space: the directions that models of a family see at initialisation."""

from ._average import average_geometry
from ._closed import linear_conv_geometry, relu_geometry
from ._correlation import matrix_correlation, second_moment
from ._result import AverageGeometry

__all__ = [
    "AverageGeometry",
    "average_geometry",
    "linear_conv_geometry",
    "matrix_correlation",
    "relu_geometry",
    "second_moment",
]
