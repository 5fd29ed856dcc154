"""Spectra by sampling: the Gram matrix of any architecture, and what the exact spectrum says it should show."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from priorscope.checks import POSITIVE, SEED, whole
from priorscope.contracts import guarded, kernel_matrix
from priorscope.data import product_of_spheres
from priorscope.models import Architecture
from priorscope.probes.spectra.sphere._spectrum import SphereSpectrum

__all__ = ["compare_with_gram", "gram_spectrum", "sphere_inputs"]


@guarded(n=whole(), d0=whole(), p=whole(), seed=SEED)
def sphere_inputs(n: int, d0: int, p: int, seed: int = 0) -> torch.Tensor:
    """n points of the product of p spheres of radius √d0 as inputs (n, d0, p): mini-patches are pixels, float64.

    Example:
        >>> x = sphere_inputs(5, d0=3, p=4)
        >>> tuple(x.shape), x.square().sum(1).round().unique().tolist()
        ((5, 3, 4), [3.0])
    """
    points = product_of_spheres(n, (d0,) * p, radii=(d0**0.5,) * p, seed=seed, dtype=torch.float64)
    return points.reshape(n, p, d0).transpose(1, 2).contiguous()


@guarded(d0=whole(), p=whole(), n_samples=whole(2), seed=SEED)
def gram_spectrum(
    arch: Architecture, d0: int, p: int, n_samples: int = 1000, *, kind: str = "ntk", seed: int = 0
) -> NDArray[np.float64]:
    """Eigenvalues of K/n on n sampled points, descending: any architecture and depth.

    Example:
        >>> import priorscope as ps
        >>> len(gram_spectrum(ps.models.vec(depth=2), d0=3, p=6, n_samples=50))
        50
    """
    x = sphere_inputs(n_samples, d0, p, seed)
    gram = kernel_matrix(arch, x, kind=kind)
    return np.asarray(np.linalg.eigvalsh(gram.double().numpy() / n_samples)[::-1], dtype=np.float64)


@guarded(most=POSITIVE)
def compare_with_gram(spectrum: SphereSpectrum, gram: NDArray[np.float64], most: float = 0.1) -> pd.DataFrame:
    r"""Exact against sampled, family by family, for the leading families that fill at most ``most`` of the n ranks.

    A Gram matrix of n samples shows the eigenvalue λ_i shifted by the other modes, to first order by

    .. math:: \frac{λ_i}{n} \sum_{j ≠ i} \frac{m_j λ_j}{λ_i - λ_j} + \frac{\text{remainder}}{n},

    column ``expected``: for Gaussian features the shift of Lawley (1956), "Tests of significance for the latent roots of
    covariance and correlation matrices"; the term of the remainder is ours. Families closer than 20 % are merged. ``ratio``
    is sampled over expected.

    Example:
        >>> import priorscope as ps
        >>> arch = ps.models.gap(depth=1)
        >>> exact = ps.probes.sphere_spectrum(arch, d0=3, p=8, order=4)
        >>> table = compare_with_gram(exact, gram_spectrum(arch, d0=3, p=8, n_samples=300))
        >>> bool((table.ratio - 1).abs().max() < 0.2)
        True
    """
    n = len(gram)
    groups: list[tuple[float, int, str]] = []  # eigenvalue, multiplicity, orders
    for i in np.argsort(-spectrum.eigenvalues):
        lam, m = float(spectrum.eigenvalues[i]), int(spectrum.multiplicities[i])
        label = str(spectrum.families[i].order)
        if lam <= 0:
            continue
        if groups and lam > 0.8 * groups[-1][0]:
            before, count, labels = groups[-1]
            merged = labels if label in labels.split("+") else f"{labels}+{label}"
            groups[-1] = ((before * count + lam * m) / (count + m), count + m, merged)
        else:
            groups.append((lam, m, label))
    rows, start = [], 0
    for i, (lam, m, label) in enumerate(groups):
        if start + m > max(most * n, 1):
            break
        others = sum(c * v / (lam - v) for j, (v, c, _) in enumerate(groups) if j != i)
        expected = lam * (1 + others / n) + max(spectrum.remainder, 0.0) / n
        sampled = float(gram[start : start + m].mean())
        rows.append({"orders": label, "multiplicity": m, "exact": lam, "expected": expected, "sampled": sampled})
        start += m
    table = pd.DataFrame(rows, columns=["orders", "multiplicity", "exact", "expected", "sampled"])
    return table.assign(ratio=table.sampled / table.expected)
