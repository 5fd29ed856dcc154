"""Numbers of many trained networks that claims on ensembles need, each also with a block of members left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from priorscope.probes import boundary_shift

SIZES = (1, 2, 4, 8, 16)  # members of the ensembles that are averaged
BLOCKS = 8  # of members, left out one after another for intervals: leaving out one would hardly change the groups
SHUFFLES = 20


def with_and_without(n_members: int, statistic: Callable[[np.ndarray], Sequence[float]]) -> np.ndarray:
    """A statistic of the members kept (their numbers): all of them in the first row, then each block left out.

    Example:
        >>> with_and_without(4, lambda keep: [float(len(keep))])[:, 0].tolist()
        [4.0, 3.0, 3.0, 3.0, 3.0]
    """
    everyone = np.arange(n_members)
    blocks = [block for block in np.array_split(everyone, min(BLOCKS, n_members)) if len(block)]
    return np.array([statistic(everyone), *(statistic(np.setdiff1d(everyone, block)) for block in blocks)])


def ensemble_errors(margins: np.ndarray, sizes: Sequence[int]) -> list[float]:
    """Mean error of ensembles of each size, from outputs times labels (members, n): disjoint groups in several shuffles.

    Example:
        >>> ensemble_errors(np.array([[1.0, -1.0], [1.0, 3.0]]), [1, 2])
        [0.25, 0.0]
    """
    rng = np.random.default_rng(0)
    orders = [rng.permutation(len(margins)) for _ in range(SHUFFLES)]
    found = []
    for m in sizes:
        whole = len(margins) // m * m
        picks = orders if whole > m else orders[:1]
        groups = [margins[o[:whole]].reshape(-1, m, margins.shape[1]).mean(1) for o in picks]
        found.append(float(np.mean([(group <= 0).mean() for group in groups])))
    return found


def boundary_distances(
    margins: np.ndarray, slopes: np.ndarray, reference: np.ndarray, sizes: Sequence[int]
) -> tuple[list[float], list[float], int]:
    """Distance of the decision boundaries of ensembles of each size from the reference, its estimate by norms, and how often
    there was none: points that are classified differently where the ensemble's output does not change with the input.

    Outputs times labels (members, n) and their gradients over the input (members, n, d).
    """
    distances, estimates, without = [], [], 0
    for m in sizes:
        groups = np.arange(len(margins) // m * m).reshape(-1, m)
        found = [boundary_shift(margins[g].mean(0), slopes[g].mean(0), reference) for g in groups]
        shifts = np.concatenate([shift for shift, _ in found])
        without += int(np.isnan(shifts).sum())
        distances.append(float(np.nanmean(shifts)) if np.isfinite(shifts).any() else float("nan"))
        estimates.append(float(np.mean([estimate for _, estimate in found])))
    return distances, estimates, without
