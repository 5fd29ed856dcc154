"""Measurements: a system or a network in, a result with a table and a chart out."""

from ._empirical_ntk import empirical_ntk

__all__ = [
    "empirical_ntk",
]
