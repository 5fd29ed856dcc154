"""What an estimator of scikit-learn can do, said by protocols: the library itself ships no types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeGuard, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from priorscope.contracts import missing

__all__ = [
    "Estimator",
    "Frame",
    "Probable",
    "Scoring",
    "class_scores",
    "gives_probabilities",
    "gives_scores",
    "is_frame",
    "only_if",
]

Machine = TypeVar("Machine")
Method = TypeVar("Method", bound=Callable[..., object])


class Frame(Protocol):
    """A table with named columns: of pandas, or of a library that looks like it."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""
        ...

    @property
    def dtypes(self) -> Any:
        """Kinds of the columns, in their order."""
        ...


class Estimator(Protocol):
    """A model of scikit-learn's kind: fitted, asked, and its settings read and set."""

    def fit(self, X: NDArray[np.float64], y: NDArray[np.generic], **more: object) -> Estimator:
        """Learn from rows and their targets."""
        ...

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.generic]:
        """Classes or numbers."""
        ...

    def get_params(self, deep: bool = True) -> Mapping[str, object]:
        """Settings by name."""
        ...

    def set_params(self, **settings: object) -> Estimator:
        """The same with other settings."""
        ...


class Probable(Protocol):
    """A classifier with probabilities."""

    @property
    def classes_(self) -> NDArray[np.generic]:
        """The classes, in the order of the columns of ``predict_proba``."""
        ...

    def predict_proba(self, X: ArrayLike) -> NDArray[np.generic]:
        """Probabilities (n, classes)."""
        ...


class Scoring(Protocol):
    """A classifier with scores."""

    @property
    def classes_(self) -> NDArray[np.generic]:
        """The classes, in the order of the columns of ``decision_function``."""
        ...

    def decision_function(self, X: ArrayLike) -> NDArray[np.generic]:
        """Scores (n, classes), or (n,) of the second of two classes."""
        ...


def is_frame(X: object) -> TypeGuard[Frame]:
    """Whether these rows have named columns.

    Example:
        >>> import pandas as pd
        >>> is_frame(pd.DataFrame({"a": [1]})), is_frame([[1]])
        (True, False)
    """
    return not missing(X, Frame)


def gives_probabilities(estimator: object) -> TypeGuard[Probable]:
    """Whether a fitted estimator has classes and probabilities; a pipeline has what its last step has.

    Example:
        >>> from sklearn.linear_model import LogisticRegression, RidgeClassifier
        >>> X, y = [[0.0], [1.0]], ["a", "b"]
        >>> [gives_probabilities(e.fit(X, y)) for e in (LogisticRegression(), RidgeClassifier())]
        [True, False]
    """
    return not missing(estimator, Probable)


def gives_scores(estimator: object) -> TypeGuard[Scoring]:
    """Whether a fitted estimator has classes and a decision function.

    Example:
        >>> from sklearn.linear_model import Ridge, RidgeClassifier
        >>> [gives_scores(e.fit([[0.0], [1.0]], [0, 1])) for e in (RidgeClassifier(), Ridge())]
        [True, False]
    """
    return not missing(estimator, Scoring)


def class_scores(estimator: Any, rows: Any) -> NDArray[np.float64]:
    """One score per class (n, classes) of a fitted classifier: probabilities, else scores, else ones for what it predicts.

    Example:
        >>> from sklearn.linear_model import RidgeClassifier
        >>> class_scores(RidgeClassifier(alpha=1e-9).fit([[0.0], [1.0]], ["a", "b"]), [[1.0]]).round(3).tolist()
        [[-0.5, 0.5]]
    """
    if gives_probabilities(estimator):
        return np.asarray(estimator.predict_proba(rows), dtype=np.float64)
    if gives_scores(estimator):
        given = np.asarray(estimator.decision_function(rows), dtype=np.float64)
        return np.stack([-given, given], 1) / 2 if given.ndim == 1 else given
    found: NDArray[np.float64] = (np.asarray(estimator.predict(rows))[:, None] == estimator.classes_).astype(np.float64)
    return found


def only_if(condition: Callable[[Machine], bool]) -> Callable[[Method], Method]:
    """scikit-learn's ``available_if``: a method that an object has only where the condition holds."""
    return cast("Callable[[Method], Method]", available_if(condition))
