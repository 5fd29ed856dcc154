"""Predictors that a kernel machine is compared with on tables, each tuned on the training rows only."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from priorscope.sklearn import KernelMachine

__all__ = ["PREDICTORS", "accuracies"]

Rows = NDArray[np.float64]
Labels = NDArray[np.int64]


class Classifier(Protocol):
    """What is compared: a fitted classifier."""

    def predict(self, X: Rows) -> NDArray[np.generic]:
        """Class numbers (n,)."""
        ...


def _folds(y: Labels, count: int) -> StratifiedKFold:
    """Stratified folds, as many as the rarest class allows, at least two."""
    return StratifiedKFold(max(2, min(count, int(np.bincount(y).min()))), shuffle=True, random_state=0)


def _machine(x: Rows, y: Labels) -> Classifier:
    return KernelMachine(task="classification").fit(x, y)


def _forest(x: Rows, y: Labels) -> Classifier:
    """300 trees; how many features a split looks at by the out-of-bag error."""
    made = [
        RandomForestClassifier(300, max_features=m, oob_score=True, random_state=0).fit(x, y) for m in ("sqrt", 0.5)
    ]
    best: Classifier = max(made, key=lambda forest: forest.oob_score_)
    return best


def _svm(x: Rows, y: Labels) -> Classifier:
    """Gaussian kernel on standardised inputs; C and bandwidth on a grid, by three folds."""
    grid = {
        "svc__C": [0.1, 1.0, 10.0, 100.0, 1000.0],
        "svc__gamma": [g / x.shape[1] for g in (0.03, 0.1, 0.3, 1.0, 3.0)],
    }
    found: Classifier = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=_folds(y, 3)).fit(x, y)
    return found


def _boosting(x: Rows, y: Labels) -> Classifier:
    """Histogram boosting of 100 rounds; rate and smallest leaf on a grid, by three folds."""
    grid = {"learning_rate": [0.03, 0.1], "min_samples_leaf": [5, 20]}
    found: Classifier = GridSearchCV(HistGradientBoostingClassifier(random_state=0), grid, cv=_folds(y, 3)).fit(x, y)
    return found


def _network(x: Rows, y: Labels) -> Classifier:
    """ReLU networks of width 256 trained by Adam until the loss stops falling; depth and decay by a quarter held out."""
    grid = {"mlpclassifier__hidden_layer_sizes": [(256,), (256, 256)], "mlpclassifier__alpha": [1e-4, 1.0]}
    rare = int(np.bincount(y).min()) < 2
    held = (
        _folds(y, 2)
        if rare
        else StratifiedShuffleSplit(1, test_size=max(0.25, len(np.unique(y)) / len(y)), random_state=0)
    )
    found: Classifier = GridSearchCV(
        make_pipeline(StandardScaler(), MLPClassifier(max_iter=200, random_state=0)), grid, cv=held
    ).fit(x, y)
    return found


PREDICTORS: dict[str, Callable[[Rows, Labels], Classifier]] = {
    "kernel machine": _machine,
    "random forest": _forest,
    "gaussian svm": _svm,
    "boosting": _boosting,
    "network": _network,
}


def accuracies(x: Rows, y: Labels, x_test: Rows, y_test: Labels) -> dict[str, float | str]:
    """Test accuracy of each predictor, the CPU seconds its fit took, and what the kernel machine chose."""
    found: dict[str, float | str] = {}
    for name, fit in PREDICTORS.items():
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UserWarning)  # a class with fewer members than folds
            model = fit(x, y)
        found[f"seconds {name}"] = time.process_time() - start
        found[name] = float((model.predict(x_test) == y_test).mean())
        if isinstance(model, KernelMachine):
            found["chosen"] = str(model.report_.chosen)
    return found
