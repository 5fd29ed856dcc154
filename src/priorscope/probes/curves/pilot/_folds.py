r"""Kernel regression with a part of the pilot left out, for every part of a partition, from one inverse."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sla
from numpy.typing import NDArray

from priorscope.checks import NOT_NEGATIVE, SEED, whole
from priorscope.contracts import guarded
from priorscope.inference import solve_blocks
from priorscope.probes.curves.pilot._nested import REPEATED, Nested, factorise, record, same_samples

__all__ = ["fold_sizes", "k_fold", "leave_one_out", "with_folds"]

Array = NDArray[np.float64]
_FOLDS = {2: 12, 3: 10, 4: 8, 6: 8, 8: 8, 16: 6}  # parts of a partition: how many random partitions are averaged


def fold_sizes(n: int) -> dict[int, int]:
    """Training size of each number of folds that a pilot of ``n`` supports, sizes distinct and below n - 1.

    Example:
        >>> fold_sizes(400)
        {2: 200, 3: 267, 4: 300, 6: 333, 8: 350, 16: 375}
        >>> fold_sizes(10)
        {2: 5, 3: 7, 4: 8}
    """
    sizes: dict[int, int] = {}
    for folds in _FOLDS:
        size = round(n * (1 - 1 / folds))
        if 2 <= size < n - 1 and 2 * folds <= n and size not in sizes.values():
            sizes[folds] = size
    return sizes


@guarded(folds=whole(2), ridge=NOT_NEGATIVE, seed=SEED)
def k_fold(
    gram: Array,
    targets: Array,
    folds: int,
    *,
    labels: NDArray[np.int64] | None = None,
    ridge: float = 0.0,
    inverse: Array | None = None,
    seed: int = 0,
) -> tuple[Array, Array | None]:
    r"""Mean squared error and misclassification rate of each sample when its fold is left out of the training set.

    With :math:`A = (K+\delta I)^{-1}` over the whole pilot and F the samples of one fold, the residuals of the predictor
    trained on all others are

    .. math:: y_F - f_{-F}(x_F) = (A_{FF})^{-1} (A y)_F,

    by the inverse of a block matrix (for one sample: Rasmussen & Williams 2006, eq. 5.12). Averaged over several random
    partitions; every sample is tested equally often, so that no draw of the tested samples adds to the noise.

    Example:
        >>> loss, _ = k_fold(np.eye(4), np.array([[1.0], [-1.0], [1.0], [-1.0]]), 2)  # nothing is learnt of other samples
        >>> loss.round(6).tolist()
        [1.0, 1.0, 1.0, 1.0]
    """
    n = len(gram)
    if inverse is None:
        inverse = _inverse(gram, ridge)[0]
    weights = inverse @ targets
    rng = np.random.default_rng([seed, folds])
    loss, wrong = np.zeros(n), None if labels is None else np.zeros(n)
    partitions = _FOLDS.get(folds, 8)
    for _ in range(partitions):
        order = rng.permutation(n)
        larger = n % folds  # parts of one sample more come first, as in numpy's array_split
        cut = larger * (n // folds + 1)
        groups = [(order[:cut], larger), (order[cut:], folds - larger)]
        for rows, count in groups:
            if count == 0:
                continue
            parts = rows.reshape(count, -1)
            own = inverse[parts[:, :, None], parts[:, None]]
            fitted = (targets[parts] - solve_blocks(own, weights[parts])).reshape(rows.size, -1)
            known = None if labels is None else labels[rows]
            here, mistakes = record(fitted, targets[rows], known, targets.shape[1] == 1)
            loss[rows] += here / partitions
            if wrong is not None and mistakes is not None:
                wrong[rows] += mistakes / partitions
    return loss, wrong


def _inverse(gram: Array, ridge: float) -> tuple[Array, float]:
    n = len(gram)
    L, jitter = factorise(gram + ridge * np.eye(n) if ridge else gram)
    half = np.asarray(sla.lapack.dpotri(L, lower=1, overwrite_c=1)[0])  # the lower triangle of the inverse
    below = np.tril(half, -1)
    return below + below.T + np.diag(np.diag(half)), jitter


@guarded(ridge=NOT_NEGATIVE)
def leave_one_out(
    gram: Array,
    targets: Array,
    *,
    labels: NDArray[np.int64] | None = None,
    ridge: float = 0.0,
    inverse: tuple[Array, float] | None = None,
) -> Nested:
    r"""Errors of the n predictors trained on all points but one, at that one, from one inverse.

    The residual is :math:`y_i - f_{-i}(x_i) = (K^{-1}y)_i / (K^{-1})_{ii}` with K the Gram matrix plus ridge (Rasmussen &
    Williams 2006, eq. 5.12). The one size is n - 1; ``kappa`` is taken there as :math:`n/(n-1)` times its value at n, to
    first order in 1/n the same thing for :math:`\kappa \sim 1/n`.

    Example:
        >>> found = leave_one_out(np.eye(3) + 1, np.array([[1.0], [1.0], [1.0]]))  # of two others: f = 2 / 3
        >>> round(float(found.loss.mean()), 4)
        0.1111
    """
    n = len(gram)
    A, jitter = inverse or _inverse(gram, ridge)
    weights = A @ targets
    fitted = targets - weights / np.diag(A)[:, None]
    loss, wrong = record(fitted, targets, labels, targets.shape[1] == 1)
    own = np.diag(A)
    told = (REPEATED * own * np.diag(gram) < 1) & ~same_samples(gram).any(1)  # the trace without samples there twice
    kappa = n / (n - 1) / float(own[told].sum() if told.any() else own.sum())
    return Nested(
        np.array([n - 1]),
        loss[None],
        None if wrong is None else wrong[None],
        np.ones((1, n)),
        np.array([kappa]),
        np.array([float((targets * weights).sum())]),
        jitter,
    )


def with_folds(
    nested: Nested,
    gram: Array,
    targets: Array,
    *,
    labels: NDArray[np.int64] | None = None,
    ridge: float = 0.0,
    seed: int = 0,
) -> Nested:
    """``nested`` with the sizes of :func:`fold_sizes` measured by k-fold instead of by prefixes, and size n - 1 added."""
    n = len(gram)
    inverse, jitter = _inverse(gram, ridge)
    loss, count = nested.loss.copy(), nested.count.copy()
    wrong = None if nested.wrong is None else nested.wrong.copy()
    for folds, size in fold_sizes(n).items():
        for row in np.flatnonzero(nested.sizes == size):
            loss[row], mistakes = k_fold(gram, targets, folds, labels=labels, inverse=inverse, seed=seed)
            count[row] = 1.0
            if wrong is not None and mistakes is not None:
                wrong[row] = mistakes
    last = leave_one_out(gram, targets, labels=labels, inverse=(inverse, jitter))
    return Nested(
        np.append(nested.sizes, n - 1),
        np.vstack([loss, last.loss]),
        None if wrong is None or last.wrong is None else np.vstack([wrong, last.wrong]),
        np.vstack([count, last.count]),
        np.append(nested.kappa, last.kappa),
        np.append(nested.quadratic, last.quadratic),
        max(nested.jitter, jitter),
    )
