"""A classifier whose predictions make all classes count alike: its probabilities are held against the classes' shares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from priorscope.sklearn._balanced_classes import balanced_classes
from priorscope.sklearn._estimator import class_scores, gives_probabilities, gives_scores, only_if
from priorscope.sklearn._folds import fit_by_groups
from priorscope.sklearn._kernel_machine import KernelMachine
from priorscope.sklearn._loss import probabilities

__all__ = ["BalancedDecision"]

Array = NDArray[np.float64]


def _inner(decision: BalancedDecision) -> BaseEstimator:
    """What it goes by: fitted, or as it was given."""
    return vars(decision).get("estimator_", decision.estimator)


def _has(method: str) -> Any:
    """A condition for scikit-learn's ``available_if``: the inner estimator has the method, or its own error is raised."""

    def has(decision: BalancedDecision) -> bool:
        getattr(_inner(decision), method)
        return True

    return has


class BalancedDecision(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # no types there
    r"""A classifier that predicts the class with the largest :math:`p_c(x) / \pi_c`, the best decision for balanced error.

    p are the probabilities of the inner estimator, :math:`\pi` the shares of the classes among the rows of ``fit``
    (:func:`balanced_classes`). Where classes are rare the largest probability is that of the commonest class nearly everywhere,
    so that predicting it errs on all others. For kernel machines and networks p are the outputs for one-hot targets
    (Richard & Lippmann 1991, Neural Computation 3, 461), for all others those of ``predict_proba``.

    Two kinds of estimators keep the decision they make themselves: those that weigh classes (``class_weight``), for
    their scores stand for weighted shares already, and those without probabilities, for a margin of zero says
    which class is likelier, not how likely it is.

    Args:
        estimator: a classifier, or a pipeline that ends with one.

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> rng = np.random.default_rng(0)
        >>> y = (np.arange(2000) % 20 == 0).astype(int)  # one in twenty
        >>> X = rng.normal(size=(2000, 1)) + 1.5 * y[:, None]
        >>> plain, model = LogisticRegression().fit(X, y), BalancedDecision(LogisticRegression()).fit(X, y)
        >>> [bool((m.predict(X)[y == 1] == 1).mean() > 0.7) for m in (plain, model)]
        [False, True]
    """

    def __init__(self, estimator: BaseEstimator) -> None:
        """Keep the estimator, which :meth:`fit` clones."""
        self.estimator = estimator

    def fit(self, X: object, y: ArrayLike, groups: ArrayLike | None = None) -> BalancedDecision:
        """Fit a clone of the estimator, which is told ``groups`` (n,) where it asks for them, and count the classes."""
        if y is None:
            raise ValueError("BalancedDecision requires y to be passed, but the target y is None.")
        return self._around(fit_by_groups(clone(self.estimator), X, y, groups), y)

    def _around(self, fitted: BaseEstimator, y: ArrayLike) -> BalancedDecision:
        """Take an estimator that is fitted already, to rows with these classes."""
        self.estimator_ = fitted
        self.classes_, counts = np.unique(np.asarray(y), return_counts=True)
        self.shares_ = counts / counts.sum()
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of columns that the inner estimator was fitted to."""
        found: int = self.estimator_.n_features_in_
        return found

    @property
    def feature_names_in_(self) -> NDArray[np.generic]:
        """Names of these columns, where it was fitted to a frame."""
        found: NDArray[np.generic] = self.estimator_.feature_names_in_
        return found

    def posterior(self, X: object) -> Array:
        r"""The p (n, classes) that decide. For an estimator that keeps its own decision, softmax of its scores times
        :math:`\pi`, so that :math:`p_c / \pi_c` decides as it does.

        Example:
            >>> from sklearn.linear_model import RidgeClassifier
            >>> model = BalancedDecision(RidgeClassifier()).fit([[0.0], [1.0], [1.2], [1.4]], [0, 1, 1, 1])
            >>> over = model.posterior([[0.0], [1.2]]) / model.shares_
            >>> over.argmax(1).tolist(), model.estimator_.predict([[0.0], [1.2]]).tolist()
            ([0, 1], [0, 1])
        """
        check_is_fitted(self, "estimator_")
        known = None if _keeps(self.estimator_) else _outputs(self.estimator_, X)
        if known is not None:
            return known
        own = _scores(self.estimator_, X) * self.shares_
        found: Array = own / own.sum(1, keepdims=True)
        return found

    def predict(self, X: object) -> NDArray[np.generic]:
        """The class with the largest p over its share."""
        p = self.posterior(X)  # first: it says so when there was no fit
        found: NDArray[np.generic] = self.classes_[balanced_classes(p, self.shares_)]
        return found

    @only_if(_has("predict_proba"))
    def predict_proba(self, X: object) -> Array:
        """Probabilities of the classes, those of the inner estimator."""
        check_is_fitted(self, "estimator_")
        found: Array = self.estimator_.predict_proba(X)
        return found

    @only_if(_has("decision_function"))
    def decision_function(self, X: object) -> Array:
        """Scores of the classes, those of the inner estimator."""
        check_is_fitted(self, "estimator_")
        found: Array = self.estimator_.decision_function(X)
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return "estimator_" in vars(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _keeps(estimator: BaseEstimator) -> bool:
    """Whether an estimator decides by itself: it weighs classes, or has margins or classes alone."""
    if any(name.split("__")[-1] == "class_weight" and v is not None for name, v in estimator.get_params().items()):
        return True
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return (isinstance(last, KernelMachine) and last.head == "svm") or not gives_probabilities(estimator)


def _outputs(estimator: BaseEstimator, X: object) -> Array | None:
    """Estimated probabilities: outputs for one-hot targets where there are such, else probabilities."""
    last, rows = estimator, X
    if isinstance(estimator, Pipeline):
        last = estimator.steps[-1][1]
        for _, step in estimator.steps[:-1]:
            rows = step.transform(rows)
    if isinstance(last, KernelMachine):
        return last._function(rows)
    found: Array = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    return found


def _scores(estimator: BaseEstimator, X: object) -> Array:
    """Positive numbers (n, classes) of which the largest is that of the class an estimator predicts."""
    given = class_scores(estimator, X)
    margins = gives_scores(estimator) and not gives_probabilities(estimator)
    return probabilities(given, 1.0) if margins else given
