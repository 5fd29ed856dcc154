"""One contender of the race, in an interpreter of its own: reads the rows, fits, predicts, writes what it took.

Run as ``python _race_peers.py METHOD FOLDER SECONDS``; it imports nothing of priorscope, so that peers can live in an
environment of their own. Its clock is processor time: ``time.time`` counts CPU seconds before any peer is imported, so that a
time limit means the same on a busy machine as on an idle one.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_BEGAN = time.time()


def cpu_clock() -> float:
    """Seconds since 1970 as if only processor time passed."""
    return _BEGAN + time.process_time()


time.time = cpu_clock  # before the peers are imported

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

Found = tuple[Any, str]  # predictions (or scores of the second class), and what was chosen
FOLDS = 5
MOST_FOR_SVM = 10_000


def read(folder: Path) -> tuple[Any, Any, Any, str, str]:
    """Training rows, targets, new rows, task and metric as the runner wrote them."""
    about = json.loads((folder / "about.json").read_text())
    y = np.load(folder / "y.npy", allow_pickle=False)
    if not about["frame"]:
        x, new = np.load(folder / "x.npy"), np.load(folder / "new.npy")
        return x.reshape(len(x), -1), y, new.reshape(len(new), -1), about["task"], about["metric"]
    both = [pd.read_csv(folder / f"{part}.csv", dtype=about["kinds"], keep_default_na=True) for part in ("x", "new")]
    words = [name for name, kind in about["kinds"].items() if kind == "str"]
    for frame in both:
        frame[words] = frame[words].astype(object)
    return both[0], y, both[1], about["task"], about["metric"]


def scores_of(model: Any, new: Any, metric: str) -> Any:
    """Predictions, or for AUC the score of the second class."""
    if metric != "auc":
        return model.predict(new)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(new))[:, 1]
    return model.decision_function(new)


SCORING = {"error": "accuracy", "auc": "roc_auc", "rmse": "neg_root_mean_squared_error"}


def portfolio(task: str, rows: int, frame: Any) -> Iterator[tuple[str, Any]]:
    """Classical rows in the order of their cost, encoded as is usual."""
    from sklearn import ensemble, linear_model, neighbors, neural_network, svm
    from sklearn.compose import TransformedTargetRegressor, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers: Any = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    if isinstance(frame, pd.DataFrame):
        words = [name for name in frame if frame[name].dtype == object]
        rest = [name for name in frame if name not in words]
        hot = OneHotEncoder(handle_unknown="ignore", max_categories=60, sparse_output=False)
        numbers = make_column_transformer((numbers, rest), (hot, words))

    def made(model: Any) -> Any:
        if task == "regression":
            model = TransformedTargetRegressor(model, transformer=StandardScaler())
        return make_pipeline(numbers, model)

    classes = task == "classification"
    line = (
        (lambda c: linear_model.LogisticRegression(C=c, max_iter=300))
        if classes
        else (lambda c: linear_model.Ridge(1 / c))
    )
    suffix = "Classifier" if classes else "Regressor"
    tree = {"n_estimators": 200, "random_state": 0}
    yield "linear", made(line(1.0))
    yield "linear, strong ridge", made(line(0.03))
    yield "15 neighbours", made(getattr(neighbors, f"KNeighbors{suffix}")(15))
    yield "boosting", made(getattr(ensemble, f"HistGradientBoosting{suffix}")(random_state=0))
    yield "extra trees", made(getattr(ensemble, f"ExtraTrees{suffix}")(**tree))
    slow = {"learning_rate": 0.05, "max_leaf_nodes": 15, "max_iter": 300, "l2_regularization": 1.0, "random_state": 0}
    yield "boosting, slow", made(getattr(ensemble, f"HistGradientBoosting{suffix}")(**slow))
    yield "forest", made(getattr(ensemble, f"RandomForest{suffix}")(**tree))
    if rows <= MOST_FOR_SVM:
        machine = svm.SVC if classes else svm.SVR
        yield "SVM", made(machine(C=1.0))
        yield "SVM, C = 10", made(machine(C=10.0))
    yield "MLP", made(getattr(neural_network, f"MLP{suffix}")((128, 128), early_stopping=True, random_state=0))


def by_folds(x: Any, y: Any, new: Any, task: str, metric: str, left: Callable[[], float]) -> Found:
    """Five-fold cross-validation over the classical rows, the cheapest first, while there is time; the best is fitted again."""
    from sklearn.model_selection import cross_val_score

    best, name, chosen, again = -np.inf, "", None, 0.0
    for title, model in portfolio(task, len(y), x):
        before = left()
        score = float(np.mean(cross_val_score(model, x, y, cv=FOLDS, scoring=SCORING[metric])))
        if score > best:
            best, name, chosen, again = score, title, model, 1.3 * (before - left()) / FOLDS
        if left() <= again:
            break
    assert chosen is not None
    return scores_of(chosen.fit(x, y), new, metric), name


def by_lccv(x: Any, y: Any, new: Any, task: str, metric: str, left: Callable[[], float]) -> Found:
    """Learning-curve cross-validation (Mohr & van Rijn 2021) over the same rows: each is dropped once its curve cannot win."""
    from lccv import lccv

    best, name, chosen = -np.inf, "", None
    encode = next(portfolio(task, len(y), x))[1][0].fit(x)  # it takes arrays alone
    x, new = np.asarray(encode.transform(x)), np.asarray(encode.transform(new))
    numbers = np.unique(y, return_inverse=True)[1] if task == "classification" else y
    for title, model in portfolio(task, len(y), x):
        bound = best if np.isfinite(best) else (0.0 if task == "classification" else -1e12)
        score = lccv(model, x, numbers, r=bound, base_scoring=SCORING[metric])[0]
        if np.isfinite(score) and score > best:
            best, name, chosen = score, title, model
        if left() <= 0:
            break
    assert chosen is not None
    return scores_of(chosen.fit(x, y), new, metric), name


def by_flaml(x: Any, y: Any, new: Any, task: str, metric: str, left: Callable[[], float]) -> Found:
    """FLAML within the time that is left, one job, all else at its defaults."""
    from flaml import AutoML

    search = AutoML()
    target = {"error": "accuracy", "auc": "roc_auc", "rmse": "rmse"}[metric]
    search.fit(x, y, task=task, metric=target, time_budget=left(), n_jobs=1, seed=0, verbose=0)
    return scores_of(search, new, metric), str(search.best_estimator)


def by_autogluon(x: Any, y: Any, new: Any, task: str, metric: str, left: Callable[[], float]) -> Found:
    """AutoGluon's quickest preset within the time that is left."""
    import tempfile

    from autogluon.tabular import TabularPredictor

    frame, rows = (f if isinstance(f, pd.DataFrame) else pd.DataFrame(f).rename(columns=str) for f in (x, new))
    target = {"error": "accuracy", "auc": "roc_auc", "rmse": "root_mean_squared_error"}[metric]
    with tempfile.TemporaryDirectory() as folder:
        predictor = TabularPredictor("target of the race", eval_metric=target, path=folder, verbosity=0)
        given = frame.assign(**{"target of the race": y})
        predictor.fit(given, time_limit=left(), presets="medium_quality", num_cpus=1, dynamic_stacking=False)
        if metric == "auc":
            return np.asarray(predictor.predict_proba(rows))[:, 1], str(predictor.model_best)
        return np.asarray(predictor.predict(rows)), str(predictor.model_best)


def by_lazypredict(x: Any, y: Any, new: Any, task: str, metric: str, left: Callable[[], float]) -> Found:
    """LazyPredict's whole list on four fifths; the first of its table on the last fifth is fitted on all. It knows no limit."""
    from lazypredict.Supervised import LazyClassifier, LazyRegressor
    from sklearn.model_selection import train_test_split

    frame, rows = (f if isinstance(f, pd.DataFrame) else pd.DataFrame(f).rename(columns=str) for f in (x, new))
    codes = np.unique(y, return_inverse=True) if task == "classification" else (None, y)
    split = train_test_split(
        frame, codes[1], test_size=0.2, random_state=0, stratify=None if codes[0] is None else codes[1]
    )
    lazy: Any = (LazyClassifier if task == "classification" else LazyRegressor)(n_jobs=1, timeout=max(left() / 4, 1))
    table = lazy.fit(split[0], split[1], split[2], split[3])[0]
    column, down = {"error": ("Accuracy", True), "auc": ("ROC AUC", True), "rmse": ("RMSE", False)}[metric]
    values = table[column].dropna()
    name = str(values.idxmax() if down else values.idxmin())
    model = lazy.models[name].fit(frame, codes[1])
    found = scores_of(model, rows, metric)
    return (codes[0][found.astype(int)] if codes[0] is not None and metric != "auc" else found), name


METHODS = {
    "cross-validation": by_folds,
    "lccv": by_lccv,
    "FLAML": by_flaml,
    "AutoGluon": by_autogluon,
    "LazyPredict": by_lazypredict,
}


def main() -> None:
    method, folder, seconds = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    warnings.simplefilter("ignore")
    x, y, new, task, metric = read(folder)
    began = time.process_time()
    guess, chosen = METHODS[method](x, y, new, task, metric, lambda: began + seconds - time.process_time())
    spent = time.process_time() - began
    guess = np.asarray(guess)
    np.save(folder / "guess.npy", guess if guess.dtype != object else guess.astype(str))
    (folder / "told.json").write_text(json.dumps({"seconds": spent, "chosen": chosen}))


if __name__ == "__main__":
    main()
