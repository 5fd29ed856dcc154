"""What users have in memory, as one plain numpy array: tensors, lists, masked, sparse and structured arrays, pandas columns."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeGuard, Union

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from priorscope.data._memory import check_memory
from priorscope.data.arrays._array import AnyArray

if TYPE_CHECKING:
    import pandas as pd

__all__: list[str] = []

Values: TypeAlias = Union[ArrayLike, Tensor, "pd.DataFrame", "pd.Series"]
"""What ``from_arrays`` takes; sparse matrices of scipy too."""

_ADVICE = {
    "c": "pass the real and the imaginary part as columns of their own",
    "M": "turn dates into numbers first: days since the first, month, weekday",
    "m": "turn time spans into numbers first, such as seconds",
    "V": "pass plain numbers",
}


def is_frame(values: object) -> TypeGuard[pd.DataFrame]:
    """Whether ``values`` is a pandas frame; pandas is not imported to ask."""
    if "pandas" not in sys.modules:
        return False
    import pandas as pd

    return isinstance(values, pd.DataFrame)


def is_series(values: object) -> TypeGuard[pd.Series]:
    """Whether ``values`` is a pandas series."""
    if "pandas" not in sys.modules:
        return False
    import pandas as pd

    return isinstance(values, pd.Series)


def is_column(values: object) -> TypeGuard[pd.Series]:
    """Whether ``values`` is a column or an index of pandas."""
    if "pandas" not in sys.modules:
        return False
    import pandas as pd

    return isinstance(values, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray))


def plain_array(values: object, what: str) -> AnyArray:
    """The values as booleans, integers, floats (NaN where a value is missing) or words, in native byte order.

    ``what`` names them in messages ("inputs"). Complex numbers, dates, ragged lists and mixtures of words and numbers
    are refused; missing words too.

    Example:
        >>> plain_array([[1, 2], [3, 4]], "inputs").dtype.kind, plain_array([b"a", b"b"], "targets").tolist()
        ('i', ['a', 'b'])
    """
    if isinstance(values, Tensor):
        array = _of_tensor(values, what)
    elif _is_sparse(values):
        check_memory(int(np.prod(values.shape, dtype=object)) * 8, f"the sparse {what} as a dense array")
        array = values.toarray()
    elif isinstance(values, np.ma.MaskedArray):
        array = _of_masked(values, what)
    elif is_column(values):
        array = _of_column(values, what)
    else:
        array = _of_anything(values, what)
    if array.dtype.names:
        array = _of_fields(array, what)
    if array.dtype.kind == "O":
        array = _of_objects(array, what)
    if array.dtype.kind == "S":
        array = _decoded(array)
    if array.dtype.kind in _ADVICE:
        raise ValueError(f"{what} must be numbers; got an array of type {array.dtype}: {_ADVICE[array.dtype.kind]}.")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=")) if array.ndim else array


class _Sparse(Protocol):
    """What is used of the sparse arrays of scipy."""

    shape: tuple[int, ...]

    def toarray(self) -> AnyArray: ...


def _is_sparse(values: object) -> TypeGuard[_Sparse]:
    if "scipy.sparse" not in sys.modules:
        return False
    from scipy.sparse import issparse

    return bool(issparse(values))


def _of_tensor(values: Tensor, what: str) -> AnyArray:
    if values.is_nested or values.device.type == "meta":
        raise ValueError(f"{what} must be a plain tensor with values; got a nested or meta tensor. Use torch.stack.")
    if values.is_complex():
        raise ValueError(f"{what} must be numbers; got a tensor of type {values.dtype}: {_ADVICE['c']}.")
    tensor = values.detach()
    if tensor.layout != torch.strided:
        check_memory(tensor.numel() * tensor.element_size(), f"the sparse {what} as a dense array")
        tensor = tensor.to_dense()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    tensor = tensor.cpu()
    if tensor.is_floating_point() and tensor.dtype not in (torch.float16, torch.float32, torch.float64):
        tensor = tensor.float()
    return tensor.resolve_neg().numpy()


def _of_masked(values: np.ma.MaskedArray, what: str) -> AnyArray:
    if not np.ma.is_masked(values):
        return np.asarray(values.data)
    if values.dtype.kind not in "buif":
        count = int(np.ma.getmaskarray(values).sum())
        raise ValueError(f"{what} hold {count} masked (missing) values that are not numbers; drop these rows first.")
    numbers: AnyArray = np.array(values.data, dtype=np.float64)
    numbers[np.ma.getmaskarray(values)] = np.nan
    return numbers


def _of_column(values: pd.Series, what: str) -> AnyArray:
    """A column of pandas as a plain array: truth values, numbers, or objects; dates are refused."""
    import pandas as pd

    series = pd.Series(values)
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.cat.categories.dtype)
    if pd.api.types.is_datetime64_any_dtype(series.dtype) or isinstance(series.dtype, pd.PeriodDtype):
        raise ValueError(f"{what} hold dates: {_ADVICE['M']}.")
    if pd.api.types.is_bool_dtype(series.dtype) and not series.isna().any():
        return series.to_numpy(dtype=bool)
    if pd.api.types.is_numeric_dtype(series.dtype):
        if not isinstance(series.dtype, np.dtype):
            whole = pd.api.types.is_integer_dtype(series.dtype) and not series.isna().any()
            return series.to_numpy(dtype=np.int64 if whole else np.float64, na_value=np.nan if not whole else 0)
        return series.to_numpy()
    return series.to_numpy(dtype=object)


def _of_anything(values: object, what: str) -> AnyArray:
    """Lists, nested lists, lists of tensors, whatever numpy takes."""
    if isinstance(values, (list, tuple)):
        if values and all(isinstance(v, Tensor) for v in values):
            shapes = {tuple(v.shape) for v in values}
            if len(shapes) > 1:
                raise ValueError(f"{what} must have one shape; got tensors of {sorted(shapes)[:4]}. Resize them first.")
            return _of_tensor(torch.stack(list(values)), what)
        _check_kinds(values, what)
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        text = " ".join(str(error).split())
        raise ValueError(
            f"{what} cannot be read as one array ({text}): all rows need the same shape and kind. "
            "Pad or cut them, or pass numpy arrays."
        ) from error
    if array.ndim == 0 and array.dtype.kind == "O":
        raise TypeError(
            f"{what} must be an array, a tensor, a frame or a list of rows; got {type(values).__name__}. "
            "Collect it into a list first."
        )
    return array


def _check_kinds(values: Sequence[object], what: str) -> None:
    """Refuse a list with words and numbers in it: numpy would turn the numbers into words."""
    flat: list[object] = list(values)
    if flat and all(isinstance(v, (list, tuple)) for v in flat):
        flat = [one for row in values if isinstance(row, (list, tuple)) for one in row]
    words = sum(isinstance(v, (str, bytes)) for v in flat)
    if 0 < words < len(flat) and all(isinstance(v, (str, bytes, bool, int, float, np.generic)) for v in flat):
        first = next(i for i, v in enumerate(flat) if isinstance(v, (str, bytes)) != isinstance(flat[0], (str, bytes)))
        raise ValueError(
            f"{what} mix words and numbers ({words} words among {len(flat)} values; {flat[0]!r}, then {flat[first]!r}). "
            "Make them all words or all numbers."
        )


def _of_fields(array: AnyArray, what: str) -> AnyArray:
    """A structured array of numbers as its columns."""
    names = array.dtype.names or ()
    wrong = [name for name in names if array.dtype[name].kind not in "buif" or array.dtype[name].shape]
    if wrong or array.ndim != 1:
        raise ValueError(
            f"{what} as a structured array need one row per sample and numbers in every field; got shape {array.shape} and "
            f"fields {', '.join(wrong or names)}. Pass pandas.DataFrame(array), which may hold words."
        )
    return np.stack([array[name].astype(np.float64) for name in names], 1)


def _of_objects(array: AnyArray, what: str) -> AnyArray:
    """An array of Python objects as numbers (missing ones as NaN) or words."""
    flat = array.ravel().tolist()
    missing = [_is_missing(v) for v in flat]
    present = [v for v, gone in zip(flat, missing) if not gone]
    kinds = {_kind(v) for v in present}
    if kinds <= {"bool"} and not any(missing) and flat:
        return np.array(flat, dtype=bool).reshape(array.shape)
    if kinds == {"int"} and not any(missing) and all(-(2**63) <= v < 2**63 for v in flat):
        return np.array(flat, dtype=np.int64).reshape(array.shape)
    if kinds <= {"bool", "int", "float"}:
        try:
            numbers = [np.nan if gone else float(v) for v, gone in zip(flat, missing)]
        except OverflowError as error:
            raise ValueError(f"{what} hold an integer beyond the range of float64 (1.8e308); rescale them.") from error
        return np.array(numbers, dtype=np.float64).reshape(array.shape)
    if kinds == {"str"}:
        if any(missing):
            raise ValueError(
                f"{what} hold {sum(missing)} missing values among words (the first in row {missing.index(True)}). "
                "Drop these rows or fill them in."
            )
        words = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in flat]
        return np.array(words, dtype=str).reshape(array.shape)
    found = sorted({type(v).__name__ for v in present})
    raise ValueError(
        f"{what} must be all numbers or all words; got an array of objects of type {', '.join(found[:5])}. "
        "Convert them first."
    )


def _is_missing(value: object) -> bool:
    """None, NaN, or what pandas writes for a missing value."""
    if value is None:
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    if "pandas" not in sys.modules:
        return False
    import pandas as pd

    return value is pd.NA or value is pd.NaT


def _kind(value: object) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, (int, np.integer)):
        return "int"
    if isinstance(value, (float, np.floating, Decimal, Fraction)):
        return "float"
    return "str" if isinstance(value, (str, bytes)) else type(value).__name__


def _decoded(array: AnyArray) -> AnyArray:
    """Bytes as words: UTF-8, else Latin-1."""
    try:
        return np.char.decode(array, "utf-8")
    except UnicodeDecodeError:
        return np.char.decode(array, "latin-1")
