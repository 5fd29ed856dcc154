"""Fitted members of a shortlist that answer together: the mean of their numbers, or of their calibrated probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from priorscope.sklearn._left_out import scores_of
from priorscope.sklearn._loss import Problem, losses, probabilities, temperature

__all__ = ["Averaged", "averaged_scores", "not_told_apart"]

Array = NDArray[np.float64]
_TOLD = 2.0  # standard errors of the difference from the best beyond which a member is told apart


class Averaged(BaseEstimator):  # type: ignore[misc]  # no types there
    """Several fitted estimators as one, each with the inverse temperature of its scores (None: predictions are numbers).

    Averages of predictors whose errors differ err less than their members do in the mean (Breiman 1996, Stacked regressions;
    Caruana et al. 2004, Ensemble selection from libraries of models), and whoever averages need not choose by luck.

    Example:
        >>> from sklearn.dummy import DummyRegressor
        >>> two = [DummyRegressor(strategy="constant", constant=c).fit([[0.0]], [0.0]) for c in (1.0, 2.0)]
        >>> Averaged(two, None, None).predict(np.zeros((1, 1))).tolist()
        [1.5]
    """

    def __init__(
        self, members: Sequence[BaseEstimator], betas: Sequence[float] | None, classes: NDArray[np.generic] | None
    ) -> None:
        """Keep what is fitted already."""
        self.members = members
        self.betas = betas
        self.classes = classes

    def predict(self, rows: Array) -> NDArray[np.generic]:
        """The mean of the numbers, or the class with the largest mean probability."""
        if self.classes is None:
            found: NDArray[np.generic] = np.mean([np.asarray(m.predict(rows), dtype=float) for m in self.members], 0)
            return found
        chosen: NDArray[np.generic] = self.classes[self.predict_proba(rows).argmax(1)]
        return chosen

    def predict_proba(self, rows: Array) -> Array:
        """The mean over members of their calibrated probabilities."""
        assert self.betas is not None
        every = [
            probabilities(scores_of(m, rows, self.classes), b) for m, b in zip(self.members, self.betas, strict=True)
        ]
        found: Array = np.mean(every, 0)
        return found


def averaged_scores(scores: Sequence[Array], labels: NDArray[np.int64] | None) -> tuple[Array, list[float] | None]:
    """Left-out scores of members averaged (logarithms of mean probabilities for classes), and their inverse temperatures."""
    if labels is None:
        return np.mean(scores, 0), None
    betas = [temperature(s, labels, np.ones(len(labels))) for s in scores]
    mean = np.mean([probabilities(s, b) for s, b in zip(scores, betas, strict=True)], 0)
    return np.log(np.maximum(mean, 1e-12)), betas


def not_told_apart(scores: Sequence[Array], problem: Problem, most: int) -> list[int]:
    """The members whose left-out log-loss (squared error of numbers) is within two standard errors of the lowest, best first.

    The standard error is that of the paired difference over rows. A proper score counts, not mistakes: it is known more
    exactly from as many rows.

    Example:
        >>> y = np.zeros((4, 1))
        >>> far, near, zigzag = y + 9.0, y + 0.1, y + np.array([[0.3], [0.0], [0.0], [0.0]])
        >>> not_told_apart([far, near, zigzag], Problem(y, None, np.ones(4)), 5)
        [1, 2]
    """
    metric = "squared" if problem.labels is None else "log-loss"
    each = [losses(s, problem, metric) for s in scores]
    order = sorted(range(len(each)), key=lambda i: (float(each[i].mean()), i))
    best = each[order[0]]
    near = [i for i in order if (each[i] - best).mean() <= _TOLD * problem.uncertainty(each[i] - best) or i == order[0]]
    return near[:most]
