r"""Kernel regression on every prefix of an ordering of the pilot, from one Cholesky factorisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla
from numpy.typing import NDArray

from priorscope.printing import printed

__all__ = ["REPEATED", "Nested", "factorise", "nested_regression", "prefix_sizes", "record", "same_samples"]

Array = NDArray[np.float64]
_TURNS = 8
REPEATED = 1e-9  # share of a sample's variance left by the others below which it repeats one of them
_SAME = 1e-7  # squared distance of two equal samples over the mean one, as kernels are rounded (a ReLU's by 3e-8)


def prefix_sizes(n: int, *, smallest: int = 4, per_octave: int = 3) -> NDArray[np.int64]:
    """Log-spaced training sizes up to 7/8 of ``n``: beyond, too few points are left to test on.

    Example:
        >>> prefix_sizes(64, per_octave=1).tolist()
        [4, 7, 14, 28, 56]
    """
    top = max(int(n * 0.875), 2)
    count = max(round(np.log2(max(top / smallest, 1.0)) * per_octave), 1)
    return np.unique(np.round(top * 2.0 ** (-np.arange(count, -1, -1) / per_octave)).astype(int))


def same_samples(gram: Array) -> NDArray[np.bool_]:
    """Which samples a kernel cannot tell apart, (n, n); none is the same as itself.

    Distances count, :math:`K_{ii} + K_{jj} - 2K_{ij}`, and not the kernel: samples behind a large bias have nearly equal kernels.

    Example:
        >>> same_samples(np.array([[2.0, 2.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 2.0]])).astype(int).tolist()
        [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    own = np.diag(gram)
    apart = own[:, None] + own - 2 * gram
    found: NDArray[np.bool_] = apart <= _SAME * apart.mean()
    np.fill_diagonal(found, False)
    return found


def factorise(gram: Array) -> tuple[Array, float]:
    """Lower Cholesky factor of ``gram`` and the jitter that had to be added to its diagonal (0.0 when none).

    Rounding of a matrix that was computed in single precision leaves eigenvalues down to about minus 1e-7 of the largest, which
    may be n times the mean: up to 1e-4 of the mean is added, and told; beyond that the matrix is no kernel.
    """
    scale = float(np.trace(gram)) / len(gram)
    jitter = 0.0
    for attempt in range(10):
        try:
            shifted = gram + jitter * np.eye(len(gram)) if jitter else gram
            return sla.cholesky(shifted, lower=True, check_finite=False), jitter
        except sla.LinAlgError:
            jitter = scale * 1e-12 * 10.0**attempt
    raise ValueError(
        f"the kernel matrix is not positive semidefinite: Cholesky failed with jitter {jitter:.1e} "
        f"(mean diagonal {scale:.1e}). Check that it is symmetric, or add ridge."
    )


@printed
@dataclass(frozen=True)
class Nested:
    """Sums over orderings, per training size and per pilot point, of squared error and of misclassification.

    ``loss[s, j] / count[s, j]`` is the mean error at point j of predictors trained on ``sizes[s]`` other points.
    ``kappa`` is 1/tr(K^-1) and ``quadratic`` y'K^-1 y on the prefixes, mean over orderings.
    """

    sizes: NDArray[np.int64]
    loss: Array
    wrong: Array | None
    count: Array
    kappa: Array
    quadratic: Array
    jitter: float


def record(fitted: Array, targets: Array, labels: NDArray[np.int64] | None, binary: bool) -> tuple[Array, Array | None]:
    """Squared error and misclassification (None without labels) of each sample."""
    loss = ((fitted - targets) ** 2).mean(1)
    if labels is None:
        return loss, None
    guess = (fitted[:, 0] > 0).astype(int) if binary else fitted.argmax(1)
    return loss, (guess != labels).astype(float)


def _columns(K: Array, ridge: float) -> tuple[Array, float]:
    """The first columns (n, m) of the Cholesky factor from those of the matrix, and the jitter of its leading block."""
    m = K.shape[1]
    block = K[:m].copy()
    block[np.diag_indices(m)] += ridge
    L, jitter = factorise(block)
    if len(K) == m:
        return L, jitter
    below = sla.solve_triangular(L, K[m:].T, lower=True, check_finite=False)
    return np.concatenate([L, below.T]), jitter


def nested_regression(
    gram: Array,
    targets: Array,
    sizes: NDArray[np.int64],
    *,
    labels: NDArray[np.int64] | None = None,
    ridge: float = 0.0,
    time: float | None = None,
    orderings: int = 24,
    often: int | None = None,
    seed: int = 0,
) -> Nested:
    r"""Errors of kernel regression trained on the first p points of random orderings and tested on the rest.

    With :math:`K + \delta I = LL^\top` and :math:`a = L^{-1}y`, leading blocks of L factorise leading blocks of K, so the
    prediction at a later point j from the first p points is :math:`f_p(x_j) = \sum_{i<p} L_{ji} a_i`: every training size
    comes from one factorisation (of the columns up to the largest). Also
    :math:`\mathrm{tr} K_{pp}^{-1} = \|L_{pp}^{-1}\|_F^2` (repeated samples left out, whatever the ridge) and
    :math:`y^\top K_{pp}^{-1} y = \|a_{:p}\|^2`. A finite ``time`` t (predictor :math:`K_{hp}K_{pp}^{-1}(1-e^{-tK_{pp}/p})y`,
    gradient flow on the mean squared error) has no nested form and takes one eigendecomposition per size.

    Orderings come in groups of eight, one random permutation rotated by an eighth each time: at every size all samples are
    tested (nearly) equally often, and small training sets of a group do not overlap. Sizes above ``often`` are measured in the
    first group only: large training sets overlap so much that more orderings say little more, and cost most.
    """
    n, outputs = targets.shape
    binary = outputs == 1
    rng = np.random.default_rng(seed)
    loss, count = np.zeros((len(sizes), n)), np.zeros((len(sizes), n))
    wrong = None if labels is None else np.zeros((len(sizes), n))
    kappa, quadratic = np.zeros(len(sizes)), np.zeros(len(sizes))
    worst = 0.0
    turns = np.where(sizes > (n if often is None else often), min(orderings, _TURNS), orderings)
    permutation = rng.permutation(n)
    same = same_samples(gram)
    repeats = bool(same.any())
    for turn in range(orderings):
        top = int(max(sizes[turns > turn])) if time is None else n
        if turn and turn % _TURNS == 0:
            permutation = rng.permutation(n)
        order = np.roll(permutation, (turn % _TURNS) * n // _TURNS)
        y = targets[order]
        lab = None if labels is None else labels[order]
        K = gram.take(order, 0).take(order[:top], 1)  # (n, top)
        L, jitter = _columns(K, ridge)
        worst = max(worst, jitter)
        inverse = sla.lapack.dtrtri(L[:top], lower=1)[0]  # a third of the work of solving for the identity
        a = inverse @ y[:top]
        # a sample that is there twice has no trace of its own
        told = np.diag(L[:top]) ** 2 > REPEATED * np.diag(K[:top])
        if repeats:
            told &= ~np.tril(same[np.ix_(order[:top], order[:top])]).any(1)
        traces = np.cumsum((inverse**2).sum(1) * told)
        quadratics = np.cumsum((a**2).sum(1))
        for s in np.flatnonzero(turns > turn):
            p = sizes[s]
            if time is None:
                fitted = L[p:, :p] @ a[:p]
            else:
                lam, U = np.linalg.eigh(K[:p, :p] + ridge * np.eye(p))
                lam = np.maximum(lam, 1e-14 * lam[-1])
                fitted = K[p:, :p] @ (U @ ((-np.expm1(-time * lam / p) / lam)[:, None] * (U.T @ y[:p])))
            here, mistakes = record(fitted, y[p:], None if lab is None else lab[p:], binary)
            loss[s, order[p:]] += here
            count[s, order[p:]] += 1
            if wrong is not None and mistakes is not None:
                wrong[s, order[p:]] += mistakes
            kappa[s] += 1.0 / traces[p - 1]
            quadratic[s] += quadratics[p - 1]
    return Nested(sizes, loss, wrong, count, kappa / turns, quadratic / turns, worst)
