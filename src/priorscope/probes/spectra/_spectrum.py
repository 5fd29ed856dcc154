"""The spectrum of a kernel on data, and how a target lies in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from priorscope.checks import each, optional, whole
from priorscope.contracts import (
    KernelModel,
    Triple,
    guarded,
    is_triple,
    kernel_matrix,
    require,
)
from priorscope.printing import printed
from priorscope.statistics import Interval, PowerLaw, fit_power_law, seed_interval

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["Spectrum", "spectrum"]

Array = NDArray[np.float64]


@printed
@dataclass(frozen=True)
class Spectrum:
    r"""Eigenvalues :math:`\lambda_1 \ge \lambda_2 \ge \dots` of K/n, the estimate of the kernel's integral operator.

    With several draws, ``eigenvalues`` is their mean and ``draws`` holds each. ``power`` is the share of the targets'
    sum of squares along each mode, ``alignment`` is :math:`\langle K, YY^T\rangle / (\|K\|\,\|YY^T\|)`; both are None
    without targets. ``tail`` is the power law through the ranks it names, None where too few ranks are left.
    ``repair`` is the size of the most negative eigenvalue that was set to zero (round-off), 0 without any.

    Example:
        >>> result = spectrum(np.diag([2.0, 1.0, 1.0, 0.0]), targets=np.array([3.0, 0.0, 4.0, 0.0]))
        >>> result.eigenvalues.tolist(), round(result.effective_rank.value, 4)
        ([0.5, 0.25, 0.25, 0.0], 2.6667)
        >>> result.cumulative_power.round(2).tolist()
        [0.36, 1.0, 1.0, 1.0]
    """

    eigenvalues: NDArray[np.float64]  # (n,)
    draws: NDArray[np.float64]  # (draws, n)
    effective_rank: Interval
    tail: PowerLaw | None
    power: NDArray[np.float64] | None  # (n,)
    alignment: float | None
    repair: float

    @property
    def cumulative_power(self) -> NDArray[np.float64] | None:
        """Share of the targets within the leading k modes."""
        return None if self.power is None else np.cumsum(self.power)

    def table(self) -> pd.DataFrame:
        """One row per rank: eigenvalue, its spread over draws, relative to the first, share and cumulative share."""
        import pandas as pd

        lead = self.draws[:, :1]
        columns: dict[str, NDArray[np.float64] | NDArray[np.int64] | None] = {
            "rank": np.arange(1, len(self.eigenvalues) + 1),
            "eigenvalue": self.eigenvalues,
            "spread": self.draws.std(0),
            "relative": (self.draws / lead).mean(0),
        }
        if self.power is not None:
            columns |= {"power": self.power, "cumulative_power": self.cumulative_power}
        return pd.DataFrame(columns)

    def chart(self) -> alt.LayerChart | alt.HConcatChart:
        """Eigenvalue against rank on log axes (band: spread over draws; dashed: fitted tail), and cumulative power."""
        import altair as alt
        import pandas as pd

        table = self.table()
        table = table[table["eigenvalue"] > 1e-15 * table["eigenvalue"].max()]
        low = (self.draws.min(0), self.draws.max(0))
        table = table.assign(low=low[0][table.index].clip(min=1e-300), high=low[1][table.index])
        rank = alt.X("rank:Q", scale=alt.Scale(type="log"), title="rank k")
        value = alt.Y("eigenvalue:Q", scale=alt.Scale(type="log"), title="eigenvalue λ_k of K/n")
        chart: alt.LayerChart = alt.Chart(table).mark_point(size=12, filled=True).encode(rank, value) + alt.Chart(
            table
        ).mark_area(opacity=0.2).encode(rank, y="low:Q", y2="high:Q")
        if self.tail is not None:
            k = np.geomspace(*self.tail.fit_range, 20)
            line = pd.DataFrame({"rank": k, "eigenvalue": self.tail(k)})
            chart = chart + alt.Chart(line).mark_line(strokeDash=[6, 4], color="black").encode(rank, value)
        if self.power is None:
            return chart
        share = alt.Y("cumulative_power:Q", title="share of the target", scale=alt.Scale(domain=[0, 1]))
        return alt.hconcat(chart, alt.Chart(table).mark_line().encode(rank, share))


@guarded(fit_range=optional(each(whole())))
def spectrum(
    kernel: Triple | ArrayLike | Tensor,
    targets: ArrayLike | Tensor | None = None,
    *,
    fit_range: tuple[int, int] | None = None,
) -> Spectrum:
    r"""Eigenvalues of K/n, effective rank, tail exponent, and how the targets lie along the modes.

    The effective rank is the participation ratio :math:`(\sum\lambda)^2/\sum\lambda^2`. The tail
    :math:`\lambda_k \sim k^{-a}` is fitted by least squares on log axes through log-spaced ranks.

    Args:
        kernel: a Gram matrix (n, n), several draws (draws, n, n), or a ``System`` (its model's tangent kernel on its
            training inputs, and its targets).
        targets: (n,) or (n, outputs), for the first draw's modes.
        fit_range: first and last rank of the tail fit. Default from 10 to n/4, ours: below lie the outliers, above a
            sample's eigenvalues fall away from the operator's.

    Example:
        >>> gram = np.diag(np.arange(1.0, 201.0) ** -2.0)
        >>> round(spectrum(gram).tail.exponent, 3)
        -2.0
    """
    if is_triple(kernel):
        targets = kernel.data.targets if targets is None else targets
        model = require(kernel.model, KernelModel, "a system whose model has a kernel", "Pass a Gram matrix instead.")
        kernel = kernel_matrix(model, kernel.data.inputs)
    grams = _array(kernel)
    grams = grams[None] if grams.ndim == 2 else grams
    n = grams.shape[-1] if grams.ndim else 0
    if grams.ndim != 3 or grams.shape[1] != n or n < 2:
        raise ValueError(
            f"spectrum needs a square Gram matrix (n, n) with n >= 2, or (draws, n, n); got {_array(kernel).shape}. "
            "For a train/test block, pass the train/train block."
        )
    if not np.isfinite(grams).all():
        raise ValueError("spectrum needs finite kernel values; got NaN or infinity. Check the inputs of the kernel.")
    largest = np.abs(grams).max()
    if np.abs(grams - grams.transpose(0, 2, 1)).max() > 1e-4 * largest:
        raise ValueError("spectrum needs a symmetric Gram matrix; this one is not. Pass the kernel of x with itself.")
    if largest == 0:
        raise ValueError("spectrum needs a kernel that is not zero everywhere; this model ignores its input.")
    values, modes = [], None
    for i, gram in enumerate(grams):
        if targets is not None and i == 0:
            lam, modes = np.linalg.eigh((gram + gram.T) / 2)
        else:
            lam = np.linalg.eigvalsh((gram + gram.T) / 2)
        values.append(lam[::-1] / n)
    draws = np.stack(values)
    repair = max(0.0, float(-draws.min()))
    draws = np.clip(draws, 0, None)
    ranks = draws.sum(1) ** 2 / (draws**2).sum(1)
    power, alignment = (
        (None, None) if modes is None else _power_and_alignment(grams[0], modes[:, ::-1], _array(targets))
    )
    return Spectrum(draws.mean(0), draws, seed_interval(ranks), _tail(draws, fit_range), power, alignment, repair)


def _power_and_alignment(gram: Array, modes: Array, targets: Array) -> tuple[Array, float]:
    """Shares of the targets along the modes, and kernel-target alignment."""
    y = targets.reshape(len(targets), -1)
    if len(y) != len(gram):
        raise ValueError(f"spectrum needs one target per sample ({len(gram)}); got {len(y)}.")
    total = float((y**2).sum())
    if not np.isfinite(total) or total == 0:
        raise ValueError("spectrum needs finite targets that are not all zero; check the targets or leave them out.")
    power = ((modes.T @ y) ** 2).sum(1) / total
    outer = float(np.linalg.norm(y.T @ y))  # of Y Yᵀ too
    return power, float(np.trace(y.T @ gram @ y) / (np.linalg.norm(gram) * outer))


def _tail(draws: NDArray[np.float64], fit_range: tuple[int, int] | None) -> PowerLaw | None:
    n = draws.shape[1]
    first, last = fit_range or (10, n // 4)
    if fit_range is not None and not 1 <= first < last <= n:
        raise ValueError(f"fit_range must be ranks 1 <= first < last <= {n}; got {fit_range}.")
    resolved = int((draws.min(0) > 1e-7 * draws[:, 0].max() / n).sum())  # single precision's floor
    last = min(last, resolved)
    if last < first + 4:
        return None
    at = np.unique(np.geomspace(first, last, 40).round().astype(int))
    curves = draws[:, at - 1]
    return fit_power_law(at, curves if len(curves) > 1 else curves[0])


def _array(values: object) -> NDArray[np.float64]:
    return np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values, dtype=np.float64)
