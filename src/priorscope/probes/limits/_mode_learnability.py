r"""Learnability of the modes of a kernel at a sample size: the self-consistent equation of kernel regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from priorscope.checks import NOT_NEGATIVE, POSITIVE, check, each
from priorscope.contracts import guarded
from priorscope.printing import printed

if TYPE_CHECKING:
    import altair as alt

__all__ = ["ModeLearnability", "effective_regularisation", "mode_learnability"]

Array = NDArray[np.float64]


@guarded(ridge=NOT_NEGATIVE)
def effective_regularisation(
    eigenvalues: ArrayLike, n: ArrayLike, *, ridge: float = 0.0, multiplicities: ArrayLike | None = None
) -> Array:
    r"""The positive solution :math:`\kappa` of the self-consistent equation

    .. math:: \sum_i \frac{\lambda_i}{\lambda_i + \kappa} + \frac{\delta}{\kappa} = n

    with operator eigenvalues :math:`\lambda_i` (those of K/n, not of K) and ridge :math:`\delta` added to the Gram matrix K.
    Bordelon, Canatar & Pehlevan (2020); Simon et al. (2023). Solved by bisection on log :math:`\kappa`, for all
    ``n`` at once. Without ridge there is a solution only below the number of non-zero eigenvalues; at or above, 0 is returned.

    Example:
        >>> round(float(effective_regularisation([1.0] * 10, 5)), 9)  # 10 / (1 + kappa) = 5
        1.0
    """
    lam = np.asarray(eigenvalues, dtype=float).ravel()
    sizes = np.asarray(n, dtype=float)
    weight = np.ones_like(lam) if multiplicities is None else np.asarray(multiplicities, dtype=float).ravel()
    if (lam < 0).any() or not np.isfinite(lam).all() or not (lam > 0).any():
        raise ValueError(
            f"effective_regularisation needs non-negative finite eigenvalues, at least one positive; got {lam.size} "
            f"between {lam.min(initial=0):.3g} and {lam.max(initial=0):.3g}. Clip the round-off of a Gram matrix at zero."
        )
    check("effective_regularisation", "n", n, each(POSITIVE, alone=True))
    flat = sizes.ravel()
    total = float((weight * lam).sum())
    low = np.full(flat.shape, np.log(total) - 80.0)
    high = np.log((total + ridge) / flat) + 1.0  # sum <= total/kappa, so the root lies below (total + ridge) / n
    for _ in range(80):
        middle = 0.5 * (low + high)
        kappa = np.exp(middle)[:, None]
        count = (weight * lam / (lam + kappa)).sum(1) + ridge / kappa[:, 0]
        above = count > flat
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    rank = float(weight[lam > 0].sum())
    kappa_ = np.exp(0.5 * (low + high))
    if ridge == 0:
        kappa_ = np.where(flat >= rank, 0.0, kappa_)
    return np.asarray(kappa_.reshape(sizes.shape), dtype=np.float64)


@printed
@dataclass(frozen=True)
class ModeLearnability:
    r"""Which modes are learned at ``n`` samples: :math:`\mathcal L_i = \lambda_i/(\lambda_i+\kappa)`, and what that costs.

    Example:
        >>> result = mode_learnability([1.0, 0.1, 0.01], 2, power=[1.0, 1.0, 0.0])
        >>> bool(result.learnabilities[0] > 0.9)
        True
    """

    n: float
    kappa: float
    eigenvalues: Array
    learnabilities: Array
    power: Array | None
    overfitting: float
    error: float | None

    def table(self) -> pd.DataFrame:
        """One row per mode: rank, eigenvalue, learnability, and the target's power where it was given."""
        frame = pd.DataFrame(
            {
                "rank": np.arange(1, len(self.eigenvalues) + 1),
                "eigenvalue": self.eigenvalues,
                "learnability": self.learnabilities,
            }
        )
        if self.power is not None:
            frame["power"] = self.power
        return frame

    def chart(self) -> alt.TopLevelMixin:
        """Learnability against the rank of the mode, logarithmic in rank."""
        import altair as alt

        chart: alt.TopLevelMixin = (
            alt.Chart(self.table(), title=f"learnability of modes at n = {self.n:g}")
            .mark_line(point=True)
            .encode(
                x=alt.X("rank:Q", title="rank k of the mode").scale(type="log"),
                y=alt.Y("learnability:Q", title="learnability λₖ/(λₖ+κ)").scale(domain=[0, 1]),
                tooltip=["rank:Q", "eigenvalue:Q", "learnability:Q"],
            )
        )
        return chart


@guarded(n=POSITIVE, ridge=NOT_NEGATIVE, noise=NOT_NEGATIVE)
def mode_learnability(
    eigenvalues: ArrayLike,
    n: float,
    *,
    power: ArrayLike | None = None,
    ridge: float = 0.0,
    noise: float = 0.0,
) -> ModeLearnability:
    r"""Learnabilities of all modes at ``n`` samples and, with the target's power :math:`v_i^2`, the expected test error

    .. math:: E = \mathcal E_0 \Big(\sum_i (1-\mathcal L_i)^2 v_i^2 + \sigma^2\Big), \qquad
              \mathcal E_0 = \frac{n}{n - \sum_i \mathcal L_i^2}

    Simon et al. (2023), "The eigenlearning framework". Learnabilities sum to n when there is no ridge.

    Example:
        >>> lam = 1.0 / np.arange(1, 200) ** 2
        >>> round(float(mode_learnability(lam, 20).learnabilities.sum()), 6)
        20.0
    """
    lam = np.asarray(eigenvalues, dtype=float).ravel()
    kappa = float(effective_regularisation(lam, n, ridge=ridge))
    learned = np.where(lam > 0, lam / np.where(lam + kappa > 0, lam + kappa, 1.0), 0.0)
    left = n - float((learned**2).sum())
    overfitting = n / left if left > 0 else float("inf")
    v2 = None if power is None else np.asarray(power, dtype=float).ravel()
    if v2 is not None and v2.shape != lam.shape:
        raise ValueError(
            f"learnability needs one power for each of the {lam.size} eigenvalues; got {v2.size}. "
            "Pad the shorter with zeros if modes are missing."
        )
    bias = None if v2 is None else float((v2 * (1 - learned) ** 2).sum()) + noise
    error = None if bias is None else (overfitting * bias if bias > 0 else 0.0)
    return ModeLearnability(float(n), kappa, lam, learned, v2, overfitting, error)
