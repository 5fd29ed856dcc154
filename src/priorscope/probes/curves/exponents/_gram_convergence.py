"""How fast the spectrum of a Gram matrix settles as samples are added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from priorscope.checks import SEED, each, optional, whole
from priorscope.contracts import guarded

if TYPE_CHECKING:
    import altair as alt

__all__ = ["GramConvergence", "gram_convergence"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GramConvergence:
    r"""Eigenvalues of K/n (sizes × ranks) in units of those at the largest size, and the exponent θ of their density.

    Example:
        >>> import priorscope as ps
        >>> x = ps.data.sphere(600, 3, seed=0)
        >>> found = gram_convergence(ps.models.laplace(1.0).kernel(x).ntk, ranks=[1, 5, 20])
        >>> bool(abs(found.ratios[-2] - 1).max() < 0.2), 1 < found.theta < 2
        (True, True)
    """

    sizes: NDArray[np.int64] = field(repr=False)
    ranks: NDArray[np.int64] = field(repr=False)
    eigenvalues: Array = field(repr=False)
    ratios: Array = field(repr=False)
    decay: float

    @property
    def theta(self) -> float:
        r"""Exponent of the density :math:`D(\lambda)\sim\lambda^{-\theta}`: 1 + 1/a for :math:`\lambda_\rho\sim\rho^{-a}`."""
        return 1 + 1 / self.decay

    def table(self) -> pd.DataFrame:
        """One row per size and rank."""
        return pd.DataFrame(
            {
                "n": np.repeat(self.sizes, len(self.ranks)),
                "rank": np.tile(self.ranks, len(self.sizes)),
                "eigenvalue": self.eigenvalues.ravel(),
                "ratio": self.ratios.ravel(),
            }
        )

    def chart(self) -> alt.TopLevelMixin:
        """Ratio to the eigenvalue at the largest size against size, one line per rank."""
        import altair as alt

        chart: alt.TopLevelMixin = (
            alt.Chart(self.table(), title="eigenvalues of K/n settle")
            .mark_line(point=True)
            .encode(
                alt.X("n:Q", title="samples n").scale(type="log", nice=False),
                alt.Y("ratio:Q", title="eigenvalue / eigenvalue at the largest n").scale(zero=False),
                alt.Color("rank:O", title="rank"),
            )
        )
        return chart


@guarded(ranks=optional(each(whole())), sizes=optional(each(whole(2))), seed=SEED)
def gram_convergence(
    gram: ArrayLike, *, sizes: Sequence[int] | None = None, ranks: Sequence[int] | None = None, seed: int = 0
) -> GramConvergence:
    r"""Eigenvalues of random principal blocks of a Gram matrix, divided by their size, against that size.

    .. math:: \lambda_\rho(\tilde n)/\lambda_\rho(\tilde n_{\max}) \to 1, \qquad
        D(\lambda)\sim\lambda^{-\theta},\quad \theta = 1 + d/\alpha

    Spigler, Geiger & Wyart (2020), App. J and Fig. 9 (whose caption prints α/d for d/α). Default sizes n/16 to n by factors of
    two, ranks 1, 11, 21, … up to a quarter of the smallest size.

    Example:
        >>> found = gram_convergence(np.eye(64) + 1.0)
        >>> found.sizes.tolist(), found.ranks.tolist()
        ([4, 8, 16, 32, 64], [1])
    """
    K = np.asarray(gram, dtype=float)
    n = len(K)
    if K.shape != (n, n) or n < 16:
        raise ValueError(f"gram_convergence needs a Gram matrix (n, n) with n >= 16; got {K.shape}.")
    steps = np.unique([n // 16, n // 8, n // 4, n // 2, n] if sizes is None else sizes).astype(np.int64)
    if steps[-1] > n:
        raise ValueError(f"gram_convergence needs sizes up to {n}; got {steps[-1]}.")
    wanted = np.arange(1, max(steps[0] // 4, 1) + 1, 10)[:10] if ranks is None else np.asarray(ranks, dtype=np.int64)
    if wanted.max() > steps[0]:
        raise ValueError(f"the smallest block has {steps[0]} eigenvalues; got rank {wanted.max()}. Give larger sizes.")
    order = np.random.default_rng(seed).permutation(n)
    spectra = []
    for size in steps:
        rows = order[:size]
        spectra.append(np.linalg.eigvalsh(K[np.ix_(rows, rows)])[::-1] / size)
    table = np.array([spectrum[wanted - 1] for spectrum in spectra])
    window = np.unique(np.round(np.geomspace(min(10, n // 8), n // 4, 15)).astype(int))
    last = np.maximum(spectra[-1][window - 1], 1e-300)
    decay = -float(np.polyfit(np.log(window), np.log(last), 1)[0])
    return GramConvergence(steps, wanted, table, table / np.maximum(table[-1], 1e-300), max(decay, 1e-12))
