"""The linear classifier with the largest margin in a norm: where descent on separable data ends, by convex programming."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog, nnls

from priorscope.contracts import guarded
from priorscope.probes.limits.implicit._frequencies import frequency_margin, frequency_norm
from priorscope.probes.limits.implicit._minimum_norm import system

__all__ = ["hard_margin", "maximum_margin", "norm_of"]

Array = NDArray[np.float64]
ORDER = {"l1": 1, "l2": 2, "linf": np.inf}


def norm_of(weights: ArrayLike, norm: str) -> float:
    """The "l1", "l2" or "linf" norm of some weights, or "dft-l1", the sum of their Fourier amplitudes.

    Example:
        >>> norm_of([3.0, -4.0], "l1"), norm_of([3.0, -4.0], "linf")
        (7.0, 4.0)
    """
    _known(norm)
    w = np.asarray(weights, dtype=np.float64).reshape(-1)
    return frequency_norm(w) if norm == "dft-l1" else float(np.linalg.norm(w, ORDER[norm]))


def _known(norm: str) -> None:
    if norm not in (*ORDER, "dft-l1"):
        raise ValueError(f"norm must be 'l1', 'l2', 'linf' or 'dft-l1'; got {norm!r}.")


def hard_margin(rows: Array, bounds: Array) -> tuple[Array, Array] | None:
    r"""The shortest w with :math:`Gw \ge h` and its multipliers; None where there is no such w.

    Least distance programming by non-negative least squares (Lawson & Hanson 1974, ch. 23): with u the solution of
    :math:`\min_{u\ge0}\|(G, h)^\top u - e_{d+1}\|` and r the residual, :math:`w_j = -r_j/r_{d+1}`; the multipliers of
    :math:`w = G^\top\lambda` are :math:`-u/r_{d+1}`.

    Example:
        >>> w, lam = hard_margin(np.array([[2.0, 0.0], [0.0, 1.0]]), np.ones(2))
        >>> w.round(9).tolist(), lam.round(9).tolist()
        ([0.5, 1.0], [0.25, 1.0])
    """
    E = np.vstack([rows.T, bounds])
    scale = np.linalg.norm(E, axis=0)  # a positive factor on each row changes no answer
    f = np.zeros(len(E))
    f[-1] = 1.0
    u, rest = nnls(E / scale, f, maxiter=50 * E.shape[1])
    u = u / scale
    r = E @ u - f
    if rest < 1e-7 or not r[-1] < 0:
        return None
    return -r[:-1] / r[-1], -u / r[-1]


@guarded()
def maximum_margin(inputs: ArrayLike, labels: ArrayLike, norm: str = "l2") -> Array:
    r"""The w of least ``norm`` with :math:`y_i\langle w, x_i\rangle \ge 1`, whose margin :math:`1/\|w\|` is the largest.

    Labels are signs; the line goes through the origin (append a column of ones for an offset). "l2" is the hard-margin
    support vector machine, by non-negative least squares; "l1" and "linf" are linear programs; "dft-l1" is the sum of the moduli
    of the unitary Fourier transform, where linear convolutional networks of two layers end.

    Example:
        >>> maximum_margin([[2.0, 1.0], [-2.0, -1.0]], [1, -1], "l1").tolist()
        [0.5, 0.0]
    """
    X, y = system("maximum_margin", inputs, labels)
    _known(norm)
    if not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError("maximum_margin needs labels of -1 and 1.")
    Z, d = y[:, None] * X, X.shape[1]
    if norm == "l2":
        solved = hard_margin(Z, np.ones(len(Z)))
        w = None if solved is None else solved[0]
    elif norm == "dft-l1":
        w = frequency_margin(Z)
    elif norm == "l1":
        found = linprog(np.ones(2 * d), A_ub=np.hstack([-Z, Z]), b_ub=-np.ones(len(Z)), method="highs")
        w = found.x[:d] - found.x[d:] if found.status == 0 else None
    else:
        bound = np.block([[np.eye(d), -np.ones((d, 1))], [-np.eye(d), -np.ones((d, 1))]])
        above = np.vstack([np.hstack([-Z, np.zeros((len(Z), 1))]), bound])
        least = np.r_[-np.ones(len(Z)), np.zeros(2 * d)]
        found = linprog(np.r_[np.zeros(d), 1.0], A_ub=above, b_ub=least, bounds=[(None, None)] * d + [(0, None)])
        w = found.x[:d] if found.status == 0 else None
    if w is None or not (Z @ w > 0.99).all():
        raise ValueError(
            "maximum_margin needs samples that a line through the origin separates; these are not. Append a column of ones for "
            "an offset, or use more features."
        )
    best: Array = w / float((Z @ w).min())
    return best
