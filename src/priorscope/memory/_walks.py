"""Two lemmas on random walks between neighbours, from which the values of columns and necklaces follow."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

__all__ = ["chance_to_cross", "mass_at_far_end"]


def _ratios(left: ArrayLike, right: ArrayLike, who: str) -> NDArray[np.float64]:
    l, r = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if l.shape != r.shape or l.ndim != 1 or not ((l > 0).all() and (r > 0).all()):
        raise ValueError(f"{who} needs positive chances to step left and right, one of each per site; got {l} and {r}.")
    return np.asarray(l / r)


def chance_to_cross(left: ArrayLike, right: ArrayLike) -> float:
    r"""From the first site of a chain, the chance to leave it at the far end before leaving it at the near end.

    .. math:: P = \left(1 + \frac{l_1}{r_1} + \frac{l_1 l_2}{r_1 r_2} + \dots + \frac{l_1\cdots l_n}{r_1\cdots r_n}\right)^{-1}

    Geiger, Eloy & Wyart (2021), Lemma 4.1.

    Example:
        >>> chance_to_cross([0.5, 0.5, 0.5], [0.5, 0.5, 0.5])  # the gambler's ruin with one of four coins
        0.25
    """
    return float(1 / (1 + np.cumprod(_ratios(left, right, "chance_to_cross")).sum()))


def mass_at_far_end(left: ArrayLike, right: ArrayLike, *, leave_far: float = 1.0, leave_near: float = 1.0) -> float:
    r"""The share of time at the far end of a chain whose two end states are left rarely: with chances :math:`\epsilon L` and
    :math:`\epsilon R`, for :math:`\epsilon \to 0`.

    .. math:: p(n+1) = \left(1 + \frac{L}{R}\prod_{i=1}^n \frac{l_i}{r_i}\right)^{-1}

    Geiger, Eloy & Wyart (2021), Lemma 4.2; ``leave_far`` is L, ``leave_near`` is R.

    Example:
        >>> mass_at_far_end([0.2, 0.2], [0.4, 0.4], leave_far=1.0, leave_near=2.0)
        0.8888888888888888
    """
    if not (leave_far > 0 and leave_near > 0):
        raise ValueError(f"mass_at_far_end needs positive leave_far and leave_near; got {leave_far} and {leave_near}.")
    logs = np.log(_ratios(left, right, "mass_at_far_end")).sum() + np.log(leave_far / leave_near)
    return float(expit(-logs))
