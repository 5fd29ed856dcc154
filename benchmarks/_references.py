"""What anybody would try first: five predictors of scikit-learn near their defaults, and how errors are counted.

Errors are those of rows that took no part: the share misclassified, its mean over the classes, or the root mean square. A gain
over guessing is told in standard errors of the paired difference, row by row.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

__all__ = ["METRICS", "REFERENCES", "error_of", "flat", "gain_in_errors", "metric_of", "reference_errors"]

METRICS = {"classification": ("misclassification", "balanced"), "regression": ("rmse",)}
REFERENCES = ("linear", "forest", "boosting", "SVM", "MLP")
MOST_FOR_SVM = 10_000  # rows; its time grows with their square
MOST_NUMBERS_FOR_SVM = 10_000_000
MOST_FOR_FOREST = 200_000  # rows; beyond them MLPs see ten epochs

Labels = NDArray[np.generic]


def metric_of(report: object) -> str:
    """The metric a profile chose, by our three names; an error for one that is not among them."""
    metric = report.metric  # type: ignore[attr-defined]
    name = str(getattr(metric, "value", metric)).lower().replace("_", "-")
    if "balanced" in name:
        return "balanced"
    if name in ("misclassification", "error", "accuracy", "zero-one-loss"):
        return "misclassification"
    if name in ("rmse", "neg-root-mean-squared-error", "root-mean-squared-error"):
        return "rmse"
    raise ValueError(f"this bench counts misclassification, balanced error and rmse; the profile chose {name!r}.")


def error_of(metric: str, wanted: Labels, guess: Labels) -> float:
    """The error of predictions."""
    if metric == "rmse":
        return float(np.sqrt(np.mean((wanted.astype(float) - np.asarray(guess, dtype=float)) ** 2)))
    wrong = np.asarray(wanted).astype(str) != np.asarray(guess).astype(str)
    if metric == "misclassification":
        return float(wrong.mean())
    return float(np.mean([wrong[wanted == k].mean() for k in np.unique(wanted)]))


def gain_in_errors(metric: str, wanted: Labels, guess: Labels, blind: object, alike: int = 1) -> float:
    """By how many standard errors predictions beat the constant ``blind``; ``alike`` rows count as one."""
    if metric == "rmse":
        gain = (wanted.astype(float) - float(blind)) ** 2 - (wanted.astype(float) - guess.astype(float)) ** 2  # type: ignore[arg-type]
        mean, noise = gain.mean(), gain.std() / len(gain) ** 0.5
    else:
        right = (wanted.astype(str) == np.asarray(guess).astype(str)).astype(float)
        if metric == "misclassification":
            gain = right - (wanted.astype(str) == str(blind))
            mean, noise = gain.mean(), gain.std() / len(gain) ** 0.5
        else:
            parts = [right[wanted == k] for k in np.unique(wanted)]
            mean = np.mean([p.mean() for p in parts]) - 1 / len(parts)
            noise = sum(p.var() / len(p) for p in parts) ** 0.5 / len(parts)
    return float(mean / max(noise * alike**0.5, 1e-12))


def flat(x: object, like: object | None = None) -> NDArray[np.float64]:
    """Rows of numbers: words as one column per word of ``like``, gaps filled by medians of ``like``, positions in a row."""
    if issparse(x):
        return np.asarray(x.todense(), dtype=float)  # type: ignore[attr-defined]
    if not isinstance(x, pd.DataFrame):
        return np.asarray(x, dtype=float).reshape(len(x), -1)  # type: ignore[arg-type]
    first = x if like is None else like
    assert isinstance(first, pd.DataFrame)
    columns = []
    for name in first.columns:
        if pd.api.types.is_numeric_dtype(first[name]) or pd.api.types.is_bool_dtype(first[name]):
            known, given = first[name].astype(float), x[name].astype(float)
            columns.append(given.fillna(known.median()).to_numpy())
            if known.isna().any():
                columns.append(given.isna().to_numpy().astype(float))
        else:
            columns += [
                (x[name].astype(str) == word).to_numpy().astype(float) for word in sorted(set(first[name].astype(str)))
            ]
    return np.stack(columns, 1)


def makers(task: str, rows: int = 0) -> Mapping[str, object]:
    """The five predictors, each with its scaling."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    mlp = {"hidden_layer_sizes": (128, 128), "early_stopping": True, "random_state": 0}
    mlp["max_iter"] = 100 if rows <= MOST_FOR_FOREST else 10
    if task == "classification":
        return {
            "linear": make_pipeline(StandardScaler(), LogisticRegression(C=0.3, max_iter=500)),
            "forest": RandomForestClassifier(200, random_state=0),
            "boosting": HistGradientBoostingClassifier(random_state=0),
            "SVM": make_pipeline(StandardScaler(), SVC()),
            "MLP": make_pipeline(StandardScaler(), MLPClassifier(**mlp)),
        }

    def own_scale(model: object) -> object:
        return TransformedTargetRegressor(make_pipeline(StandardScaler(), model), transformer=StandardScaler())

    return {
        "linear": own_scale(RidgeCV(np.logspace(-3, 4, 15))),
        "forest": RandomForestRegressor(200, random_state=0),
        "boosting": TransformedTargetRegressor(
            HistGradientBoostingRegressor(random_state=0), transformer=StandardScaler()
        ),
        "SVM": own_scale(SVR()),
        "MLP": own_scale(MLPRegressor(**mlp)),
    }


def decided(model: object, x: NDArray[np.float64], y: Labels, new: NDArray[np.float64], metric: str) -> Labels | None:
    """Predictions by the decision that is best for the metric: probabilities over the classes' shares for balanced error."""
    if metric != "balanced":
        return np.concatenate([model.predict(part) for part in np.array_split(new, -(-len(new) // 10_000))])  # type: ignore[attr-defined]
    try:
        ask = model.predict_proba  # type: ignore[attr-defined]
    except AttributeError:  # a margin machine weighs its classes instead
        from sklearn.base import clone

        return clone(model).set_params(svc__class_weight="balanced").fit(x, y).predict(new)  # type: ignore[no-any-return]
    classes, counts = np.unique(y, return_counts=True)
    chance = np.concatenate([ask(part) for part in np.array_split(new, -(-len(new) // 10_000))])
    return classes[(chance / counts).argmax(1)]  # type: ignore[no-any-return]


def reference_errors(
    task: str, x: object, y: Labels, new: object, wanted: Labels, alike: int = 1
) -> dict[str, dict[str, list[float]]]:
    """Metric → predictor → [error, gain over guessing in standard errors, CPU seconds]; "guessing" is among the predictors."""
    inside, outside = flat(x), flat(new, x)
    found: dict[str, dict[str, list[float]]] = {m: {} for m in METRICS[task]}
    values, counts = np.unique(y, return_counts=True)
    blind = float(np.mean(y.astype(float))) if task == "regression" else values[counts.argmax()]
    for metric, errors in found.items():
        same = np.full(len(wanted), blind)
        errors["guessing"] = [error_of(metric, wanted, same), 0.0, 0.0]
    for name, model in makers(task, len(y)).items():
        if len(y) > {"SVM": MOST_FOR_SVM, "forest": MOST_FOR_FOREST}.get(name, np.inf):
            continue
        if name == "SVM" and inside.size > MOST_NUMBERS_FOR_SVM:
            continue
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.fit(inside, y)  # type: ignore[attr-defined]
                guesses = {metric: decided(model, inside, y, outside, metric) for metric in found}
            except ValueError as trouble:  # an MLP that sets a part aside needs two rows of every class
                print(f"  {name} left out: {trouble}")
                continue
        for metric, guess in guesses.items():
            assert guess is not None
            gain = gain_in_errors(metric, wanted, guess, blind, alike)
            found[metric][name] = [error_of(metric, wanted, guess), gain, time.process_time() - began]
    return found
