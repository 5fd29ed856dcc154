"""Where a spectrum falls off: the number of singular values before its widest gap."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from priorscope.checks import check, optional, whole
from priorscope.contracts import guarded

__all__ = ["gap_dimension"]


@guarded(least=whole(), most=optional(whole()))
def gap_dimension(singular_values: ArrayLike, *, least: int = 1, most: int | None = None) -> tuple[int, float]:
    r"""The k between ``least`` and ``most`` with the widest gap :math:`\lambda_k/\lambda_{k+1}`, and that ratio.

    A definition of ours for the cut-off that Oymak, Fabian, Li & Soltanolkotabi (2019, arXiv 1906.05392) leave to the user.
    Values descend; ``most`` is all but one unless given.

    Example:
        >>> gap_dimension([9.0, 8.0, 7.0, 0.5, 0.4])
        (3, 14.0)
    """
    values = np.asarray(singular_values, dtype=np.float64)
    if values.ndim != 1 or len(values) < 2 or (np.diff(values) > 1e-9 * values[0]).any() or values[0] <= 0:
        raise ValueError(
            f"gap_dimension needs at least two descending singular values, the first above zero; got shape {values.shape}."
        )
    most = len(values) - 1 if most is None else min(most, len(values) - 1)
    check("gap_dimension", "least", least, whole(1, f"There are {len(values)} singular values.", most=most))
    floor = 1e-15 * float(values[0])
    ratios = np.maximum(values[least - 1 : most], floor) / np.maximum(values[least : most + 1], floor)
    best = int(ratios.argmax())
    return least + best, float(ratios[best])
