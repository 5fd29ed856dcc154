"""The exponent of a learning curve from kernel principal components, by three estimators side by side."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import gmean
from torch import Tensor

from priorscope.contracts import KernelModel, Triple, guarded, is_kernel_model, is_triple, kernel_matrix, settled

if TYPE_CHECKING:
    import altair as alt

__all__ = ["KernelPCAExponent", "kernel_pca_exponent"]

Array = NDArray[np.float64]
Gram: TypeAlias = "ArrayLike | KernelModel | Triple"


@dataclass(frozen=True)
class KernelPCAExponent:
    r"""Power of the target in the modes of the kernel, and the exponent β that three estimators make of it.

    ``estimates``: "modes", from :math:`q_\rho^2 \sim \rho^{-1-\beta}`; "tail", from
    :math:`\sum_{\rho\ge n}q_\rho^2\sim n^{-\beta}` at middle ranks; "head", from the same at low ranks. ``windows``
    are their ranks. ``decay`` is a of :math:`\lambda_\rho\sim\rho^{-a}`.

    Example:
        >>> q2 = np.arange(1.0, 401.0) ** -1.5
        >>> found = kernel_pca_exponent(np.diag(np.arange(1.0, 401.0) ** -2.0), np.sqrt(q2))
        >>> round(found.estimates["modes"], 2), round(found.decay, 2)
        (0.5, 2.0)
    """

    eigenvalues: Array = field(repr=False)
    power: Array = field(repr=False)
    estimates: dict[str, float]
    windows: dict[str, tuple[int, int]]
    decay: float

    @property
    def tail(self) -> Array:
        """Power in modes from each rank on."""
        return np.asarray(self.power[::-1].cumsum()[::-1])

    @property
    def bracket(self) -> tuple[float, float]:
        """Smallest and largest of the three estimates: they differ by more than each one's error."""
        return min(self.estimates.values()), max(self.estimates.values())

    def table(self) -> pd.DataFrame:
        """One row per estimator."""
        return pd.DataFrame(
            [
                {
                    "estimator": name,
                    "beta": beta,
                    "first rank": self.windows[name][0],
                    "last rank": self.windows[name][1],
                }
                for name, beta in self.estimates.items()
            ]
        )

    def chart(self) -> alt.TopLevelMixin:
        """Power per mode (points, averaged in bins) and in the tail (line) against rank."""
        import altair as alt

        ranks, means = _bins(self.power, 1, len(self.power))
        grid = np.unique(np.geomspace(1, len(self.power) * 0.98, 80).astype(int))
        x = alt.X("rank:Q", title="rank ρ").scale(type="log", nice=False)
        y = alt.Y("power:Q", title="power of the target").scale(type="log", nice=False)
        colour = alt.Color("what:N", title=None)
        points = pd.DataFrame({"rank": ranks, "power": means, "what": "of a mode"})
        line = pd.DataFrame({"rank": grid, "power": self.tail[grid - 1], "what": "of all modes from ρ on"})
        return alt.layer(
            alt.Chart(points[points.power > 0]).mark_point(filled=True, size=25).encode(x, y, colour),
            alt.Chart(line[line.power > 0]).mark_line().encode(x, y, colour),
        )


def _bins(power: Array, first: int, last: int) -> tuple[Array, Array]:
    """Mean ranks (geometric) and mean powers in logarithmic bins of ranks first..last, four bins per factor of two."""
    edges = np.unique(np.round(np.geomspace(first, last + 1, max(6, int(4 * np.log2(last / first + 1))))).astype(int))
    pairs = list(pairwise(edges))
    ranks = [gmean(np.arange(a, b)) for a, b in pairs]
    return np.array(ranks), np.array([power[a - 1 : b - 1].mean() for a, b in pairs])


def _slope(x: Array, y: Array) -> float:
    kept = y > 0
    return float(np.polyfit(np.log(x[kept]), np.log(y[kept]), 1)[0])


@guarded()
def kernel_pca_exponent(
    kernel: Gram, targets: ArrayLike | None = None, *, inputs: Tensor | None = None
) -> KernelPCAExponent:
    r"""The exponent β of the learning curve from how the target's power falls along the modes of the kernel.

    .. math:: \hat\beta = a - 1 \quad\text{where}\quad q_\rho^2 = (Z\cdot v_\rho)^2/\tilde n \sim \rho^{-a}, \qquad
        \sum_{\rho\ge n} q_\rho^2 \sim n^{1-a}

    with :math:`v_\rho` the eigenvectors of the Gram matrix on ñ points (Spigler, Geiger & Wyart 2020, eqs. 12 to 14).
    The tail is zero at ñ, which steepens it before: the three windows (modes: ranks 10 to ñ/2; tail: ñ/40 to ñ/4;
    head: 10 to ñ/20, at least to 40) disagree by more than their errors, so all are given. Where the student limits
    the curve, none of them holds: β is at most 2·``decay``.

    Args: ``kernel`` a Gram matrix (n, n) with ``targets`` (n,) or (n, outputs), a model with ``inputs`` and
    ``targets``, or a ``System``.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits(classes="parity").subset(400)
        >>> found = kernel_pca_exponent(ps.models.laplace(), data.targets, inputs=data.inputs)
        >>> sorted(found.estimates), round(float(found.power.sum()), 9)
        (['head', 'modes', 'tail'], 1.0)
    """
    matrix: object = kernel
    if is_triple(kernel):
        targets, inputs, matrix = kernel.data.targets, kernel.data.inputs, kernel.model
    if is_kernel_model(matrix):
        if inputs is None:
            raise ValueError("kernel_pca_exponent of a model needs inputs= as well.")
        matrix = kernel_matrix(settled(matrix, inputs), inputs).double()
    gram, z = np.asarray(matrix, dtype=float), np.asarray(targets, dtype=float)
    n = len(gram)
    if gram.shape != (n, n) or len(z) != n or n < 100:
        raise ValueError(
            f"kernel_pca_exponent needs a Gram matrix (n, n) with n >= 100 and as many targets; got {gram.shape} and {z.shape}."
        )
    lam, modes = np.linalg.eigh((gram + gram.T) / 2)
    z = z.reshape(n, -1)
    power = ((modes[:, ::-1].T @ z) ** 2).mean(1) / n
    lam = np.maximum(lam[::-1], 0.0) / n
    windows = {"modes": (10, n // 2), "tail": (max(n // 40, 3), n // 4), "head": (10, max(n // 20, 40))}
    tail = power[::-1].cumsum()[::-1]
    estimates = {"modes": -1 - _slope(*_bins(power, *windows["modes"]))}
    for name in ("tail", "head"):
        ranks = np.unique(np.round(np.geomspace(*windows[name], 12)).astype(int))
        estimates[name] = -_slope(ranks, tail[ranks - 1])
    ranks = np.unique(np.round(np.geomspace(10, n // 4, 15)).astype(int))
    return KernelPCAExponent(lam, power, estimates, windows, -_slope(ranks, lam[ranks - 1]))
