"""Classical models as people tune them: for each kind the few settings that are worth a try, and what a fit costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from priorscope.sklearn._estimator import Estimator

__all__ = ["KINDS", "Kind", "Situation"]

Array = NDArray[np.float64]
_QUADRATIC = 6000  # rows up to which a support vector machine sees all pairs of them
_LANDMARKS = 600  # of its kernel beyond


@dataclass(frozen=True)
class Situation:
    """What settings depend on."""

    n: int
    features: int
    classes: int  # 0 for numbers
    seed: int


Numbers = NDArray[np.generic]
Stop = Callable[[Estimator, Array, Numbers, Array, Numbers], int]


@dataclass(frozen=True)
class Kind:
    """A kind of model: its settings, and the exponent of the number of rows in the time of a fit.

    ``grows`` names the setting that counts trees, where there are such: time is proportional to it. Settings are raced at
    ``raced_trees``, or stopped by the rows kept aside where ``stopped`` is given: it fits and says how many trees to take.
    """

    words: str
    settings: Callable[[Situation], list[Estimator]]
    exponent: Callable[[int], float]
    folds: int = 3  # parts of the rows that take turns to be kept aside, where rows are few
    single: bool = False  # whether it takes one target at a time
    grows: str | None = None
    trees: int = 1
    raced_trees: int = 1
    stopped: Stop | None = None


def _boosted(here: Situation) -> list[Estimator]:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if here.classes else HistGradientBoostingRegressor
    few = max(here.n // 40, 1)
    options = (
        {"learning_rate": 0.1, "max_leaf_nodes": 31, "min_samples_leaf": min(20, few)},
        {"learning_rate": 0.06, "max_leaf_nodes": 8, "min_samples_leaf": min(10, few), "l2_regularization": 1.0},
        {"learning_rate": 0.06, "max_leaf_nodes": 20, "min_samples_leaf": min(20, few), "max_features": 0.5},
    )
    most = 400 if here.classes <= 4 else max(1200 // here.classes, 50)
    return [kind(max_iter=most, early_stopping=False, random_state=here.seed, **option) for option in options]


def _stopped(made: Estimator, x: Array, y: Numbers, new: Array, truth: Numbers) -> int:
    """Fit until the loss on new rows has not fallen for 25 trees; the number of trees where it was lowest."""
    made.set_params(early_stopping=True, n_iter_no_change=25, tol=0.0).fit(x, y, X_val=new, y_val=truth)
    return max(int(np.argmax(vars(made)["validation_score_"])), 1)


def _forests(here: Situation) -> list[Estimator]:
    """Thresholds at random or the best ones, and few or half of the columns at each."""
    from sklearn.ensemble import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )

    extra, forest = (
        (ExtraTreesClassifier, RandomForestClassifier) if here.classes else (ExtraTreesRegressor, RandomForestRegressor)
    )
    few, many = ("sqrt", 0.5) if here.classes else (0.4, 1.0)
    leaf = 1 if here.n < 20_000 else 3
    options = ((extra, few), (extra, many), (forest, few))
    return [
        made(n_estimators=200, max_features=share, min_samples_leaf=leaf, random_state=here.seed)
        for made, share in options
    ]


def _machines(here: Situation) -> list[Estimator]:
    """With a Gaussian kernel; of many rows by landmarks (Nyström), so that time grows as their number."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.svm import SVC, SVR

    strengths = (0.3, 1.0, 10.0, 100.0)
    if here.n <= _QUADRATIC:
        kind = SVC if here.classes else SVR
        return [_scaled(kind(C=c)) for c in strengths]
    landmarks = Nystroem(gamma=1 / here.features, n_components=_LANDMARKS, random_state=here.seed)
    if here.classes:
        return [_scaled(landmarks, LogisticRegression(C=c, max_iter=200)) for c in strengths]
    return [_scaled(landmarks, Ridge(alpha=1 / c)) for c in strengths]


def _linear(here: Situation) -> list[Estimator]:
    from sklearn.linear_model import LogisticRegression, Ridge

    if here.classes:
        return [_scaled(LogisticRegression(C=c, max_iter=300)) for c in (0.003, 0.03, 0.3, 3.0)]
    return [_scaled(Ridge(alpha=a)) for a in (0.1, 1.0, 10.0, 100.0, 1000.0)]


def _scaled(*steps: object) -> Estimator:
    """Behind medians for gaps and columns of unit variance."""
    gaps = SimpleImputer(strategy="median", keep_empty_features=True)
    made: Estimator = make_pipeline(gaps, StandardScaler(), *steps)
    return made


KINDS = {
    "boosted trees": Kind(
        "trees fitted one after another to what is still wrong",
        _boosted,
        lambda n: 0.4 if n < 5000 else 0.9,
        single=True,
        grows="max_iter",
        trees=400,
        stopped=_stopped,
    ),
    "random trees": Kind(
        "many random trees, averaged",
        _forests,
        lambda n: 0.6 if n < 1000 else 1.1,
        grows="n_estimators",
        trees=200,
        raced_trees=50,
    ),
    "SVM": Kind(
        "support vector machine with a Gaussian kernel",
        _machines,
        lambda n: 1.8 if n <= _QUADRATIC else 1.0,
        folds=4,
        single=True,
    ),
    "linear": Kind("linear in the inputs: logistic regression, or ridge", _linear, lambda n: 0.9, folds=4),
}
