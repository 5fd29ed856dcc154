"""Several estimators as one: the mean of their numbers, or of their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

from priorscope.sklearn._by_task import EitherTask, classifies
from priorscope.sklearn._estimator import only_if
from priorscope.sklearn._folds import fit_by_groups

__all__ = ["Average", "mean_probabilities"]

Array = NDArray[np.float64]


def mean_probabilities(every: Sequence[Array], weights: Sequence[float] | None = None) -> Array:
    """The weighted mean of probabilities (n, classes), or of numbers.

    Example:
        >>> mean_probabilities([np.array([[0.2, 0.8]]), np.array([[0.6, 0.4]])], [3, 1]).round(2).tolist()
        [[0.3, 0.7]]
    """
    found: Array = np.average(np.stack(list(every)), axis=0, weights=weights)
    return found


class Average(EitherTask, _BaseComposition):  # type: ignore[misc]  # no types there
    """The average of several estimators: each is fitted, and numbers, or probabilities of classes, are averaged.

    Averages of predictors whose errors differ err less than their members do in the mean (Breiman 1996, Stacked regressions;
    Caruana et al. 2004, Ensemble selection from libraries of models).

    Args:
        members: pairs of a name and an estimator; classifiers need ``predict_proba``.
        weights: of the members; None: all alike.
        task: "classification" or "regression"; None decides by ``y``: words, booleans and integers are classes.

    Example:
        >>> from sklearn.linear_model import LinearRegression, Ridge
        >>> model = Average([("plain", LinearRegression()), ("ridge", Ridge())], task="regression")
        >>> model.fit([[0.0], [1.0]], [0.0, 1.0]).predict([[1.0]]).round(3).tolist()
        [0.833]
    """

    def __init__(
        self,
        members: Sequence[tuple[str, BaseEstimator]],
        *,
        weights: Sequence[float] | None = None,
        task: str | None = None,
    ) -> None:
        self.members = members
        self.weights = weights
        self.task = task

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Settings, those of members as ``name__setting``."""
        found: dict[str, Any] = self._get_params("members", deep=deep)
        return found

    def set_params(self, **settings: object) -> Average:
        """Change settings, of members too."""
        self._set_params("members", **settings)
        return self

    def fit(self, X: object, y: ArrayLike, groups: ArrayLike | None = None) -> Average:
        """Fit a clone of each member to all rows; ``groups`` go to members that ask for them."""
        if not self.members:
            raise ValueError("Average needs at least one member; got none.")
        if self.weights is not None and (len(self.weights) != len(self.members) or min(self.weights) < 0):
            raise ValueError(f"weights must be at least 0, one per member ({len(self.members)}); got {self.weights!r}.")
        values = np.asarray(y)
        plain = "regression" if values.dtype.kind == "f" else "classification"
        self.task_ = self.task or ("classification" if is_classifier(self.members[0][1]) else plain)
        if self.task_ == "classification":
            self.classes_ = np.unique(values)
        self.fitted_ = [fit_by_groups(clone(member), X, y, groups) for _, member in self.members]
        return self

    def predict(self, X: object) -> NDArray[np.generic]:
        """The mean of the numbers, or the class with the largest mean probability."""
        check_is_fitted(self, "fitted_")
        if self.task_ == "classification":
            chosen: NDArray[np.generic] = self.classes_[self.predict_proba(X).argmax(1)]
            return chosen
        return mean_probabilities([np.asarray(m.predict(X), dtype=float) for m in self.fitted_], self.weights)

    @only_if(classifies)
    def predict_proba(self, X: object) -> Array:
        """The mean of the members' probabilities (n, classes)."""
        check_is_fitted(self, "fitted_")
        return mean_probabilities([np.asarray(m.predict_proba(X)) for m in self.fitted_], self.weights)

    def __sklearn_is_fitted__(self) -> bool:
        return "fitted_" in vars(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.members:
            tags.input_tags = get_tags(self.members[0][1]).input_tags
        return tags
