r"""Learning-curve exponent from kernel principal components of the pilot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["pca_exponents"]

Array = NDArray[np.float64]


def pca_exponents(gram: Array, targets: Array) -> tuple[float, float, float]:
    r"""Exponents α, β, b of eigenvalues :math:`i^{-\alpha}`, target power :math:`i^{-\beta}` and error :math:`n^{-b}`.

    :math:`b = \min(\beta - 1, 2\alpha)`: the part of the target outside the first n modes, unless the smoothness of the
    kernel saturates first (Spigler, Geiger & Wyart 2020, eq. 12; Bordelon et al. 2020). Fitted on ranks from 3 to n/3 by the
    tails' sums, which are smoother than their terms and less biased at the pilot's end.
    """
    n = len(gram)
    lam, modes = np.linalg.eigh(gram)
    lam = np.maximum(lam[::-1], 0.0) / n
    power = ((modes[:, ::-1].T @ targets) ** 2).mean(1) / n
    rank = np.unique(np.round(np.geomspace(3, max(n // 3, 5), 12)).astype(int))
    tail = power[::-1].cumsum()[::-1]  # power in modes >= i
    alpha = -float(np.polyfit(np.log(rank), np.log(np.maximum(lam[rank], 1e-300)), 1)[0])
    left = np.maximum(tail[rank], 1e-300)
    b = -float(np.polyfit(np.log(rank), np.log(left), 1)[0])
    return alpha, b + 1.0, float(np.clip(min(b, 2 * alpha), 0.0, 4.0))
