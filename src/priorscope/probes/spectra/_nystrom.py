"""Eigenfunctions off the sample, with an error that two sample sizes give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from priorscope.checks import SEED, whole
from priorscope.contracts import KernelModel, guarded, is_kernel_model, kernel_matrix
from priorscope.printing import printed

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["Nystrom", "nystrom"]

Array = NDArray[np.float64]
KernelFunction = Callable[[Tensor, Tensor], Tensor]


@printed
@dataclass(frozen=True)
class Nystrom:
    r"""Leading eigenpairs of a kernel's integral operator, from a sample, extended to any point.

    .. math:: \hat\phi_i(x) = \frac{1}{n\hat\sigma_i} \sum_j K(x, x_j)\, \hat\phi_i(x_j)

    Williams & Seeger (2001), "Using the Nyström method to speed up kernel machines". ``eigenvalue_errors`` and
    ``mode_errors`` (distance in :math:`L^2(\rho)` of a mode from the true eigenspace of its cluster) are estimates from
    samples of half the size. ``clusters`` numbers the groups of eigenvalues that the errors cannot tell apart: within one,
    only the span of the modes means anything.

    Example:
        >>> import torch
        >>> x = torch.randn(400, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        >>> found = nystrom(lambda a, b: a @ b.T, x, k=3)  # a linear kernel on a Gaussian: eigenvalues 1
        >>> bool((abs(found.eigenvalues - 1) < 4 * found.eigenvalue_errors + 0.05).all()), found(x[:5]).shape
        (True, (5, 3))
    """

    eigenvalues: Array  # (k,)
    eigenvalue_errors: Array  # (k,)
    mode_errors: Array  # (k,)
    clusters: NDArray[np.int64]  # (k,)
    sample: Tensor  # (n, ...)
    vectors: Array  # (n, k), mean square one
    kernel: KernelFunction

    def __call__(self, x: Tensor) -> Array:
        """The modes at points x: (n, k)."""
        return _extend(self.kernel, self.sample, self.vectors, self.eigenvalues, x)

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def table(self) -> pd.DataFrame:
        """One row per mode: eigenvalue with its error, cluster, and error of the mode."""
        import pandas as pd

        return pd.DataFrame(
            {
                "rank": np.arange(1, len(self) + 1),
                "eigenvalue": self.eigenvalues,
                "eigenvalue_error": self.eigenvalue_errors,
                "cluster": self.clusters,
                "mode_error": self.mode_errors,
            }
        )

    def chart(self) -> alt.LayerChart:
        """Eigenvalue against rank with its error, coloured by the error of the mode."""
        import altair as alt

        table = self.table()
        table["low"] = (table["eigenvalue"] - table["eigenvalue_error"]).clip(lower=1e-3 * table["eigenvalue"].min())
        table["high"] = table["eigenvalue"] + table["eigenvalue_error"]
        base = alt.Chart(table).encode(alt.X("rank:Q", title="rank i"))
        scale = alt.Scale(type="log")
        bars = base.mark_rule().encode(alt.Y("low:Q", scale=scale, title="eigenvalue σ_i"), y2="high:Q")
        colour = alt.Color("mode_error:Q", title="error of the mode", scale=alt.Scale(scheme="viridis"))
        chart: alt.LayerChart = bars + base.mark_point(filled=True).encode(alt.Y("eigenvalue:Q", scale=scale), colour)
        return chart


@guarded(k=whole(), splits=whole(), seed=SEED)
def nystrom(
    kernel: KernelModel | KernelFunction,
    sample: Tensor,
    k: int,
    *,
    splits: int = 3,
    kind: str = "ntk",
    seed: int = 0,
) -> Nystrom:
    r"""The k leading eigenpairs of a kernel under the law of ``sample``, with errors.

    The sample is cut in halves A, B ``splits`` times. Half the difference of the halves' eigenvalues estimates the
    spread at the full size (:math:`\propto n^{-1/2}`), their mean minus the full one the bias
    (:math:`\propto n^{-1}`); the error is the root of the sum of squares. The distance of a mode of the full sample from
    the half sample's modes of the same cluster estimates its own error, since squared errors fall like 1/n.

    Args:
        kernel: a function (n1, ...), (n2, ...) -> (n1, n2), or an ``Architecture`` (its kernel ``kind``).
        sample: points of the input distribution (n, ...).
        k: number of eigenpairs, at most n/4.
        splits: cuts in halves to average over. Default 3, ours.

    Example:
        >>> import torch
        >>> x = torch.randn(100, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        >>> list(nystrom(lambda a, b: a @ b.T, x, k=2).table().columns)
        ['rank', 'eigenvalue', 'eigenvalue_error', 'cluster', 'mode_error']
    """
    n = len(sample)
    if not 1 <= k <= n // 4:
        raise ValueError(
            f"nystrom needs 1 <= k <= n/4 = {n // 4} (beyond it half a sample resolves nothing); got k = {k}."
        )
    function = _as_function(kernel, kind)
    gram = function(sample, sample).detach().double().cpu().numpy()
    if gram.shape != (n, n) or not np.isfinite(gram).all():
        raise ValueError(f"the kernel must give a finite ({n}, {n}) matrix on the sample; got shape {gram.shape}.")
    values, vectors = _top(gram, k)
    if values[-1] <= 1e-10 * values[0]:
        raise ValueError(
            f"the kernel has only {int((values > 1e-10 * values[0]).sum())} eigenvalues above round-off on this sample; "
            f"ask for fewer than k = {k}."
        )
    rng = np.random.default_rng(seed)
    spread, bias, half_modes = np.zeros(k), np.zeros(k), []
    for _ in range(splits):
        order = rng.permutation(n)
        halves = []
        for rows in (order[: n // 2], order[n // 2 :]):
            lam, u = _top(gram[np.ix_(rows, rows)], k)
            halves.append(lam)
            half_modes.append(gram[:, rows] @ u / (len(rows) * np.maximum(lam, 1e-300)))
        spread += ((halves[0] - halves[1]) / 2) ** 2 / splits
        bias += (sum(halves) / 2 - values) / splits
    errors = np.sqrt(spread + bias**2)
    clusters = _clusters(values, errors, vectors)
    far = np.zeros(k)
    for modes in half_modes:
        for c in range(clusters[-1] + 1):
            span = modes[:, clusters == c]
            rest = vectors[:, clusters == c]
            rest = rest - span @ np.linalg.lstsq(span, rest, rcond=None)[0]
            far[clusters == c] += (rest**2).mean(0) / len(half_modes)
    return Nystrom(values, errors, np.sqrt(far), clusters, sample, vectors, function)


def _as_function(kernel: KernelModel | KernelFunction, kind: str) -> KernelFunction:
    if is_kernel_model(kernel):
        return lambda a, b: kernel_matrix(kernel, a, b, kind)
    if not callable(kernel):
        raise ValueError(f"a kernel here is a function of two batches or an Architecture; got {type(kernel).__name__}.")
    return kernel


def _top(gram: Array, k: int) -> tuple[Array, Array]:
    """Leading eigenvalues of gram/n, and eigenvectors of mean square one."""
    from scipy.linalg import eigh

    n = len(gram)
    values, vectors = eigh((gram + gram.T) / 2, subset_by_index=(n - k, n - 1))
    return values[::-1] / n, vectors[:, ::-1] * np.sqrt(n)


def _extend(kernel: KernelFunction, sample: Tensor, vectors: Array, values: Array, x: Tensor) -> Array:
    rows = kernel(x, sample).detach().double().cpu().numpy()
    return rows @ vectors / (len(sample) * values)


def _clusters(values: Array, errors: Array, vectors: Array) -> NDArray[np.int64]:
    r"""Numbers of the groups of neighbours that half this sample cannot tell apart.

    A sample mixes two modes of equal eigenvalue by :math:`\sigma\sqrt{E[\phi_i^2\phi_j^2]/n}`, which drives their
    estimates apart by about as much: gaps below three times that at n/2, or twice the errors, count as none.
    """
    together = np.sqrt((vectors[:, :-1] ** 2 * vectors[:, 1:] ** 2).mean(0) / (len(vectors) / 2))
    noise = np.maximum(3 * values[:-1] * together, 2 * np.hypot(errors[:-1], errors[1:]))
    return np.concatenate([[0], np.cumsum(values[:-1] - values[1:] > noise)]).astype(np.int64)
