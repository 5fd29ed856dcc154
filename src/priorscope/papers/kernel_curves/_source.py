"""The publication, and the kernels it compares."""

from __future__ import annotations

from typing import cast

import pandas as pd

from priorscope.lab import Point
from priorscope.models import RadialKernel, gaussian, laplace

SOURCE = "Asymptotic learning curves of kernel methods: empirical data v.s. teacher-student paradigm (2020)"


def kernel_of(name: str, bandwidth: float) -> RadialKernel:
    """Laplace or Gaussian by name."""
    return {"laplace": laplace, "gaussian": gaussian}[name](float(bandwidth))


def records(table: pd.DataFrame) -> list[Point]:
    """Rows of a table as dictionaries."""
    return cast(list[Point], table.to_dict("records"))
