"""Squared Euclidean distances by one product of matrices, with close pairs done again number by number."""

from __future__ import annotations

import torch
from numba import njit
from torch import Tensor

__all__ = ["fill_distances", "median_distance", "squared_distances"]

CLOSE = 1e-2  # below this share of the two squared norms the product of matrices has lost two digits
ROWS = 1024
SEEN = 1000


@njit(nogil=True, cache=True, error_model="numpy")
def fill_distances(out, a, b, norms_a, norms_b):  # type: ignore[no-untyped-def]
    """Turn ``out = -2 a b'`` into squared distances in place; pairs that are close are summed directly, so equal rows give 0."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            size = norms_a[i] + norms_b[j]
            found = size + out[i, j]
            if found < CLOSE * size:
                found = 0.0
                for c in range(a.shape[1]):
                    step = a[i, c] - b[j, c]
                    found += step * step
            out[i, j] = found


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    r"""Squared distances :math:`\|a_i - b_j\|^2` (n1, n2) of rows in float64; 0 for equal rows, within 1e-13 of the direct sum.

    .. math:: \|a - b\|^2 = \|a\|^2 + \|b\|^2 - 2\,a\cdot b

    (the law of cosines, by definition of the norm)
    after the mean of ``b`` is taken off both, which loses digits only where the distance is small
    against the norms: those pairs are summed number by number.

    Example:
        >>> squared_distances(torch.zeros(1, 2).double(), torch.tensor([[3.0, 4.0]]).double()).item()
        25.0
    """
    centre = b.mean(0)
    x, y = (a - centre).contiguous(), (b - centre).contiguous()
    out = (x @ y.mT).mul_(-2.0)
    fill_distances(out.numpy(), x.numpy(), y.numpy(), x.square().sum(1).numpy(), y.square().sum(1).numpy())
    if not bool(out.isfinite().all()):
        raise ValueError(
            f"distances between inputs need numbers whose squares fit into double precision, up to 1e150 in units of the "
            f"bandwidth; got up to {max(float(a.abs().max()), float(b.abs().max())):.3g}. Rescale the inputs or the bandwidth."
        )
    return out


def median_distance(x: Tensor) -> float:
    """The median distance between distinct rows; of more than a thousand rows, a thousand evenly spaced ones are looked at.

    Example:
        >>> median_distance(torch.tensor([[0.0], [1.0], [5.0]]).double())  # of 1, 4, 5
        4.0
    """
    if len(x) > SEEN:
        x = x[torch.linspace(0, len(x) - 1, SEEN).round().long()]
    i, j = torch.tril_indices(len(x), len(x), -1)
    apart = squared_distances(x, x)[i, j]
    apart = apart[apart > 0]
    if not len(apart):
        what = "equal inputs" if bool((x == x[0]).all()) else "inputs within 1e-160 of each other"
        raise ValueError(
            f"the bandwidth 'median' needs two inputs that differ; got {len(x)} {what}. Give bandwidth as a number."
        )
    return float(apart.median().sqrt())
