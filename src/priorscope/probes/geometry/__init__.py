"""Geometry of the input space: the directions that models of a family see at initialisation."""

from priorscope.probes.geometry._average import average_geometry
from priorscope.probes.geometry._closed import linear_conv_geometry, relu_geometry
from priorscope.probes.geometry._correlation import matrix_correlation, second_moment
from priorscope.probes.geometry._result import AverageGeometry

__all__ = [
    "AverageGeometry",
    "average_geometry",
    "linear_conv_geometry",
    "matrix_correlation",
    "relu_geometry",
    "second_moment",
]
