"""Hypercube: Walsh functions, eigenvalues by Krawtchouk polynomials."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from priorscope.checks import whole
from priorscope.contracts import KernelModel, guarded
from priorscope.probes.spectra.eigenfunctions._modes import Array, Modes, in_order
from priorscope.probes.spectra.eigenfunctions._profile import Profile, as_profile, cube_radius
from priorscope.probes.spectra.eigenfunctions._sphere import MOST_MODES


@guarded(dim=whole(), degree_max=whole(0))
def hypercube_modes(kernel: KernelModel | Profile, dim: int, degree_max: int, *, kind: str = "ntk") -> Modes:
    r"""Walsh functions :math:`\chi_S(x) = \prod_{i \in S} x_i` of a kernel of the cosine on the corners {-1, 1}^d.

    .. math:: \sigma_k = 2^{-d} \sum_{j=0}^d \kappa(1 - 2j/d)\, K_j(k), \quad
              K_j(k) = \sum_i (-1)^i \binom{k}{i}\binom{d-k}{j-i}

    for :math:`|S| = k` (Yang & Salman 2019, "A fine-grained spectral perspective on neural networks", Thm 3.1).

    Args:
        kernel: a function of the cosine, or an ``Architecture`` (its kernel ``kind`` at the corners themselves).
        dim: number of coordinates.
        degree_max: largest subset.

    Example:
        >>> hypercube_modes(lambda t: 4 * t, dim=4, degree_max=1).eigenvalues.round(6).tolist()
        [1.0, 1.0, 1.0, 1.0, 0.0]
    """
    if degree_max > dim:
        raise ValueError(f"hypercube_modes needs dim >= 1 and degree_max <= dim; got {dim} and {degree_max}.")
    profile = as_profile(kernel, max(dim, 2), cube_radius(dim), kind)
    values = profile(1 - 2 * np.arange(dim + 1) / dim)
    if values.shape != (dim + 1,) or not np.isfinite(values).all():
        raise ValueError(f"the kernel must give one finite value a cosine; got shape {values.shape}.")
    subsets = [list(combinations(range(dim), k)) for k in range(degree_max + 1)]
    total = sum(map(len, subsets))
    if total > MOST_MODES:
        raise ValueError(f"degree_max={degree_max} has {total} modes, more than {MOST_MODES}; take a lower degree.")
    levels: list[tuple[tuple[int, ...], float, int]] = [
        ((k,), float(values @ _krawtchouk(k, dim)), len(group)) for k, group in enumerate(subsets)
    ]

    def evaluate(x: Array) -> Array:
        if x.shape[1] != dim or not np.isin(x, (-1, 1)).all():
            raise ValueError(f"points must be corners (n, {dim}) with coordinates -1 and 1; got shape {x.shape}.")
        columns = [x[:, group].prod(1) for level in subsets for group in map(list, level)]
        return np.stack(columns, 1)

    return in_order("hypercube", levels, evaluate)


def _krawtchouk(k: int, dim: int) -> Array:
    """2^-d K_j(k) for all j, exact in integers up to the last division."""
    rows = []
    for j in range(dim + 1):
        total = sum((-1) ** i * comb(k, i) * comb(dim - k, j - i) for i in range(min(j, k) + 1) if j - i <= dim - k)
        rows.append(total / 2**dim)
    return np.array(rows)
