"""Gradients of a fitted kernel machine in the columns of its rows, and the directions along which it varies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from priorscope.contracts import FeatureKernel, require

if TYPE_CHECKING:
    from priorscope.sklearn._inputs import Inputs
    from priorscope.sklearn._kernel_machine import KernelMachine

__all__ = ["column_shares", "column_slopes", "input_slopes", "leading"]

Array = NDArray[np.float64]
SEEN = 500  # rows at which gradients are taken for importances and directions


def input_slopes(machine: KernelMachine, x: torch.Tensor | None = None) -> Array:
    """Gradients (n, outputs, numbers) of the outputs in the standardised numbers, before any whitening.

    At inputs ``x`` as the kernel takes them; by default at up to 500 of the training rows that carry the solution.
    """
    model = require(
        machine.model_,
        FeatureKernel,
        "a kernel that can be differentiated",
        "Use an Architecture or a kernel of the distance, without averaging over flips (flips=False).",
    )
    z = machine.X_fit_
    some = x if x is not None else (z if len(z) <= SEEN else z[:: -(-len(z) // SEEN)])
    coefficients = torch.from_numpy(np.ascontiguousarray(machine.dual_coef_))
    found: Array = model.expansion_gradients(some, z, coefficients, kind=machine.kind_).flatten(2).numpy()
    return found @ machine.inputs_.matrix.T if machine.inputs_.matrix.size else found


def column_slopes(machine: KernelMachine, x: torch.Tensor | None = None) -> Array:
    """The same by column, where every number is a column: marks have no slope."""
    if machine.inputs_.form != "standard":
        raise ValueError(
            f"gradients in the columns need inputs that are numbers; this machine chose {machine.inputs_.form!r}, marks "
            "without a slope. Fit with inputs='standard', or read feature_importances_, which add marks up by column."
        )
    return input_slopes(machine, x)


def leading(slopes: Array, count: int) -> Array:
    """The first eigenvectors (count, columns) of the mean of g gᵀ, by a singular value decomposition of the gradients.

    Example:
        >>> leading(np.array([[[3.0, 0.0]], [[0.0, 1.0]]]), 1).tolist()
        [[1.0, 0.0]]
    """
    flat = slopes.reshape(-1, slopes.shape[-1])
    if flat.shape[0] > flat.shape[1]:
        lam, U = np.linalg.eigh(flat.T @ flat)
        rows = U.T[np.argsort(lam)[::-1]]
    else:
        rows = np.linalg.svd(flat, full_matrices=False)[2]
    rows = rows[:count]
    signs = np.sign(rows[np.arange(len(rows)), np.abs(rows).argmax(1)])  # the largest entry is positive
    found: Array = rows * signs[:, None]
    return found


def column_shares(inputs: Inputs, squares: Array) -> Array:
    """Shares of the squared slope by column of the rows, from those by number that the kernel sees.

    Example:
        >>> from priorscope.sklearn._inputs import Inputs
        >>> two = Inputs.learnt(np.array([[0.0, 1.0], [2.0, 4.0]]), (2,))
        >>> column_shares(two, np.array([3.0, 1.0])).tolist()
        [0.75, 0.25]
    """
    columns = len(inputs.median)
    if inputs.form == "standard":
        own = squares
    else:
        plain = squares[:columns] if inputs.form == "codes" else np.zeros(columns)
        marks = squares[columns:] if inputs.form == "codes" else squares
        own = plain + np.bincount(inputs.owners, marks, minlength=columns)
    shares: Array = own / max(float(own.sum()), 1e-300)
    return shares
