"""Measured errors at the door: what was wanted, what came, what to do; and how much of their noise is whose."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorscope.curves._shapes import Points

__all__ = ["read_points"]

Array = NDArray[np.float64]
_TINY = 1e-12  # what a curve of nothing but zeros is taken for


def _numbers(name: str, values: ArrayLike, length: int | None) -> Array:
    """A vector of finite numbers, one for each size."""
    found = np.asarray(values, dtype=float)
    if length is not None and found.ndim == 0:
        found = np.full(length, float(found))
    if (
        found.ndim != 1
        or not len(found)
        or not np.isfinite(found).all()
        or (length is not None and len(found) != length)
    ):
        wanted = "" if length is None else f", {length} of them as there are sizes"
        raise ValueError(f"extrapolate needs finite numbers in {name}{wanted}; got {str(values)[:80]}.")
    return found


def _above_zero(losses: Array) -> Array:
    """Losses of exactly zero as a thousandth of the smallest other one, so that they keep a logarithm."""
    some = losses[losses > 0]
    return np.maximum(losses, max(1e-3 * float(some.min()), _TINY) if len(some) else _TINY)


def read_points(
    sizes: ArrayLike,
    errors: ArrayLike,
    *,
    tests: ArrayLike | None = None,
    errors_se: ArrayLike | None = None,
    repeats: float = 1.0,
    shared: float,
) -> Points:
    r"""Checked points in the order of their sizes.

    A share of mistakes e among m tests has the relative variance (1 - e) / (e m), of which the part ``shared`` is luck of the
    test rows that all sizes have in common; mistakes are counted with one half more, as by Jeffreys (Brown, Cai & DasGupta 2001,
    Stat. Sci. 16, sec. 4.3), so that no mistake at all keeps a logarithm. Standard errors are each
    point's own; a loss below half of its standard error cannot be told from that half, and a loss of zero is taken for a
    thousandth of the smallest other one.
    """
    n = _numbers("sizes", sizes, None)
    e = _numbers("errors", errors, len(n))
    if (n < 1).any():
        raise ValueError(f"extrapolate needs sizes of at least 1 training sample; got {n.min():g}.")
    if (e < 0).any():
        raise ValueError(
            f"extrapolate needs errors of at least 0; got {e.min():g}. Of a loss below zero, extrapolate what lies above its "
            "lowest possible value."
        )
    if tests is not None and errors_se is not None:
        raise ValueError("extrapolate takes tests= (rows behind each share) or errors_se= (standard errors), not both.")
    if not 1 <= repeats < np.inf:
        raise ValueError(f"extrapolate needs repeats of at least 1 training behind each error; got {repeats!r}.")
    order = np.argsort(n, kind="stable")
    n, e = n[order], e[order]
    common = 0.0
    if tests is not None:
        m = _numbers("tests", tests, len(n))[order]
        if (e > 1).any() or (m < 1).any():
            raise ValueError(
                f"with tests= errors are shares (0 to 1) of at least a row; got errors up to {e.max():g}, rows from {m.min():g}. "
                "Give 0.12 rather than 12 %; for losses leave it out."
            )
        e = (e * m + 0.5) / (m + 1)
        variance = (1 - e) / (e * m)
        common = shared * float(variance[-1])
        own = (1 - shared) * variance
    elif errors_se is not None:
        se = _numbers("errors_se", errors_se, len(n))[order]
        if (se < 0).any():
            raise ValueError(f"extrapolate needs standard errors of at least 0; got {se.min():g}.")
        e = _above_zero(np.maximum(e, 0.5 * se))
        own = (se / e) ** 2
    else:
        e = _above_zero(e)
        own = np.zeros_like(e)
    return Points(n, e, own + 1e-6, common, float(repeats))
