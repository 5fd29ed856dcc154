"""What a user hands over as rows, as numbers (n, features): arrays by scikit-learn's rules, frames and images by ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorscope.contracts import Shape
from priorscope.data import Encoding
from priorscope.sklearn._estimator import is_frame

__all__ = ["Rows", "needs_encoding"]

Array = NDArray[np.float64]


def needs_encoding(X: Any) -> bool:
    """Whether these are a frame with columns that are no numbers, or inputs with several axes."""
    if is_frame(X):
        return any(getattr(kind, "kind", "O") not in "biuf" for kind in X.dtypes)
    return getattr(X, "ndim", 2) > 2


@dataclass(frozen=True)
class Rows:
    """Rows read through an encoding that was learnt from the training rows.

    Example:
        >>> import pandas as pd
        >>> rows = Rows.learnt(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), None)
        >>> rows(pd.DataFrame({"b": ["y"], "a": [5.0]})).tolist()
        [[5.0, 0.0, 1.0]]
    """

    encoding: Encoding

    @classmethod
    def learnt(cls, X: Any, input_shape: Shape | None) -> Rows:
        """Decide on these rows."""
        return cls(Encoding.learn(X, shape=input_shape))

    @property
    def shape(self) -> Shape:
        """The shape of one input."""
        return tuple(self.encoding.shape)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided."""
        return self.encoding.notes

    @property
    def words(self) -> tuple[str, ...]:
        """Columns of a frame that hold words."""
        coding = self.encoding.frame
        return (
            () if coding is None else tuple(n for n, w in zip(coding.names, coding.words, strict=True) if w is not None)
        )

    def __call__(self, X: Any) -> Array:
        found: Array = self.encoding(X).reshape(len(X), -1).numpy()
        return found

    def unknown(self, X: Any) -> tuple[str, ...]:
        """One note per column of words that holds words which no training row had; they count as none of the known ones."""
        coding = self.encoding.frame
        if coding is None:
            return ()
        notes = []
        for name, words in zip(coding.names, coding.words, strict=True):
            if words is None or name not in X.columns:
                continue
            cells = X[name].dropna().astype(str).str.strip()
            strange = cells[~cells.isin([*words, ""])]
            if len(strange):
                shown = ", ".join(repr(word) for word in strange.unique()[:3])
                notes.append(
                    f"column {name!r}: {len(strange)} of {len(X)} rows hold words no training row had, such as {shown}"
                )
        return tuple(notes)
