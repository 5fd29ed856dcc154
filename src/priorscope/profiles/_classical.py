"""Classical models of scikit-learn, and estimators of the user, measured on the same parts as all others."""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from threadpoolctl import threadpool_limits

from priorscope.profiles._design import Design, Part
from priorscope.profiles._held_out import HeldOut, Truth
from priorscope.profiles._metric import Metric
from priorscope.sklearn import BalancedDecision

__all__ = ["MeasuredEstimator", "Reference", "is_estimator", "measure_estimator", "references"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Reference:
    """A classical model: its name, what it is, and the settings that are tried at every size.

    Example:
        >>> [r.name for r in references(2, 1)]
        ['logistic', 'SVM', 'extra trees', 'boosted trees']
    """

    name: str
    words: str
    settings: tuple[BaseEstimator, ...] = field(repr=False)


def references(classes: int, outputs: int, metric: Metric | None = None) -> list[Reference]:
    """What people would try first: a linear model, a support vector machine, averaged and boosted trees.

    By balanced error support vector machines weigh classes alike, for they have no probabilities to hold against the
    shares of the classes. Platt's probabilities (Platt 1999), fitted on folds, were the other way: on four unbalanced KEEL
    tables weights did better at 800 rows on three (1.6, 4.0 and 26 % against 4.0, 6.3 and 43 %, 53 against 41 % on the fourth,
    the best of four settings), worse at 200 rows on all four; but they need no folds, and work from one sample of a class on.
    """
    from sklearn.ensemble import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
    )
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.multioutput import MultiOutputRegressor
    from sklearn.svm import SVC, SVR

    trees = "many random trees, averaged"
    boosted = "trees fitted one after another to what is still wrong"
    if classes:
        alike = "balanced" if metric is Metric.BALANCED_ERROR else None
        few = {"max_iter": 50, "learning_rate": 0.15} if classes > 4 else {}
        return [
            Reference(
                "logistic",
                "logistic regression: linear in the inputs",
                tuple(LogisticRegression(C=c, max_iter=300) for c in (0.003, 0.03, 0.3, 3.0)),
            ),
            Reference(
                "SVM",
                "support vector machine with a Gaussian kernel",
                tuple(SVC(C=c, gamma=g, class_weight=alike) for c in (1.0, 10.0) for g in ("scale", 0.3)),
            ),
            Reference("extra trees", trees, (ExtraTreesClassifier(200, random_state=0),)),
            Reference("boosted trees", boosted, (HistGradientBoostingClassifier(random_state=0, **few),)),
        ]
    many: Callable[[BaseEstimator], BaseEstimator] = (lambda e: e) if outputs == 1 else MultiOutputRegressor
    return [
        Reference(
            "ridge",
            "ridge regression: linear in the inputs",
            tuple(Ridge(alpha=a) for a in (0.1, 1.0, 10.0, 100.0, 1000.0)),
        ),
        Reference(
            "SVM",
            "support vector regression with a Gaussian kernel",
            tuple(many(SVR(C=c, gamma=g)) for c in (1.0, 10.0) for g in ("scale", 0.3)),
        ),
        Reference(
            "extra trees",
            trees,
            tuple(ExtraTreesRegressor(200, max_features=f, random_state=0) for f in (1.0, 0.4)),
        ),
        Reference("boosted trees", boosted, (many(HistGradientBoostingRegressor(random_state=0)),)),
    ]


def is_estimator(thing: object) -> bool:
    """Whether this is an estimator of scikit-learn's kind, fitted or not.

    Example:
        >>> from sklearn.svm import SVC
        >>> is_estimator(SVC()), is_estimator(SVC), is_estimator(3)
        (True, False, False)
    """
    return isinstance(thing, BaseEstimator)


@dataclass(frozen=True)
class MeasuredEstimator:
    """Held-out scores of an estimator, its best setting at the largest size, and the seconds of one fit there."""

    held: HeldOut = field(repr=False)
    estimator: BaseEstimator
    fit_seconds: float
    seconds: float


def _scale_gamma(estimator: BaseEstimator, features: int) -> BaseEstimator:
    """A gamma given as a factor is one of 1 / features, which standardised inputs have as their scale."""
    fresh = clone(estimator)
    for name, value in fresh.get_params().items():
        if name.split("__")[-1] == "gamma" and isinstance(value, float):
            fresh.set_params(**{name: value / features})
    return fresh


def _scores(estimator: BaseEstimator, x: Array, truth: Truth, part: Part) -> tuple[Array, bool]:
    """Scores of the tested samples after a fit on the others, and whether they are probabilities."""
    labels = truth.labels
    if labels is None:
        known = truth.targets[part.train]
        estimator.fit(x[part.train], known[:, 0] if known.shape[1] == 1 else known)
        return np.asarray(estimator.predict(x[part.test]), dtype=float).reshape(len(part.test), -1), False
    trained = labels[part.train]
    classes, n = truth.classes, len(part.test)
    if len(np.unique(trained)) == 1:  # a part with one class only: nothing to fit
        sure = np.zeros((n, classes))
        sure[:, trained[0]] = 1.0
        return sure, True
    estimator.fit(x[part.train], trained)
    seen = np.asarray(estimator.classes_, dtype=int)
    if isinstance(estimator, BalancedDecision):
        found = np.zeros((n, classes))
        found[:, seen] = estimator.posterior(x[part.test])
        return found, True
    if callable(getattr(estimator, "predict_proba", None)):
        found = np.zeros((n, classes))
        found[:, seen] = np.asarray(estimator.predict_proba(x[part.test]))
        return found, True
    if callable(getattr(estimator, "decision_function", None)):
        raw = np.asarray(estimator.decision_function(x[part.test]), dtype=float)
        raw = np.stack([-raw, raw], 1) / 2 if raw.ndim == 1 else raw
        found = np.full((n, classes), raw.min() - 1)
        found[:, seen] = raw
        shifted = np.exp(found - found.max(1, keepdims=True))
        return shifted / shifted.sum(1, keepdims=True), True
    found = np.zeros((n, classes))
    found[np.arange(n), np.asarray(estimator.predict(x[part.test]), dtype=int)] = 1.0
    return found, True


def measure_estimator(
    settings: Sequence[BaseEstimator], x: Array, design: Design, truth: Truth, metric: Metric, *, turns: int = 4
) -> MeasuredEstimator:
    """Fit every setting on the same parts, and keep at each size the one that does best there by the metric."""
    began = clock.process_time()
    settings = [_scale_gamma(s, x.shape[1]) for s in settings]
    where = tuple(range(0, 8, 8 // turns))
    balanced = metric is Metric.BALANCED_ERROR and truth.labels is not None
    decide: Callable[[BaseEstimator], BaseEstimator] = BalancedDecision if balanced else (lambda e: e)
    chosen: list[tuple[Part, Array]] = []
    best, last, probable = settings[0], 0.0, False
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of solvers that stop early; the error says how well they do
        for m in design.few:
            parts = design.parts((m,), where, spread=True)
            tried = []
            for setting in settings:
                started = clock.process_time()
                made = [_scores(decide(clone(setting)), x, truth, part) for part in parts]
                held = HeldOut(design, truth, tuple(parts), tuple(s for s, _ in made), made[0][1])
                tried.append((held.curve(metric)[1][0], (clock.process_time() - started) / len(parts), setting, held))
            _, last, best, kept = min(tried, key=lambda t: t[0])
            probable = kept.probable
            chosen += list(zip(kept.parts, kept.scores, strict=True))
    whole = HeldOut(design, truth, tuple(p for p, _ in chosen), tuple(s for _, s in chosen), probable)
    return MeasuredEstimator(whole, best, last, clock.process_time() - began)
