"""Among all linear functions that fit the samples, the one of least norm: where descent ends, by convex programming."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog

from priorscope.checks import POSITIVE, whole
from priorscope.contracts import guarded
from priorscope.inference import Potential

__all__ = ["minimum_norm", "minimum_potential"]

Array = NDArray[np.float64]
ADVICE = "Take fewer samples, or more features."


def system(who: str, inputs: ArrayLike, targets: ArrayLike) -> tuple[Array, Array]:
    """Inputs (n, d) and targets (n,) as float64, or an error that says what is wrong with them.

    Example:
        >>> system("here", [[1, 2]], [[3]])[1].tolist()
        [3.0]
    """
    X, y = np.asarray(inputs, dtype=np.float64), np.asarray(targets, dtype=np.float64).reshape(-1)
    if X.ndim != 2 or len(X) != len(y) or not np.isfinite(X).all() or not np.isfinite(y).all():
        raise ValueError(f"{who} needs finite inputs (n, d) and one target each; got {X.shape} and {y.shape}.")
    return X, y


def fits(X: Array, y: Array, w: Array, who: str) -> Array:
    """The weights, or an error where they do not fit."""
    off = float(np.linalg.norm(X @ w - y)) / max(float(np.linalg.norm(y)), 1e-300)
    if not off < 1e-6:
        raise ValueError(
            f"{who} needs samples that a linear function fits; the best residual is {off:.2g} of the targets. {ADVICE}"
        )
    return w


@guarded()
def minimum_norm(inputs: ArrayLike, targets: ArrayLike, norm: str = "l2") -> Array:
    r"""The weights of least ``norm`` with :math:`Xw = y`: "l2" in closed form, "l1" and "linf" by linear programming.

    Gradient descent from zero on the squared loss ends at the first (it never leaves the span of the inputs); a network with a
    rich regime may end near the second. The program for l1 is basis pursuit (Chen, Donoho & Saunders 1998).

    Example:
        >>> minimum_norm([[3.0, 4.0]], [5.0]).round(6).tolist(), minimum_norm([[3.0, 4.0]], [5.0], "l1").tolist()
        ([0.6, 0.8], [0.0, 1.25])
    """
    X, y = system("minimum_norm", inputs, targets)
    d = X.shape[1]
    if norm == "l2":
        least: Array = np.asarray(np.linalg.lstsq(X, y, rcond=None)[0], dtype=np.float64)
        return fits(X, y, least, "minimum_norm")
    if norm not in ("l1", "linf"):
        raise ValueError(f"norm must be 'l1', 'l2' or 'linf'; got {norm!r}. minimum_potential takes any potential.")
    if norm == "l1":  # w = u - v with u, v >= 0
        found = linprog(np.ones(2 * d), A_eq=np.hstack([X, -X]), b_eq=y, method="highs")
    else:  # minimise t with -t <= w <= t
        bound = np.block([[np.eye(d), -np.ones((d, 1))], [-np.eye(d), -np.ones((d, 1))]])
        wide = np.hstack([X, np.zeros((len(X), 1))])
        free = [(None, None)] * d + [(0, None)]
        found = linprog(np.r_[np.zeros(d), 1.0], A_ub=bound, b_ub=np.zeros(2 * d), A_eq=wide, b_eq=y, bounds=free)
    if found.status != 0:
        raise ValueError(f"minimum_norm needs samples that a linear function fits: {found.message} {ADVICE}")
    weights: Array = found.x[:d] - found.x[d:] if norm == "l1" else found.x[:d]
    return fits(X, y, weights, "minimum_norm")


@guarded(tolerance=POSITIVE, most=whole())
def minimum_potential(
    inputs: ArrayLike,
    targets: ArrayLike,
    potential: Potential,
    *,
    start: ArrayLike | None = None,
    tolerance: float = 1e-12,
    most: int = 500,
) -> Array:
    r"""The weights with :math:`Xw = y` and least Bregman divergence from ``start``: where mirror descent from there ends.

    Damped Newton iteration on the convex dual, :math:`w = (\nabla\Psi)^{-1}(\nabla\Psi(w_0) + X^\top\nu)`. ``start`` is zero
    unless given (a potential of positive weights needs one). Derived from the conditions of Karush, Kuhn and Tucker; that mirror
    descent ends there is Theorem 1 of Gunasekar, Lee, Soudry & Srebro (2018). ``tolerance`` is on the residual, relative to
    the targets; at most ``most`` steps.

    Example:
        >>> from priorscope.inference import Quadratic
        >>> minimum_potential([[3.0, 4.0]], [5.0], Quadratic()).round(6).tolist()
        [0.6, 0.8]
    """
    X, y = system("minimum_potential", inputs, targets)
    first = np.zeros(X.shape[1]) if start is None else np.asarray(start, dtype=np.float64).reshape(-1)
    if first.shape != X.shape[1:]:
        raise ValueError(
            f"minimum_potential needs a start of one weight per input, ({X.shape[1]},); got {first.shape}."
        )
    begin = torch.from_numpy(first)
    potential.check(begin)
    z0 = potential.dual(begin)
    A, b = torch.from_numpy(X), torch.from_numpy(y)
    nu, size = torch.zeros(len(X), dtype=torch.float64), max(float(b.norm()), 1e-300)

    def at(v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, float]:
        z = z0 + A.mT @ v
        w = potential.primal(z)
        return z, A @ w - b, float(potential.conjugate(z).sum() - v @ b)  # the dual function

    flat = potential.bend(z0)
    if not bool((torch.isfinite(flat) & (flat > 0)).all()):  # it bends not at all here, or without bound
        nu = torch.linalg.lstsq(A @ A.mT, b[:, None], driver="gelsd").solution[:, 0]
    z, r, value = at(nu)
    for _ in range(most):
        if float(r.norm()) <= tolerance * size:
            break
        bend = potential.bend(z)
        H = (A * bend.clamp(max=1e12 * float(bend.median()) + 1e-300)) @ A.mT
        H.diagonal().add_(1e-15 * float(H.diagonal().mean()))
        step = torch.linalg.lstsq(H, -r[:, None], driver="gelsd").solution[:, 0]
        slope, length = float(step @ r), 1.0
        while length > 1e-30:
            z1, r1, value1 = at(nu + length * step)
            lower = value1 <= value + 1e-4 * length * slope
            level = float(r1.norm()) < float(r.norm()) and value1 <= value + 1e-12 * abs(value)
            if np.isfinite(value1) and (lower or level):
                break
            length /= 2
        else:
            break
        nu, z, r, value = nu + length * step, z1, r1, value1
    off = float(r.norm()) / size
    if not off < 1e3 * tolerance + 1e-9:
        raise ValueError(
            f"minimum_potential stopped at a residual of {off:.2g} of the targets after {most} steps. Are there weights in the "
            f"domain of {potential} that fit the samples? A potential this sharp may also ask for more digits than double "
            f"precision has (use a larger scale). {ADVICE}"
        )
    weights: Array = potential.primal(z).numpy()
    return weights
