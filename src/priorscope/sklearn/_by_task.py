"""What estimators for classes and for numbers have in common: one class for both, told apart by ``task`` or by the targets."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, Tags

__all__ = ["EitherTask", "classifies"]


class EitherTask(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """An estimator for classification or regression: ``task`` says which, or ``fit`` finds out and sets ``task_``."""

    task: str | None
    task_: str

    def predict(self, X: Any) -> Any:
        """Classes or numbers."""
        raise NotImplementedError(f"{type(self).__name__} has no predict.")

    def score(self, X: Any, y: ArrayLike) -> float:
        """Accuracy for classes, R² for numbers."""
        guess = self.predict(X)
        return float(accuracy_score(y, guess) if self.task_ == "classification" else r2_score(y, guess))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        task = _task_of(self)
        if task == "classification":
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        elif task == "regression":
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags


def _task_of(estimator: EitherTask) -> str | None:
    """What ``fit`` found, before it the setting."""
    found: str | None = vars(estimator).get("task_", estimator.task)
    return found


def classifies(estimator: EitherTask) -> bool:
    """Whether it has classes; for numbers an AttributeError that says so, as scikit-learn wants of missing methods."""
    if _task_of(estimator) == "regression":
        who = type(estimator).__name__
        raise AttributeError(f"a {who} for numbers has no classes: predict_proba is for classification.")
    return True
