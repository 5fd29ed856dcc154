"""The infinite-width kernel as a predictor: one estimator for classes and numbers that chooses its kernel itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from priorscope.checks import NOT_NEGATIVE, SEED, SHAPE, check, optional, word_or
from priorscope.contracts import KernelModel, Shape, kernel_matrix, name_of, require, settled
from priorscope.sklearn._inputs import Inputs
from priorscope.sklearn._loss import METRICS, Problem, probabilities, temperature
from priorscope.sklearn._names import architecture, default_names
from priorscope.sklearn._report import MachineReport
from priorscope.sklearn._save import load, save
from priorscope.sklearn._search import search
from priorscope.sklearn._targets import Targets, class_weights, read_targets

__all__ = ["KernelMachine"]


def _classifies(machine: KernelMachine) -> bool:
    task = getattr(machine, "task_", machine.task)
    if task == "regression":
        raise AttributeError("a KernelMachine for numbers has no classes: predict_proba is for classification.")
    return True


class KernelMachine(BaseEstimator):  # type: ignore[misc]
    r"""Classification or regression with an infinite-width network: :math:`f(x) = b + K(x, X)\,\alpha`.

    K is the tangent (NTK) or the Gaussian-process kernel (NNGP) of an architecture; :math:`\alpha, b` minimise
    :math:`\sum_i w_i (y_i - f(x_i))^2 + r\,\|f\|_K^2` (kernel ridge regression with an intercept; on one-hot targets for
    classes, of which the largest output wins). With ``arch="auto"`` the architecture, its depth and nonlinearity, the kind of
    kernel and the ridge are those with the lowest leave-one-out loss, in closed form (:class:`priorscope.inference.RidgePath`).
    Arora et al. (2020, arXiv 1910.01663) found such predictors ahead of random forests and networks on small data.

    Args:
        arch: "auto", a name such as "fcn-3" or "gap-2-erf", or any model with a kernel.
        task: "classification" or "regression"; None decides by ``y``: words, booleans and few integers are classes.
        kind: "ntk", "nngp" or "auto".
        ridge: r, or "auto".
        metric: what the choice goes by: "error", "balanced" (error), "log-loss" or "squared"; None: "error" for classes.
        class_weight: None, "balanced" (:math:`w_i = n / (C n_c)`) or a weight for each class.
        input_shape: of one row, such as (1, 8, 8): needed for convolutional kernels.
        standardise: whether inputs are standardised, by the training rows.
        seed: of the rows on which many kernels are compared when there are many rows.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> machine = KernelMachine().fit(X[::2], y[::2])
        >>> machine.score(X[1::2], y[1::2]) > 0.9, machine.report_.task
        (True, 'classification')
    """

    def __init__(
        self,
        arch: str | KernelModel = "auto",
        *,
        task: str | None = None,
        kind: str = "auto",
        ridge: float | str = "auto",
        metric: str | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        input_shape: Shape | None = None,
        standardise: bool = True,
        seed: int = 0,
    ) -> None:
        self.arch = arch
        self.task = task
        self.kind = kind
        self.ridge = ridge
        self.metric = metric
        self.class_weight = class_weight
        self.input_shape = input_shape
        self.standardise = standardise
        self.seed = seed

    # -- fit -----------------------------------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike) -> KernelMachine:
        """Choose kernel and ridge, and solve for the coefficients of the training rows."""
        self._check_settings()
        if y is None:
            raise ValueError("KernelMachine requires y to be passed, but the target y is None.")
        rows = self._rows(X, y)
        given = read_targets(y, self.task)
        shape = self._shape(rows.shape[1])
        self.inputs_ = Inputs.learnt(rows, shape, self.standardise)
        x = self.inputs_(rows)
        models = {name: settled(model, x) for name, model in self._models(shape).items()}
        kinds = ("ntk", "nngp") if self.kind == "auto" else (self.kind,)
        metric = self.metric or ("error" if given.labels is not None else "squared")
        problem = Problem(given.scaled, given.labels, class_weights(given, self.class_weight))
        ridge = None if self.ridge == "auto" else float(self.ridge)
        best, rivals, notes = search(models, x, problem, kinds=kinds, metric=metric, ridge=ridge, seed=self.seed)
        self.model_, self.kind_, self.ridge_ = models[best.rival.name], best.rival.kind, best.rival.ridge
        assert best.path is not None
        assert best.kernel is not None
        self.X_fit_ = x
        self.dual_coef_ = best.path.solve(given.scaled, self.ridge_)
        self.offset_ = best.path.intercept(given.scaled, best.kernel @ self.dual_coef_)
        self._keep(given, best.scores, problem)
        self.report_ = MachineReport(given.task, best.rival, rivals, (*given.notes, *notes))
        return self

    def _check_settings(self) -> None:
        who = "KernelMachine"
        if self.task not in (None, "classification", "regression"):
            raise ValueError(f"task must be 'classification', 'regression' or None; got {self.task!r}.")
        if self.kind not in ("auto", "ntk", "nngp"):
            raise ValueError(f"kind must be 'ntk', 'nngp' or 'auto'; got {self.kind!r}.")
        if self.metric is not None and self.metric not in METRICS:
            raise ValueError(f"metric must be one of {', '.join(map(repr, METRICS))} or None; got {self.metric!r}.")
        check(who, "ridge", self.ridge, word_or(NOT_NEGATIVE, "auto"))
        check(who, "input_shape", self.input_shape, optional(SHAPE))
        check(who, "seed", self.seed, SEED)

    def _rows(self, X: ArrayLike, y: ArrayLike | None = None) -> NDArray[np.float64]:
        """Rows of numbers (n, features), NaN where there is a gap."""
        if y is None:
            return validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        rows, _ = validate_data(
            self, X, y, dtype=np.float64, ensure_all_finite="allow-nan", multi_output=True, ensure_min_samples=2
        )
        return rows

    def _shape(self, n_features: int) -> Shape:
        if self.input_shape is None:
            return (n_features,)
        if int(np.prod(self.input_shape)) != n_features:
            raise ValueError(
                f"input_shape {tuple(self.input_shape)} needs {int(np.prod(self.input_shape))} features per row; X has "
                f"{n_features}. Reshape or drop columns, or pass another input_shape."
            )
        return tuple(int(s) for s in self.input_shape)

    def _models(self, shape: Shape) -> dict[str, KernelModel]:
        """The models to compare by name: those of "auto", or one."""
        if isinstance(self.arch, str):
            names = default_names(shape) if self.arch == "auto" else (self.arch,)
            return {name: architecture(name, shape) for name in names}
        model = require(
            self.arch, KernelModel, "an architecture by name, or a model with a kernel", "Try 'auto', 'fcn-3' or an Architecture."
        )  # fmt: skip
        return {name_of(model): model}

    def _keep(self, given: Targets, scores: NDArray[np.float64], problem: Problem) -> None:
        """What later predictions need of the targets: classes and temperature, or the unit."""
        self.task_ = given.task
        if given.labels is not None:
            self.classes_ = given.classes
            self.temperature_ = 1.0 / temperature(scores, given.labels, problem.weights)
        else:
            self.target_mean_, self.target_scale_, self._flat = given.mean, given.scale, given.flat

    # -- predict -------------------------------------------------------------------------------------------------------

    def _function(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self)
        x = self.inputs_(self._rows(X))
        cross = kernel_matrix(self.model_, x, self.X_fit_, self.kind_)
        found: NDArray[np.float64] = cross.numpy() @ self.dual_coef_ + self.offset_
        return found

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of the largest output, or the predicted numbers, shaped like the targets of ``fit``."""
        f = self._function(X)
        if self.task_ == "classification":
            return self.classes_[f.argmax(1)]
        values = f * self.target_scale_ + self.target_mean_
        return values[:, 0] if self._flat else values

    @available_if(_classifies)
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """One score per class (n, classes), or for two classes the score of the second (n,)."""
        f = self._function(X)
        return f[:, 1] - f[:, 0] if len(self.classes_) == 2 else f

    @available_if(_classifies)
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of the classes: softmax of the scores at the temperature that suits the left-out scores best."""
        f = self._function(X)
        return probabilities(f, 1.0 / self.temperature_)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Accuracy for classes, R² for numbers."""
        guess = self.predict(X)
        return float(accuracy_score(y, guess) if self.task_ == "classification" else r2_score(y, guess))

    # -- files ---------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the fitted machine to one ``.npz`` file, without pickle.

        Architectures of this library go into the file; a kernel of your own does not, and is passed to :meth:`load`.

        Example:
            >>> import tempfile
            >>> machine = KernelMachine("fcn-1").fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.5, 1.5, 2.0])
            >>> file = machine.save(Path(tempfile.mkdtemp()) / "machine.npz")
            >>> np.allclose(KernelMachine.load(file).predict([[1.5]]), machine.predict([[1.5]]))
            True
        """
        check_is_fitted(self)
        return save(self, Path(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, arch: KernelModel | None = None) -> KernelMachine:
        """A saved machine; ``arch`` is the model where it was one of your own. A damaged or foreign file is refused.

        Example:
            >>> KernelMachine.load("nowhere.npz")
            Traceback (most recent call last):
            ...
            FileNotFoundError: no file nowhere.npz; a kernel machine is saved by save(path) or priorscope fit.
        """
        return load(cls(), Path(path), arch)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        task = getattr(self, "task_", self.task)
        if task == "classification":
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        elif task == "regression":
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
            tags.target_tags.multi_output = True
        return tags
