"""Inputs and targets that pandas has given labels: joined by label where that is sure, refused where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from priorscope.data.arrays._plain import is_frame, is_series

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["aligned"]


def aligned(x: Any, y: Any) -> tuple[Any, tuple[str, ...]]:
    """Targets in the order of the inputs, and a note where that was not the order they came in.

    Where both are pandas objects, the same labels in another order are joined by label. Refused is what has two readings: one
    side that merely counts its rows while the other holds the same labels in another order, and labels of which only some
    are shared.

    Example:
        >>> import pandas as pd
        >>> aligned(pd.DataFrame({"a": [1, 2]}, index=["u", "v"]), pd.Series([0.2, 0.1], index=["v", "u"]))[0].tolist()
        [0.1, 0.2]
    """
    if not ((is_frame(x) or is_series(x)) and (is_frame(y) or is_series(y))) or len(x) != len(y):
        return y, ()
    if x.index.equals(y.index):
        return y, ()
    counted = [bool(_counts(values.index)) for values in (x, y)]
    shared = int(y.index.isin(x.index).sum())
    same = shared == len(y) and x.index.is_unique and y.index.is_unique
    if same and not any(counted):
        return y.loc[x.index], (f"the {len(y)} targets were joined to the inputs by the labels of their index",)
    if same or (shared and not any(counted)):
        few = "" if same else f" (only {shared} of {len(y)} are shared)"
        raise ValueError(
            f"inputs and targets have indexes that differ{few}: row 0 is {x.index[0]!r} in one and {y.index[0]!r} in the other. "
            "Join them by label with y.loc[X.index], or by position with y.to_numpy()."
        )
    return y, ("inputs and targets have indexes of other labels and were joined by position",)


def _counts(index: pd.Index[Any]) -> bool:
    """Whether an index is the one that pandas makes: 0, 1, 2 …"""
    import pandas as pd

    return index.equals(pd.RangeIndex(len(index)))
