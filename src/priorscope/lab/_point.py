"""One point of a grid, one result of a run, and the bytes both become in the store."""

from __future__ import annotations

import hashlib
import io
import json
import math
from typing import Any, TypeAlias

import numpy as np

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Point: TypeAlias = dict[str, Any]
"""Parameters of one run and its seed: JSON values by name."""
Metrics: TypeAlias = dict[str, Any]
"""What a run gives: JSON values and numpy arrays by name."""


def _json_value(value: object, where: str) -> Json:
    """``value`` with numpy scalars and tuples turned into plain JSON values; an error names what cannot be."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        found: Json = value.item()
        return found
    if isinstance(value, (list, tuple)):
        return [_json_value(v, f"{where}[{i}]") for i, v in enumerate(value)]
    if isinstance(value, dict):
        if not all(isinstance(k, str) for k in value):
            raise ValueError(f"{where} needs text as keys; got {list(value)!r}.")
        return {k: _json_value(v, f"{where}[{k!r}]") for k, v in value.items()}
    raise ValueError(
        f"{where} must be a JSON value (number, text, bool, None, list or dict); got {type(value).__name__}. "
        "Convert it: float(x), x.tolist() or, in a result, a numpy array."
    )


def canonical_json(point: Point) -> str:
    """The one text of a point: sorted keys, no spaces, numpy scalars made plain.

    Example:
        >>> canonical_json({"width": 64, "depth": 3})
        '{"depth":3,"width":64}'
    """
    plain = _json_value(point, "point")
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def point_key(paper: str, version: int, point: Point) -> str:
    """A hash of (paper, version, parameters, seed): the same point has the same key in every process and on every machine.

    Example:
        >>> a = point_key("squares", 1, {"x": 3, "seed": 0})
        >>> a == point_key("squares", 1, {"seed": 0, "x": 3}), a == point_key("squares", 2, {"x": 3, "seed": 0})
        (True, False)
    """
    parameters = {name: value for name, value in point.items() if name != "seed"}
    text = canonical_json({"paper": paper, "version": version, "parameters": parameters, "seed": point.get("seed")})
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def encode_result(point: Point, result: Metrics) -> tuple[str, bytes | None]:
    """Metrics as JSON and arrays as the bytes of an npz file (None without arrays)."""
    if not isinstance(result, dict):
        raise ValueError(f"run(point) must give a dict of metrics; got {type(result).__name__}.")
    arrays = {name: value for name, value in result.items() if isinstance(value, np.ndarray)}
    for name, value in arrays.items():
        if value.dtype.hasobject:
            raise ValueError(
                f"result[{name!r}] is an array of Python objects; give numbers, bools or fixed-width text."
            )
    metrics = {name: _json_value(value, f"result[{name!r}]") for name, value in result.items() if name not in arrays}
    for name in point.keys() & result.keys():
        if name in arrays or metrics[name] != _json_value(point[name], name):
            raise ValueError(f"result[{name!r}] would hide the point's own {name!r}; give the metric another name.")
    if not arrays:
        return json.dumps(metrics), None
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return json.dumps(metrics), buffer.getvalue()


def decode_result(metrics: str, arrays: bytes | None) -> Metrics:
    """What :func:`encode_result` wrote. Pickled arrays are refused."""
    result: Metrics = json.loads(metrics)
    if arrays is not None:
        with np.load(io.BytesIO(arrays), allow_pickle=False) as npz:
            result.update({name: npz[name] for name in npz.files})
    return result


def finite_or_none(value: object) -> object:
    """NaN and infinities as None, all the way down: what strict JSON can carry.

    Example:
        >>> finite_or_none({"a": [1.0, float("nan")]})
        {'a': [1.0, None]}
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {k: finite_or_none(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite_or_none(v) for v in value]
    return value
