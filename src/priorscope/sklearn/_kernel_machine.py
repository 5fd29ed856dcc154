"""The infinite-width kernel as a predictor: one estimator for classes and numbers that chooses its kernel itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from priorscope.checks import FRACTION, check
from priorscope.contracts import KernelModel, Shape, kernel_matrix
from priorscope.data import aligned
from priorscope.sklearn._balanced_classes import balanced_classes
from priorscope.sklearn._budget import Progress
from priorscope.sklearn._by_task import EitherTask, classifies
from priorscope.sklearn._estimator import is_frame, only_if
from priorscope.sklearn._features import LearntFeatures
from priorscope.sklearn._fit import fitted, settings_checked
from priorscope.sklearn._loss import probabilities
from priorscope.sklearn._rows import Rows, needs_encoding
from priorscope.sklearn._save import load, save
from priorscope.sklearn._slopes import column_shares, column_slopes, input_slopes, leading
from priorscope.sklearn._spread import Spread, radius
from priorscope.threads import on_one_thread

__all__ = ["KernelMachine"]

Array = NDArray[np.float64]
DIRECTIONS = 10  # that are told at most


class KernelMachine(EitherTask):
    r"""Classification or regression with an infinite-width network: :math:`f(x) = b + K(x, X)\,\alpha`.

    K is the tangent (NTK) or the Gaussian-process kernel (NNGP) of an architecture; :math:`\alpha, b` minimise
    :math:`\sum_i w_i (y_i - f(x_i))^2 + r\,\|f\|_K^2` (kernel ridge regression with an intercept; on one-hot targets for
    classes, of which the largest output wins). With ``arch="auto"`` the architecture, its depth and nonlinearity, the kind of
    kernel, the form of the inputs and the ridge are those with the lowest leave-one-out loss, in closed form
    (:class:`priorscope.inference.RidgePath`). Arora et al. (2020, arXiv 1910.01663) found such predictors ahead of random
    forests and networks on small data.

    Args:
        arch: "auto", a name such as "fcn-3", "gap-2-erf" or "laplace", or any model with a kernel.
        task: "classification" or "regression"; None decides by ``y``: words, booleans and few integers are classes.
        kind: "ntk", "nngp" or "auto".
        ridge: r, or "auto".
        head: "regression" (squared error), or "svm" (hinge loss, for classes) on the kernel that regression chose.
        metric: what the choice goes by: "squared", "error", "balanced" (error) or "log-loss". None: "squared", which
            varies less than a count of errors and chose better on tables set aside for this (docs/papers/small-data.md).
            With "balanced" the class with the largest output over its share wins (:func:`balanced_classes`), when
            left-out rows are judged and when new ones are predicted; margins (``head="svm"``) stay as they are.
        class_weight: None, "balanced" (:math:`w_i = n / (C n_c)`) or a weight for each class.
        input_shape: of one row, such as (1, 8, 8): needed for convolutional kernels on flattened rows.
        inputs: "auto", "standard", "codes" (also one column per value of numbers with few values), "steps" (numbers by
            their quantiles, so that only order counts) or "raw". "auto" compares the first three where ``arch`` is "auto".
        whiten, flips: whether regularised ZCA and averaging over flips are tried for inputs with positions; each is kept
            where it lowers the left-out loss (Lee et al. 2020, arXiv 2007.15801).
        landmarks: how many training rows carry the solution: "auto" (all up to 5,000 rows, then 4,000 by Nyström's method,
            block by block, with what is lost told in ``report_``), "all", or a number.
        features: None, or "learn": the kernel's inputs pass through a power of the average gradient outer product of a first
            fit, round by round (:class:`priorscope.inference.FeatureMachine`), where that lowers the left-out loss: of
            Laplace and of the chosen dense kernel with ``arch="auto"``, else of ``arch``. ``features_`` tells what was learnt.
        seed: of the rows on which kernels are compared when there are many, of landmarks and of folds.
        max_seconds: of processor time for ``fit``: fewer kernels are compared, on fewer rows; then fewer landmarks, then fewer
            rows carry the solution. What was left out is told in ``report_``.
        max_memory: bytes for the matrices of landmarks: fewer landmarks where they would take more.
        progress: called with the share of the rows that landmarks have seen, and the processor seconds that are left.

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
        head: str = "regression",
        metric: str | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        input_shape: Shape | None = None,
        inputs: str = "auto",
        whiten: bool = True,
        flips: bool = True,
        landmarks: int | str = "auto",
        features: str | None = None,
        seed: int = 0,
        max_seconds: float | None = None,
        max_memory: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Keep the settings; :meth:`fit` checks them, as scikit-learn asks of estimators."""
        self.arch = arch
        self.task = task
        self.kind = kind
        self.ridge = ridge
        self.head = head
        self.metric = metric
        self.class_weight = class_weight
        self.input_shape = input_shape
        self.inputs = inputs
        self.whiten = whiten
        self.flips = flips
        self.landmarks = landmarks
        self.features = features
        self.seed = seed
        self.max_seconds = max_seconds
        self.max_memory = max_memory
        self.progress = progress

    # -- fit -----------------------------------------------------------------------------------------------------------

    @on_one_thread
    def fit(self, X: object, y: ArrayLike, groups: ArrayLike | None = None) -> KernelMachine:
        """Choose kernel and ridge, and solve for the coefficients; X may be an array, images, or a pandas frame.

        Rows of one of the ``groups`` (n,) are left out together, and so are rows that repeat each other, or nearly
        (:class:`priorscope.data.Structure`): all left-out losses, probabilities and intervals are then those of new groups.
        """
        self._with_kernel(X, y, groups)
        return self

    def _with_kernel(self, X: object, y: ArrayLike, groups: ArrayLike | None = None) -> Array | None:
        """Fit, and hand out the training kernel where the solution is by ridge on all rows."""
        settings_checked(self)
        if y is None:
            raise ValueError("KernelMachine requires y to be passed, but the target y is None.")
        y, _ = aligned(X, y)
        self.rows_: Rows | None = None
        self.features_: LearntFeatures | None = None
        self._gaussian: Spread | None = None  # of intervals, computed when they are first asked for
        if needs_encoding(X):
            check_consistent_length(X, y)
            self.rows_ = Rows.learnt(X, self.input_shape)
            rows = self.rows_(X)
            validate_data(self, X, reset=True, skip_check_array=True)
            self.n_features_in_ = len(X.columns) if is_frame(X) else rows.shape[1]
        else:
            rows, _ = validate_data(
                self, X, y, dtype=np.float64, ensure_all_finite="allow-nan", multi_output=True, ensure_min_samples=2
            )
        return fitted(self, rows, y, groups)

    def _numbers(self, X: object) -> Array:
        """Rows of numbers (n, features) as ``fit`` read them, NaN where there is a gap."""
        if self.rows_ is not None:
            return self.rows_(X)
        found: Array = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        return found

    # -- predict -------------------------------------------------------------------------------------------------------

    @on_one_thread
    def _function(self, X: object) -> Array:
        check_is_fitted(self, "dual_coef_")
        rows = self._numbers(X)
        parts = [rows[start : start + 4000] for start in range(0, len(rows), 4000)]
        found: list[Array] = []
        for part in parts:
            cross = kernel_matrix(self.model_, self.inputs_(part), self.X_fit_, self.kind_)
            found.append(np.asarray(cross) @ self.dual_coef_ + self.offset_)
        return np.concatenate(found)

    def predict(self, X: object, *, return_interval: bool = False, level: float = 0.9) -> Any:
        """The class of the largest output, or numbers shaped like the targets of ``fit``.

        With ``return_interval`` numbers come with intervals (…, 2) that are to hold the target of a new row with probability
        ``level``: the standard deviation of a Gaussian process with this kernel, times the quantile of the left-out residuals
        that covers as many of them (:class:`priorscope.sklearn.Spread`).

        Example:
            >>> rng = np.random.default_rng(0)
            >>> X = rng.normal(size=(60, 1))
            >>> machine = KernelMachine("fcn-1").fit(X, X[:, 0] + 0.1 * rng.normal(size=60))
            >>> values, intervals = machine.predict([[0.0], [50.0]], return_interval=True)
            >>> width = intervals[:, 1] - intervals[:, 0]
            >>> bool(width[0] < 0.6), bool(width[1] > 5 * width[0])
            (True, True)
        """
        f = self._function(X)
        if self.task_ == "classification":
            if return_interval:
                raise ValueError("intervals are for numbers; for classes use predict_proba.")
            shares = vars(self).get("class_shares_")  # None in files of older versions
            return self.classes_[f.argmax(1) if shares is None else balanced_classes(f, shares)]
        values = f * self.target_scale_ + self.target_mean_
        if not return_interval:
            return values[:, 0] if self._flat else values
        check("predict", "level", level, FRACTION)
        width = (
            self._spread(X)[:, None]
            * [radius(column, level, vars(self).get("blocks_")) for column in self.residuals_.T]
            * self.target_scale_
        )
        intervals = np.stack([values - width, values + width], -1)
        return (values[:, 0], intervals[:, 0]) if self._flat else (values, intervals)

    def _spread(self, X: object) -> Array:
        rows = self._numbers(X)
        if not self.whole_:
            return np.ones(len(rows))
        spread: Spread | None = self._gaussian
        if spread is None:
            self._gaussian = spread = Spread(self.model_, self.kind_, self.X_fit_, self.ridge_)
        return spread(self.inputs_(rows))

    @only_if(classifies)
    def decision_function(self, X: object) -> Array:
        """One score per class (n, classes), or for two classes the score of the second (n,)."""
        f = self._function(X)
        return f[:, 1] - f[:, 0] if len(self.classes_) == 2 else f

    @only_if(classifies)
    def predict_proba(self, X: object) -> Array:
        """Probabilities of the classes: softmax of the scores at the temperature that suits the left-out scores best."""
        f = self._function(X)
        return probabilities(f, 1.0 / self.temperature_)

    # -- features ------------------------------------------------------------------------------------------------------

    @property
    def feature_importances_(self) -> Array:
        r"""Share of each column in the squared slope of the predictor, the diagonal of :math:`E[\nabla f\nabla f^\top]`
        (Radhakrishnan et al. 2024), columns in units of their standard deviation; marks of a column are added up.

        Example:
            >>> X = np.random.default_rng(0).normal(size=(80, 3))
            >>> KernelMachine("laplace", features="learn").fit(X, X[:, 1] ** 2).feature_importances_.argmax()
            np.int64(1)
        """
        check_is_fitted(self, "dual_coef_")
        return column_shares(self.inputs_, (input_slopes(self) ** 2).mean((0, 1)))

    @property
    def directions_(self) -> Array:
        r"""Unit vectors (up to 10, columns) along which the predictor varies most, the steepest first: eigenvectors of
        :math:`E[\nabla f\nabla f^\top]` over training rows, columns in units of their standard deviation. Signs are such that
        the largest entry is positive.

        Example:
            >>> X = np.random.default_rng(0).normal(size=(80, 3))
            >>> machine = KernelMachine("laplace", features="learn").fit(X, np.sin(2 * (X[:, 0] + X[:, 1])))
            >>> bool(abs(machine.directions_[0] @ [0.5**0.5, 0.5**0.5, 0.0]) > 0.99)
            True
        """
        check_is_fitted(self, "dual_coef_")
        return leading(column_slopes(self), DIRECTIONS)

    def gradients(self, inputs: torch.Tensor) -> torch.Tensor:
        """Gradients (n, outputs, *input_shape) in rows as :meth:`predict` takes them: of numbers in the units of the targets,
        of classes of their scores. For :func:`priorscope.probes.gradient_outer_product`.

        Example:
            >>> X = np.random.default_rng(0).normal(size=(60, 2))
            >>> machine = KernelMachine("fcn-1", inputs="standard").fit(X, 3 * X[:, 0])
            >>> machine.gradients(torch.zeros(1, 2)).round().abs().tolist()
            [[[3.0, 0.0]]]
        """
        check_is_fitted(self, "dual_coef_")
        rows = self._numbers(inputs.numpy())
        slopes = column_slopes(self, self.inputs_(rows)) / self.inputs_.scale
        if self.task_ != "classification":
            slopes = slopes * np.asarray(self.target_scale_)[None, :, None]
        return torch.from_numpy(slopes).reshape(len(inputs), -1, *inputs.shape[1:])

    @property
    def column_names_(self) -> tuple[str, ...]:
        """A name for each column of numbers: that of the frame (with the word, where words became columns), or x0, x1, ….

        Example:
            >>> KernelMachine("fcn-1").fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.5, 1.5, 2.0]).column_names_
            ('x0',)
        """
        check_is_fitted(self, "dual_coef_")
        frame = None if self.rows_ is None else self.rows_.encoding.frame
        if frame is not None:
            pairs = zip(frame.names, frame.words, strict=True)
            return tuple(
                n for name, words in pairs for n in ([name] if words is None else [f"{name}={w}" for w in words])
            )
        if "feature_names_in_" in vars(self):
            return tuple(str(name) for name in self.feature_names_in_)
        return tuple(f"x{j}" for j in range(len(self.inputs_.median)))

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
        check_is_fitted(self, "dual_coef_")
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

    def __sklearn_is_fitted__(self) -> bool:
        return "dual_coef_" in vars(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = tags.regressor_tags is not None
        return tags
