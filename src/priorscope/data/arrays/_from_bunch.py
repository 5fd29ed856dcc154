"""Data sets from a scikit-learn bunch, or any mapping with ``data`` and ``target``."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from priorscope.checks import SEED, checked, number
from priorscope.data._dataset import Dataset
from priorscope.data.arrays._from_arrays import from_arrays
from priorscope.data.arrays._layout import Layout
from priorscope.data.arrays._missing import Missing
from priorscope.data.arrays._plain import Values, is_frame, plain_array

__all__ = ["from_bunch"]


@checked(test_fraction=number(least=0, below=1), seed=SEED)
def from_bunch(
    bunch: Mapping[str, Values],
    *,
    test_fraction: float = 0.2,
    seed: int = 0,
    classes: str | None = None,
    layout: Layout | None = None,
    missing: Missing = "refuse",
    name: str = "bunch",
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """A data set from what ``sklearn.datasets`` returns: ``images`` where there are any, else ``data``, and ``target``.

    ``target_names`` name the classes when the targets are the integers 0, 1, … that they go with.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> data = from_bunch(load_iris())
        >>> data.classes, data.input_shape
        (('setosa', 'versicolor', 'virginica'), (4,))
    """
    if not isinstance(bunch, Mapping):
        raise TypeError(f"from_bunch needs a bunch of scikit-learn or a mapping; got {type(bunch).__name__}.")
    lacking = [key for key in ("data", "target") if key not in bunch and not (key == "data" and "images" in bunch)]
    if lacking:
        raise ValueError(
            f"from_bunch needs 'data' (or 'images') and 'target'; the mapping has {', '.join(map(str, bunch)) or 'nothing'}. "
            "Load it with as_frame=False and return_X_y=False."
        )
    x, y = bunch["images" if "images" in bunch else "data"], bunch["target"]
    if is_frame(y) and y.shape[1] == 1:
        y = y.iloc[:, 0]
    targets = plain_array(y, "targets")
    names = plain_array(bunch["target_names"], "target_names") if _given(bunch, "target_names") else np.array([])
    coded = targets.ndim == 1 and targets.dtype.kind in "ui" and len(targets) > 0 and names.ndim == 1
    fitting = coded and len(names) > 1 and int(targets.min()) >= 0 and int(targets.max()) < len(names)
    return from_arrays(
        x,
        targets,
        test_fraction=test_fraction,
        seed=seed,
        classes=classes,
        class_names=[str(n) for n in names.tolist()] if fitting and classes != "real" else None,
        layout=layout,
        missing=missing,
        name=name,
        dtype=dtype,
    )


def _given(bunch: Mapping[str, Values], key: str) -> bool:
    return key in bunch and bunch[key] is not None
