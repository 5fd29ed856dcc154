r"""Errors with their influence functions: means, roots of means, means over classes, areas under curves, F1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from priorscope.judge._measured import Measured

__all__ = ["auc", "balanced", "by_parts", "f1", "log_loss", "mean_of", "rooted"]

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
_PARTS = 40  # of the rows, left out one after another where a metric has no formula for its influence


def mean_of(losses: Array) -> Measured:
    """A mean of losses (n,): each row's influence is its distance from the mean.

    Example:
        >>> mean_of(np.array([1.0, 0.0])).influence.tolist()
        [0.5, -0.5]
    """
    value = float(losses.mean())
    return Measured(value, losses - value)


def rooted(losses: Array) -> Measured:
    r"""The root of a mean of losses: by the chain rule :math:`I_i = (\ell_i - e^2) / 2e`.

    Example:
        >>> rooted(np.array([4.0, 4.0])).value
        2.0
    """
    mean = float(losses.mean())
    root = mean**0.5
    return Measured(root, (losses - mean) / (2 * root) if root else np.zeros_like(losses))


def balanced(wrong: Array, labels: Labels) -> Measured:
    r"""The mean over classes of the share misclassified: :math:`I_i = (\ell_i - e_c)\, n / (C n_c)` for a row of class c.

    A class of few rows is hardly known by them: its influences are scaled to the variance of :math:`(k + 1) / (n_c + 2)`
    (Laplace's rule of succession), and where none or all of its rows are wrong they are of alternating sign.

    Example:
        >>> balanced(np.array([1.0, 0.0, 0.0, 0.0]), np.array([0, 0, 1, 1])).value
        0.25
    """
    kinds, codes = np.unique(labels, return_inverse=True)
    counts = np.bincount(codes)
    each = np.bincount(codes, wrong) / counts
    smooth = (each * counts + 1) / (counts + 2)
    moved = wrong - each[codes]
    for c in range(len(kinds)):
        rows = codes == c
        spread = float((moved[rows] ** 2).mean())
        turns = np.resize([1.0, -1.0], counts[c]) - (counts[c] % 2) / counts[c]
        moved[rows] = (moved[rows] / spread**0.5 if spread else turns) * (smooth[c] * (1 - smooth[c])) ** 0.5
    return Measured(float(each.mean()), moved * (len(labels) / (len(kinds) * counts))[codes])


def log_loss(probabilities: Array, labels: Labels) -> Measured:
    """Minus the mean logarithm of the probability of what came; probabilities below 1e-4 count as 1e-4.

    Example:
        >>> round(log_loss(np.array([[0.5, 0.5]]), np.array([1])).value, 4)
        0.6931
    """
    p = np.clip(probabilities[np.arange(len(labels)), labels], 1e-4, None)
    return mean_of(-np.log(p))


def _area(scores: Array, positive: NDArray[np.bool_]) -> tuple[float, Array]:
    """One minus the area under the curve, and its influences by placements (DeLong, DeLong & Clarke-Pearson 1988)."""
    n, m = int(positive.sum()), int((~positive).sum())
    ranks = rankdata(scores)
    above = (ranks[positive] - rankdata(scores[positive])) / m  # share of negatives below each positive
    below = 1 - (ranks[~positive] - rankdata(scores[~positive])) / n
    area = float(above.mean())
    influence = np.empty(len(scores))
    influence[positive] = (area - above) * len(scores) / n
    influence[~positive] = (area - below) * len(scores) / m
    return 1 - area, influence


def auc(probabilities: Array, labels: Labels) -> Measured:
    """One minus the area under the ROC curve; of more than two classes the mean over each against the rest.

    Classes without rows, or with all of them, are left out; where none is left the value is one half.

    Example:
        >>> auc(np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]]), np.array([0, 1, 1])).value
        0.0
    """
    kinds = [1] if probabilities.shape[1] == 2 else range(probabilities.shape[1])
    found = [_area(probabilities[:, c], labels == c) for c in kinds if 0 < (labels == c).sum() < len(labels)]
    if not found:
        return Measured(0.5, np.zeros(len(labels)))
    return Measured(float(np.mean([v for v, _ in found])), np.mean([i for _, i in found], 0))


def f1(values: Labels, labels: Labels) -> Measured:
    r"""One minus F1: of the second of two classes, of several the mean over classes that occur (macro).

    With a counted true positive as t, :math:`F = 2T / (P + Q)` and :math:`I_i = n (2 t_i - F (p_i + q_i)) / (P + Q)`.

    Example:
        >>> f1(np.array([1, 1, 0]), np.array([1, 0, 0])).value.__round__(3)
        0.333
    """
    kinds = (
        [1] if max(int(labels.max()), int(values.max())) == 1 else sorted(set(labels.tolist()) | set(values.tolist()))
    )
    scores, influences = [], []
    for c in kinds:
        p, q = (values == c).astype(float), (labels == c).astype(float)
        total = max(p.sum() + q.sum(), 1e-12)
        score = 2 * (p * q).sum() / total
        scores.append(score)
        influences.append(-(2 * p * q - score * (p + q)) * len(labels) / total)
    return Measured(1 - float(np.mean(scores)), np.mean(influences, 0))


def by_parts(score: object, truth: NDArray[np.generic], values: NDArray[np.generic]) -> Measured:
    """A function of truth and predictions, its influences by leaving out one part of the rows after another (jackknife).

    A part of m rows tells their mean influence, which varies less than each by the root of m: each is given it times that root.
    """
    assert callable(score)
    n = len(truth)
    value = float(score(truth, values))
    part = np.arange(n) * min(_PARTS, n) // n
    influence = np.empty(n)
    for k in range(int(part.max()) + 1):
        kept = part != k
        m = int((~kept).sum())
        influence[~kept] = m**0.5 * (n - m) / m * (value - float(score(truth[kept], values[kept])))
    return Measured(value, influence)
