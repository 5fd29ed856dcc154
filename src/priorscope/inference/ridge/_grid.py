"""The ridges that are tried, one grid for all."""

from __future__ import annotations

import numpy as np

__all__ = ["RIDGES"]

RIDGES = np.geomspace(1e-6, 10.0, 22)
"""Ridges from next to none to more than any signal wants, in units of the mean eigenvalue of the centred kernel.

Example:
    >>> len(RIDGES), round(float(RIDGES[1] / RIDGES[0]), 2)
    (22, 2.15)
"""
