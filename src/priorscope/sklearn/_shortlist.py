"""A list of predictors: fit keeps the one that does best on left-out rows. This is what a profile builds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import roc_auc_score
from sklearn.utils import Tags, assert_all_finite
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from priorscope.checks import SEED, SHAPE, check, optional, whole
from priorscope.contracts import Shape
from priorscope.data import Encoding, Structure
from priorscope.sklearn._averaged import Averaged, averaged_scores, not_told_apart
from priorscope.sklearn._balanced_decision import BalancedDecision
from priorscope.sklearn._by_task import EitherTask, classifies
from priorscope.sklearn._estimator import gives_probabilities, only_if
from priorscope.sklearn._folds import fit_by_groups, folds_of
from priorscope.sklearn._left_out import closed_form, may_be_closed, refitted, scores_of
from priorscope.sklearn._loss import METRICS, Problem, losses, probabilities, temperature
from priorscope.sklearn._targets import Targets, read_targets
from priorscope.threads import on_one_thread

__all__ = ["Contender", "Shortlist", "ShortlistReport"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Contender:
    """One member of a shortlist with its loss on left-out rows (None where there was nothing to choose from).

    Example:
        >>> Contender("svm", 0.05, 0.01, "refitted").score
        0.05
    """

    name: str
    score: float | None
    error: float | None  # standard error over rows
    how: str  # "closed form", "refitted" or "averaged"


@dataclass(frozen=True)
class ShortlistReport:
    """What a shortlist chose and how close the others came, on how many rows and folds.

    Example:
        >>> both = (Contender("fcn-3", 0.04, 0.01, "closed form"), Contender("svm", 0.05, 0.01, "refitted"))
        >>> print(ShortlistReport("fcn-3", both, "error", 300, 5))
        fcn-3 was chosen: 4.0 % wrong on left-out rows (300 rows, 5 folds). The others: svm 5.0 % wrong.
    """

    chosen: str
    contenders: tuple[Contender, ...]
    metric: str
    rows: int
    folds: int
    notes: tuple[str, ...] = field(default=())

    def table(self) -> pd.DataFrame:
        """One row per member, best first."""
        made = [{**vars(c), "metric": self.metric, "chosen": c.name == self.chosen} for c in self.contenders]
        return pd.DataFrame(made)

    def __str__(self) -> str:
        best = self.contenders[0]
        if best.score is None:
            text = f"{self.chosen} was fitted to {self.rows} rows; there was nothing to choose from."
        else:
            others = ", ".join(
                f"{c.name} {_told(c.score, self.metric)}" for c in self.contenders[1:] if c.score is not None
            )
            rest = "Each alone" if best.how == "averaged" else "The others"
            text = (
                f"{self.chosen} was chosen: {_told(best.score, self.metric)} on left-out rows ({self.rows:,} rows, "
                f"{self.folds} folds). {rest}: {others}."
            )
        return "\n".join([text, *(f"- {note}" for note in self.notes)])


class Shortlist(EitherTask):
    """An estimator that chooses among its members at ``fit``, by cross-validation on all the rows it is given.

    All members are measured on the same folds: kernel machines in closed form, the others fitted again without each fold.
    The one with the lowest loss is fitted to all rows, or, where several cannot be told apart from it, their average
    (:class:`Averaged`); ``report_`` tells the choice. Members take rows of numbers; X may be anything that
    :class:`priorscope.data.Encoding` reads: arrays, images, frames with words and gaps.

    Args:
        members: pairs of a name and an estimator, the favourite first (it wins ties).
        task: "classification" or "regression"; None decides by ``y``.
        metric: "error", "balanced", "log-loss", "auc" or "squared"; None: "error" for classes, "squared" for numbers. By
            "balanced" members predict as :class:`BalancedDecision` does, the best of them alone.
        average: how many members that cannot be told apart from the best are averaged with it, at most; 1: the best alone.
        folds: of the cross-validation.
        input_shape: of one input, for rows that are flattened images or signals.
        seed: of the folds.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = load_iris(return_X_y=True)
        >>> members = [("kernel", ps.KernelMachine("fcn-1")), ("linear", LogisticRegression(max_iter=500))]
        >>> model = Shortlist(members).fit(X[::2], y[::2])
        >>> model.score(X[1::2], y[1::2]) > 0.9, len(model.report_.contenders)  # the two, and their average
        (True, 3)
    """

    def __init__(
        self,
        members: Sequence[tuple[str, BaseEstimator]],
        *,
        task: str | None = None,
        metric: str | None = None,
        average: int = 5,
        folds: int = 5,
        input_shape: Shape | None = None,
        seed: int = 0,
    ) -> None:
        """Keep the settings; :meth:`fit` checks them, as scikit-learn asks of estimators."""
        self.members = members
        self.task = task
        self.metric = metric
        self.average = average
        self.folds = folds
        self.input_shape = input_shape
        self.seed = seed

    @on_one_thread
    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Shortlist:
        """Measure every member on left-out rows, keep the best, and fit it to all rows.

        Rows of one of the ``groups`` (n,), and rows that repeat each other or nearly, are left out together.
        """
        self._check_settings()
        if y is None:
            raise ValueError("Shortlist requires y to be passed, but the target y is None.")
        _check_feature_names(self, X, reset=True)
        self.encoding_ = Encoding.learn(X, shape=self.input_shape)
        self.n_features_in_ = int(np.prod(self.encoding_.given)) if self.encoding_.frame is None else X.shape[1]
        rows = self.encoding_(X).flatten(1).numpy()
        if len(rows) < 2:
            raise ValueError(f"Shortlist needs at least 2 samples; got n_samples = {len(rows)}, 1 sample.")
        if np.asarray(y).dtype.kind == "f":
            assert_all_finite(np.asarray(y), input_name="y")
        given = read_targets(y, self.task)
        values = _plain(y, given)
        if len(rows) != len(values):
            raise ValueError(f"X and y must have as many rows as each other; got {len(rows)} and {len(values)}.")
        self.task_ = given.task
        if given.labels is not None:
            self.classes_ = given.classes
        metric = self.metric or ("squared" if given.labels is None else "error")
        structure = Structure.of(rows, given.scaled if given.labels is None else given.labels, groups=groups)
        blocks = None if structure.single or structure.n_blocks == 1 else structure.blocks
        known = None if groups is None else structure.blocks
        folds = folds_of(values, self.folds, given.labels is not None, self.seed, blocks)
        members = self._deciding(metric)
        if len(members) == 1:
            name, estimator = members[0]
            self.estimator_ = fit_by_groups(clone(estimator), rows, values, known)
            contenders: tuple[Contender, ...] = (Contender(name, None, None, "not compared"),)
        else:
            name, contenders = self._choose(rows, values, given, folds, metric, blocks, known)
        notes = (*self.encoding_.notes, *structure.notes)
        self.report_ = ShortlistReport(name, contenders, metric, len(rows), len(folds), notes)
        self._calibrate(rows, values, given, folds, known)
        return self

    def _check_settings(self) -> None:
        if self.task not in (None, "classification", "regression"):
            raise ValueError(f"task must be 'classification', 'regression' or None; got {self.task!r}.")
        if self.metric not in (None, "auc", *METRICS):
            raise ValueError(
                f"metric must be one of {', '.join(map(repr, ('auc', *METRICS)))} or None; got {self.metric!r}."
            )
        names = [name for name, _ in self.members]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"a Shortlist needs members of different names; got {names}.")
        check("Shortlist", "average", self.average, whole())
        check("Shortlist", "folds", self.folds, whole(2))
        check("Shortlist", "input_shape", self.input_shape, optional(SHAPE))
        check("Shortlist", "seed", self.seed, SEED)

    def _deciding(self, metric: str) -> list[tuple[str, BaseEstimator]]:
        """The members as they predict: by balanced error every one holds its probabilities against the classes' shares."""
        if metric != "balanced":
            return list(self.members)
        return [(n, e if isinstance(e, BalancedDecision) else BalancedDecision(e)) for n, e in self.members]

    def _choose(
        self,
        rows: Array,
        values: NDArray[np.generic],
        given: Targets,
        folds: list[NDArray[np.int64]],
        metric: str,
        blocks: NDArray[np.int64] | None,
        groups: NDArray[np.int64] | None,
    ) -> tuple[str, tuple[Contender, ...]]:
        """Measure the members; the best one, or an average, is left fitted in ``estimator_``."""
        problem = Problem(given.scaled, given.labels, np.ones(len(rows)), blocks)
        classes = None if problem.labels is None else self.classes_
        found: list[tuple[Contender, BaseEstimator | None]] = []
        every: list[Array] = []
        members = self._deciding(metric)
        for name, estimator in members:
            fitted, scores, how = None, None, "closed form"
            if may_be_closed(estimator):
                fitted, scores = closed_form(estimator, rows, values, problem.targets, folds, groups)
            if scores is None:
                how = "refitted"
                scores = refitted(estimator, rows, values, folds, classes, groups)
                scores = scores if classes is not None else (scores - given.mean) / given.scale
            loss, error = _loss(scores, problem, metric)
            found.append((Contender(name, loss, error, how), fitted))
            every.append(scores)
        order = sorted(range(len(found)), key=lambda i: (found[i][0].score, i))
        contenders = tuple(found[i][0] for i in order)

        def whole_fit(i: int) -> BaseEstimator:
            made = found[i][1]
            return made if made is not None else fit_by_groups(clone(members[i][1]), rows, values, groups)

        near = not_told_apart(every, problem, self.average) if metric != "balanced" else order[:1]
        if len(near) < 2:
            self.estimator_ = whole_fit(order[0])
            return contenders[0].name, contenders
        scores, betas = averaged_scores([every[i] for i in near], problem.labels)
        self.estimator_ = Averaged([whole_fit(i) for i in near], betas, classes)
        *first, last = [found[i][0].name for i in near]
        name = f"the average of {', '.join(first)} and {last}"
        return name, (Contender(name, *_loss(scores, problem, metric), "averaged"), *contenders)

    def _calibrate(
        self,
        rows: Array,
        values: NDArray[np.generic],
        given: Targets,
        folds: list[NDArray[np.int64]],
        groups: NDArray[np.int64] | None,
    ) -> None:
        """For classes and a member without probabilities: the temperature at which its left-out scores are best."""
        self._beta = None
        if given.labels is None or isinstance(self.estimator_, Averaged) or gives_probabilities(self.estimator_):
            return
        scores = refitted(clone(self.estimator_), rows, values, folds, self.classes_, groups)
        self._beta = temperature(scores, given.labels, np.ones(len(rows)))

    def _rows(self, X: Any) -> Array:
        check_is_fitted(self)
        _check_feature_names(self, X, reset=False)
        found: Array = self.encoding_(X).flatten(1).numpy()
        return found

    def predict(self, X: Any) -> NDArray[np.generic]:
        """Classes or numbers, by the member that was chosen."""
        rows = self._rows(X)  # first: it says so when there was no fit
        found: NDArray[np.generic] = self.estimator_.predict(rows)
        return found

    @only_if(classifies)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes; for a member without, a softmax of its scores, calibrated on left-out rows."""
        rows = self._rows(X)
        if self._beta is None:
            found: Array = self.estimator_.predict_proba(rows)
            return found
        return probabilities(scores_of(self.estimator_, rows, self.classes_), self._beta)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.three_d_array = tags.input_tags.sparse = True
        return tags


def _told(score: float, metric: str) -> str:
    """A left-out loss as one reads it; squared errors of numbers are in units of their variance."""
    if metric in ("error", "balanced"):
        return f"{100 * score:.1f} % wrong{', classes counted alike' if metric == 'balanced' else ''}"
    return (
        f"AUC {1 - score:.3f}"
        if metric == "auc"
        else f"{'squared error' if metric == 'squared' else metric} {score:.3g}"
    )


def _plain(y: ArrayLike, given: Targets) -> NDArray[np.generic]:
    """Targets as members take them: the classes as they came, or numbers."""
    if given.labels is not None:
        return given.classes[given.labels]
    return np.asarray(y, dtype=np.float64)


def _loss(scores: Array, problem: Problem, metric: str) -> tuple[float, float]:
    """Loss of left-out scores, and its standard error over rows."""
    if metric == "auc" and problem.labels is not None:
        p = probabilities(scores, 1.0)
        binary = scores.shape[1] == 2
        area = roc_auc_score(problem.labels, p[:, 1] if binary else p, multi_class="ovr")
        return 1 - float(area), float(np.sqrt(area * (1 - area) / len(scores)))
    each = losses(scores, problem, metric)
    return float(each.mean()), problem.uncertainty(each)
