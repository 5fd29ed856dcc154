"""Trees, support vectors and linear models as people tune them: a few settings, raced inside on rows kept aside."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from priorscope.checks import POSITIVE, check, optional
from priorscope.inference import processor_seconds
from priorscope.sklearn._by_task import EitherTask, classifies
from priorscope.sklearn._estimator import only_if
from priorscope.sklearn._inputs import Inputs
from priorscope.sklearn._race import Race, scores_of
from priorscope.sklearn._settings import KINDS, Situation
from priorscope.sklearn._targets import read_targets
from priorscope.threads import on_one_thread

__all__ = ["Tuned"]

Array = NDArray[np.float64]


class Tuned(EitherTask):
    """A classical model with settings chosen on rows kept aside, then fitted to all rows.

    ``kind`` is "boosted trees" (stopped early), "random trees", "SVM" (by landmarks beyond 6,000 rows) or "linear", or one of
    :func:`installed_kinds`. Settings are compared by squared error, of probabilities for classes (Brier 1950). Gaps may be
    NaN.

    Args:
        kind: see above.
        task: "classification" or "regression"; None decides by ``y``.
        max_seconds: of processor time: settings that do not fit are not tried, and trees are fewer (``stopped_by_``).
        random_state: of trees and of the rows kept aside.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = Tuned("linear").fit(X[::2], y[::2])
        >>> model.score(X[1::2], y[1::2]) > 0.9, len(model.losses_)
        (True, 4)
    """

    def __init__(
        self,
        kind: str = "boosted trees",
        *,
        task: str | None = None,
        max_seconds: float | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        """Keep the settings; :meth:`fit` checks them, as scikit-learn asks of estimators."""
        self.kind = kind
        self.task = task
        self.max_seconds = max_seconds
        self.random_state = random_state

    # -- fit -----------------------------------------------------------------------------------------------------------

    @on_one_thread
    def fit(self, X: ArrayLike, y: ArrayLike) -> Tuned:
        """Race the settings, and fit the best to all rows; ``losses_`` are those of the settings that were tried."""
        began = processor_seconds()
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}; got {self.kind!r}.")
        if self.task not in (None, "classification", "regression"):
            raise ValueError(f"task must be 'classification', 'regression' or None; got {self.task!r}.")
        check("Tuned", "max_seconds", self.max_seconds, optional(POSITIVE))
        if y is None:
            raise ValueError("Tuned requires y to be passed, but the target y is None.")
        rows, _ = validate_data(
            self, X, y, dtype=np.float64, ensure_all_finite="allow-nan", multi_output=True, ensure_min_samples=2
        )
        given = read_targets(y, self.task)
        state = self.random_state
        seed = int(state) if isinstance(state, int | np.integer) else int(check_random_state(state).randint(2**31 - 1))
        self.inputs_ = Inputs.learnt(rows, (rows.shape[1],))
        rows = (rows - self.inputs_.mean) / self.inputs_.scale  # trees cut float32: units and offsets would cost digits
        kind = KINDS[self.kind]
        here = Situation(len(rows), rows.shape[1], 0 if given.labels is None else len(given.classes), seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of solvers that stop early; the loss says how well they do
            race = Race(kind, rows, given, here, None if self.max_seconds is None else began + self.max_seconds)
            self.estimator_ = race.run()
        self.losses_, self.stopped_by_, self.beta_ = race.losses, race.ended, race.beta
        self.task_ = given.task
        if given.labels is not None:
            self.classes_ = given.classes
        else:
            self.target_mean_, self.target_scale_, self._flat = given.mean, given.scale, given.flat
        return self

    # -- predict -------------------------------------------------------------------------------------------------------

    def _rows(self, X: ArrayLike) -> Array:
        check_is_fitted(self, "estimator_")
        found: Array = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        return (found - self.inputs_.mean) / self.inputs_.scale

    @on_one_thread
    def predict(self, X: ArrayLike) -> NDArray[np.generic]:
        """Classes, or numbers shaped like the targets of ``fit``."""
        rows = self._rows(X)
        found = self.estimator_.predict(rows)
        if self.task_ == "classification":
            classes: NDArray[np.generic] = self.classes_[found.astype(int)]
            return classes
        values: Array = found.astype(np.float64).reshape(len(found), -1) * self.target_scale_ + self.target_mean_
        return values[:, 0] if self._flat else values

    @only_if(classifies)
    def predict_proba(self, X: ArrayLike) -> Array:
        """Probabilities of the classes; scores of margins pass a softmax that suits the rows kept aside best."""
        rows = self._rows(X)
        return scores_of(self.estimator_, rows, self.beta_)

    def __sklearn_is_fitted__(self) -> bool:
        return "estimator_" in vars(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = tags.regressor_tags is not None
        return tags
