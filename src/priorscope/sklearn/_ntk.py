"""scikit-learn's face of infinite-width networks: estimators for pipelines, grid searches and cross-validation."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data

from priorscope.checks import NOT_NEGATIVE, SHAPE, check, number, optional
from priorscope.contracts import KernelModel, kernel_matrix, settled
from priorscope.inference import Schedule, Spectral
from priorscope.models import fcn

__all__ = ["NTKClassifier", "NTKRegressor"]


class _KernelEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """What both estimators share: the kernel of an architecture, solved once, in float64."""

    def __init__(
        self,
        arch: KernelModel | None = None,
        ridge: float = 1e-6,
        time: float | None = None,
        kind: str = "ntk",
        input_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.arch = arch
        self.ridge = ridge
        self.time = time
        self.kind = kind
        self.input_shape = input_shape

    def _inputs(self, X: NDArray[np.float64]) -> torch.Tensor:
        """Rows as inputs of the architecture: images when ``input_shape`` says so."""
        x = torch.tensor(X, dtype=torch.float64)  # a copy: X may be read-only
        if self.input_shape is None:
            return x
        if int(np.prod(self.input_shape)) != x.shape[1]:
            raise ValueError(
                f"input_shape {tuple(self.input_shape)} needs {int(np.prod(self.input_shape))} features per row; "
                f"X has {x.shape[1]}. Reshape or drop columns, or pass another input_shape."
            )
        return x.reshape(len(x), *self.input_shape)

    def _gram(self, x1: torch.Tensor, x2: torch.Tensor | None = None) -> torch.Tensor:
        return kernel_matrix(self.arch_, x1, x2, self.kind)

    def _solve(self, X: NDArray[np.float64], targets: NDArray[np.float64]) -> None:
        if self.kind not in ("ntk", "nngp"):
            raise ValueError(f"kind must be 'ntk' or 'nngp'; got {self.kind!r}.")
        who = type(self).__name__
        check(who, "ridge", self.ridge, NOT_NEGATIVE)
        check(who, "time", self.time, optional(number(least=0, infinite=True)))
        check(who, "input_shape", self.input_shape, optional(SHAPE))
        schedule = Schedule(time=self.time)
        self.X_fit_ = self._inputs(X)
        self.arch_ = settled(fcn(2, bias_variance=0.1) if self.arch is None else self.arch, self.X_fit_)
        spectral = Spectral(self._gram(self.X_fit_), ridge=self.ridge, endless=schedule.endless)
        self.jitter_ = spectral.jitter
        self.eigenvalues_ = spectral.eigenvalues.numpy()
        self.offset_ = targets.mean(0)
        self.dual_coef_ = spectral.solve(torch.from_numpy(targets - self.offset_), schedule).numpy()

    def _function(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        cross = self._gram(self._inputs(rows), self.X_fit_)
        found: NDArray[np.float64] = cross.numpy() @ self.dual_coef_ + self.offset_
        return found


class NTKRegressor(RegressorMixin, _KernelEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    r"""Regression with an infinite-width network: :math:`f(x) = \bar y + K(x,X)(K + r)^{-1}(y - \bar y)`.

    Args: ``arch`` an architecture (None: two hidden ReLU layers with biases of variance 0.1); ``ridge`` r on the
    kernel's diagonal; ``time`` of gradient flow (None: for ever); ``kind`` "ntk" or "nngp"; ``input_shape`` of one row,
    such as (1, 8, 8), for architectures on images.

    Example:
        >>> X = np.linspace(-1, 1, 20)[:, None]
        >>> NTKRegressor(ridge=1e-4).fit(X, X[:, 0] ** 2).score(X, X[:, 0] ** 2) > 0.99
        True
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> NTKRegressor:
        """Solve for the coefficients of the training rows."""
        rows, values = validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=2
        )
        self._flat = np.ndim(values) == 1
        self._solve(rows, np.asarray(values, dtype=np.float64).reshape(len(values), -1))
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predictions, shaped like the targets of ``fit``."""
        f = self._function(X)
        return f[:, 0] if self._flat else f

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class NTKClassifier(ClassifierMixin, _KernelEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Classification with an infinite-width network: regression on centred one-hot targets, the largest output wins.

    Arguments as in :class:`NTKRegressor`.

    Example:
        >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0], [0.1, 1.0], [1.0, 0.1]]), np.array(["a", "b", "a", "b"])
        >>> NTKClassifier().fit(X, y).predict([[0.0, 2.0]]).tolist()
        ['a']
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> NTKClassifier:
        """Solve for the coefficients of the training rows."""
        rows, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(labels)
        self.classes_ = unique_labels(labels)
        if len(self.classes_) < 2:
            raise ValueError("NTKClassifier needs at least two classes; got 1 class. Add samples of another class.")
        one_hot = (np.asarray(labels)[:, None] == self.classes_[None]).astype(np.float64)
        self._solve(rows, one_hot)
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """One score per class (n, classes), or for two classes the score of the second (n,)."""
        f = self._function(X)
        return f[:, 1] - f[:, 0] if len(self.classes_) == 2 else f

    def predict(self, X: ArrayLike) -> NDArray[np.generic]:
        """The class of the largest score."""
        f = self._function(X)  # first: it says so when there was no fit
        found: NDArray[np.generic] = self.classes_[f.argmax(1)]
        return found
