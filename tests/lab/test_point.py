from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priorscope.lab._point import canonical_json, decode_result, encode_result, finite_or_none, point_key

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.text(max_size=5), values, max_size=5), st.randoms())
def test_key_depends_on_content_not_on_order(point, random):
    shuffled = list(point.items())
    random.shuffle(shuffled)
    assert point_key("p", 1, dict(shuffled)) == point_key("p", 1, point)
    assert point_key("p", 2, point) != point_key("p", 1, point)
    assert point_key("q", 1, point) != point_key("p", 1, point)
    assert point_key("p", 1, {**point, "seed": "another"}) != point_key("p", 1, point)


def test_key_is_the_same_in_another_process():
    point = {"width": 64, "rate": 0.1, "seed": 3}
    code = f"from priorscope.lab._point import point_key; print(point_key('p', 1, {point!r}))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.strip() == point_key("p", 1, point)


def test_numpy_scalars_and_tuples_are_plain():
    a = canonical_json({"n": np.int64(3), "r": np.float32(0.5), "shape": (3, 8)})
    assert a == '{"n":3,"r":0.5,"shape":[3,8]}'


def test_results_come_back_bit_for_bit():
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([True, False]), "c": np.array(2.5)}
    back = decode_result(*encode_result({"x": 1}, {"loss": 0.1, "nan": float("nan"), "list": (1, 2), **arrays}))
    assert back["loss"] == 0.1
    assert np.isnan(back["nan"])
    assert back["list"] == [1, 2]
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array)


@pytest.mark.parametrize(
    "result, message",
    [
        ({"x": object()}, "must be a JSON value .* got object"),
        ({"a": np.array([object()])}, "array of Python objects"),
        ([1], "must give a dict of metrics; got list"),
        ({"width": 3}, "would hide the point's own 'width'"),
        ({"width": np.array(2)}, "would hide the point's own 'width'"),
    ],
)
def test_results_that_cannot_be_stored_say_why(result, message):
    with pytest.raises(ValueError, match=message):
        encode_result({"width": 2}, result)


def test_a_metric_may_echo_its_point():
    assert encode_result({"width": 2}, {"width": 2}) == ('{"width": 2}', None)


def test_nan_in_a_point_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"x": float("nan")})


def test_strict_json_has_no_nan():
    assert finite_or_none([1.0, float("inf"), {"a": (float("nan"), "b")}]) == [1.0, None, {"a": [None, "b"]}]
