r"""Kernel regression on parts of the pilot with the ridge that does best at each training size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorscope.contracts import guarded
from priorscope.probes.curves.pilot._folds import with_folds
from priorscope.probes.curves.pilot._nested import Nested, factorise, nested_regression

__all__ = ["ridge_grid", "tuned_regression"]

Array = NDArray[np.float64]
_RIDGES = 8  # of the grid below the mean eigenvalue, zero not counted
_ABOVE = np.array([1.0, 4.0, 30.0])  # in units of the mean eigenvalue of the centred kernel
_ORDERINGS = 8  # of the pilot for each ridge: one group, in which every sample is tested equally often


@guarded()
def ridge_grid(gram: Array) -> Array:
    """Ridges worth trying: none, a geometric grid from a third of the harmonic to the arithmetic mean eigenvalue, three above.

    The harmonic mean n/tr K^-1 is where a ridge begins to matter (there it equals the regularisation that kernel regression
    without ridge has of itself, Simon et al. 2023); the grid begins below 0.4 of the arithmetic mean of the centred matrix.
    At that mean the modes above it are still learnt, noise included: noisy labels want a few times as much, and pure noise so
    much that nothing is learnt.

    Example:
        >>> ridge_grid(np.diag([1.0, 1.0, 1.0, 1.0])).round(2).tolist()
        [0.0, 0.3, 0.34, 0.38, 0.42, 0.47, 0.53, 0.6, 0.67, 0.75, 3.0, 22.5]
    """
    n = len(gram)
    factor, _ = factorise(gram)
    inverse = np.linalg.inv(factor)
    centred = max(float(np.trace(gram) - gram.sum() / n) / n, 1e-300)
    low = min(n / float((inverse**2).sum()) / 3, 0.4 * centred)
    low = max(low, 1e-8 * centred)  # a nearly singular matrix has next to no harmonic mean
    below = np.geomspace(low, centred, _RIDGES + 1)[:-1] if low < centred else np.empty(0)
    return np.array([0.0, *below, *(centred * _ABOVE)])


def tuned_regression(
    gram: Array,
    targets: Array,
    sizes: NDArray[np.int64],
    *,
    labels: NDArray[np.int64] | None = None,
    seed: int = 0,
) -> tuple[Nested, Array]:
    """Errors at each size with the ridge of :func:`ridge_grid` that has the lowest squared error there, and those ridges.

    Regression without ridge has a hump where samples just outnumber the directions of large variance; with the best ridge the
    expected error does not rise with the number of samples (Nakkiran et al. 2021 prove it for isotropic linear regression). The
    choice is made on the tested samples themselves, as for any cross-validated ridge: with twelve ridges and hundreds of
    samples the optimism is far below the sampling error.
    """
    ridges = ridge_grid(gram)
    found = []
    for ridge in ridges:
        part = nested_regression(
            gram, targets, sizes, labels=labels, ridge=float(ridge), orderings=_ORDERINGS, seed=seed
        )
        found.append(with_folds(part, gram, targets, labels=labels, ridge=float(ridge), seed=seed))
    errors = np.stack([part.loss.sum(1) / part.count.sum(1) for part in found])  # (ridges, sizes)
    best = errors.argmin(0)

    def pick(name: str) -> Array:
        return np.stack([getattr(found[b], name)[s] for s, b in enumerate(best)])

    nested = Nested(
        found[0].sizes,
        pick("loss"),
        None if labels is None else pick("wrong"),
        pick("count"),
        pick("kappa"),
        pick("quadratic"),
        max(found[b].jitter for b in best),
    )
    return nested, ridges[best]
