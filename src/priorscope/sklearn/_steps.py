"""Steps before an estimator: rows of any form as numbers, and large images or signals averaged."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data
from torch.nn import functional as F

from priorscope.checks import SHAPE, check, optional
from priorscope.contracts import Shape
from priorscope.data import Encoding

__all__ = ["Encode", "Rescale", "Shrink"]


class Encode(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Whatever a user calls X as rows of numbers (n, features): frames one-hot, gaps filled in, images channels first.

    What was decided on the training rows (words, medians, axes) holds for all later rows; see
    :class:`priorscope.data.Encoding`. ``input_shape`` is that of one input, for rows that are flattened images.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": [1.0, 2.0, None], "kind": ["a", "b", "a"]})
        >>> Encode().fit(frame).transform(frame).tolist()
        [[1.0, 1.0, 0.0], [2.0, 0.0, 1.0], [1.5, 1.0, 0.0]]
    """

    def __init__(self, input_shape: Shape | None = None) -> None:
        self.input_shape = input_shape

    def fit(self, X: Any, y: ArrayLike | None = None) -> Encode:
        """Decide how rows are read."""
        check("Encode", "input_shape", self.input_shape, optional(SHAPE))
        self.encoding_ = Encoding.learn(X, shape=self.input_shape)
        self.n_features_in_ = int(np.prod(self.encoding_.given))
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Rows of numbers, read as the training rows were."""
        check_is_fitted(self)
        found: NDArray[np.float64] = self.encoding_(X).flatten(1).numpy()
        return found

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.three_d_array = True
        return tags


class Shrink(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Images or signals, given as flat rows, averaged over areas from ``input_shape`` to ``shape``; nothing is learnt.

    Example:
        >>> Shrink((1, 4), (1, 2)).fit_transform([[1.0, 3.0, 5.0, 7.0]]).tolist()
        [[2.0, 6.0]]
    """

    def __init__(self, input_shape: Shape, shape: Shape) -> None:
        self.input_shape = input_shape
        self.shape = shape

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Shrink:
        """Check that rows have the numbers of ``input_shape``."""
        check("Shrink", "input_shape", self.input_shape, SHAPE)
        check("Shrink", "shape", self.shape, SHAPE)
        if len(self.shape) != len(self.input_shape) or self.shape[0] != self.input_shape[0]:
            raise ValueError(f"Shrink keeps channels and axes; got {self.input_shape} and {self.shape}.")
        rows = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        if rows.shape[1] != int(np.prod(self.input_shape)):
            raise ValueError(
                f"input_shape {tuple(self.input_shape)} needs {int(np.prod(self.input_shape))} features per row; X has "
                f"{rows.shape[1]}."
            )
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Averaged rows."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        x = torch.from_numpy(np.array(rows)).reshape(len(rows), *self.input_shape)
        size = tuple(self.shape[1:])
        small = F.adaptive_avg_pool2d(x, size) if len(size) == 2 else F.adaptive_avg_pool1d(x, size)
        found: NDArray[np.float64] = small.flatten(1).numpy()
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return "n_features_in_" in vars(self)


class Rescale(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Images or series, given as flat rows, minus ``shift`` and over ``scale``, one number per channel; nothing is learnt.

    Rows are then the same numbers whatever rows are fitted with them, so that a kernel between two rows stays what it is.

    Example:
        >>> Rescale((2, 2), shift=(1.0, 0.0), scale=(2.0, 1.0)).fit_transform([[3.0, 1.0, 5.0, 6.0]]).tolist()
        [[1.0, 0.0, 5.0, 6.0]]
    """

    def __init__(self, input_shape: Shape, shift: tuple[float, ...], scale: tuple[float, ...]) -> None:
        self.input_shape = input_shape
        self.shift = shift
        self.scale = scale

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Rescale:
        """Check that rows have the numbers of ``input_shape`` and that there is a shift and a scale for each channel."""
        check("Rescale", "input_shape", self.input_shape, SHAPE)
        rows = validate_data(self, X, dtype=np.float64)
        channels = self.input_shape[0]
        if rows.shape[1] != int(np.prod(self.input_shape)) or {len(self.shift), len(self.scale)} != {channels}:
            raise ValueError(
                f"Rescale wants rows of {int(np.prod(self.input_shape))} numbers, {channels} shifts and {channels} scales; got "
                f"{rows.shape[1]}, {len(self.shift)} and {len(self.scale)}."
            )
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Rescaled rows."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64).reshape(-1, self.input_shape[0], self._positions)
        found: NDArray[np.float64] = (rows - np.array(self.shift)[:, None]) / np.array(self.scale)[:, None]
        return found.reshape(len(found), -1)

    @property
    def _positions(self) -> int:
        return int(np.prod(self.input_shape[1:]))

    def __sklearn_is_fitted__(self) -> bool:
        return "n_features_in_" in vars(self)
