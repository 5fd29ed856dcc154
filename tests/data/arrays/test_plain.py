"""What users hand in besides arrays of floats: read to the digit, or refused by message."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from priorscope.data import from_arrays
from priorscope.data.arrays._plain import _of_objects

VALUES = np.array([[1, 2], [3, 4], [5, 6], [7, 8]])
Y = [0, 1, 0, 1]


def structured():
    out = np.zeros(4, dtype=[("a", "i4"), ("b", "f8")])
    out["a"], out["b"] = VALUES.T
    return out


@pytest.mark.parametrize(
    "x",
    [
        VALUES,
        VALUES.tolist(),
        tuple(map(tuple, VALUES.tolist())),
        list(VALUES),
        list(torch.from_numpy(VALUES)),
        VALUES.astype(np.float16),
        VALUES.astype(np.longdouble),
        VALUES.astype(">f8"),
        np.asfortranarray(VALUES),
        VALUES.astype(object),
        np.array([[Decimal(v) for v in row] for row in VALUES.tolist()], dtype=object),
        np.ma.masked_greater(VALUES, 100),
        structured(),
        scipy.sparse.csr_matrix(VALUES),
        scipy.sparse.coo_array(VALUES),
        torch.from_numpy(VALUES).to_sparse(),
        torch.from_numpy(VALUES).to(torch.bfloat16),
        torch.from_numpy(VALUES).float().requires_grad_(),
        pd.DataFrame(VALUES),
        pd.DataFrame(VALUES, dtype="Int32"),
        VALUES[::-1][::-1],
    ],
)
def test_numbers_are_read_as_they_are(x):
    data = from_arrays(x, Y, test_fraction=0)
    assert sorted(data.inputs.tolist()) == VALUES.tolist()
    assert not data.notes


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (VALUES * 1j, ValueError, "type complex128: pass the real and the imaginary part"),
        (torch.from_numpy(VALUES) * 1j, ValueError, "pass the real and the imaginary part"),
        (np.array([["2020-01-01"]] * 4, dtype="M8[D]"), ValueError, "turn dates into numbers first"),
        (np.array([[1]] * 4, dtype="m8[s]"), ValueError, "turn time spans into numbers"),
        ([[1, 2], [3], [4, 5], [6, 7]], ValueError, "all rows need the same shape"),
        ([torch.zeros(2), torch.zeros(3), torch.zeros(2), torch.zeros(2)], ValueError, "must have one shape"),
        ([[1, "a"], [2, "b"], [3, "c"], [4, "d"]], ValueError, "inputs mix words and numbers"),
        (np.array([["a"], ["b"], ["c"], ["d"]]), ValueError, "inputs must be numbers"),
        (np.array([[1, None], [2, 3], [4, 5], [6, 7]], dtype=object), ValueError, "1 of 4 rows hold NaN"),
        (np.ma.masked_equal(VALUES, 3), ValueError, "1 of 4 rows hold NaN"),
        (np.array([[{}], [{}], [{}], [{}]], dtype=object), ValueError, "objects of type dict"),
        (np.array([[10**400], [1], [2], [3]], dtype=object), ValueError, "beyond the range of float64"),
        (VALUES * 1e300, ValueError, r"hold 8e\+300, beyond the range of float32"),
        (5, ValueError, "one row per sample"),
        ({1, 2, 3, 4}, TypeError, "got set"),
        ((i for i in range(4)), TypeError, "got generator"),
        (None, TypeError, "got NoneType"),
        (np.zeros((4, 1), dtype="V8"), ValueError, "pass plain numbers"),
        (np.zeros(4, dtype=[("a", "U3")]), ValueError, "numbers in every field"),
        (torch.zeros(4, 2, device="meta"), ValueError, "nested or meta tensor"),
        (scipy.sparse.csr_matrix((10**7, 10**7)), ValueError, r"would take 8e\+05 GB"),
        (np.zeros((4, 0)), ValueError, "at least one feature"),
        ([], ValueError, "0 inputs and 4 targets"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(x, error, message):
    with pytest.raises(error, match=message):
        from_arrays(x, Y)


def test_missing_values_are_filled_in_by_training_medians_when_asked():
    x = np.array([[1.0, np.nan], [2.0, 5.0], [np.nan, 7.0], [10.0, 6.0]])
    rest = np.array([[np.nan, 100.0], [50.0, np.nan]])
    data = from_arrays(x, Y, test=(rest, [0, 1]), missing="median")
    assert data.inputs.tolist() == [[1, 6], [2, 5], [2, 7], [10, 6]]  # medians of the training rows alone
    assert data.test.inputs.tolist() == [[2, 100], [50, 6]]
    assert data.notes == ("4 missing values in 4 of 6 rows and 2 of 2 features: filled in with training medians",)
    masked = from_arrays(np.ma.masked_equal(VALUES, 3), Y, test_fraction=0, missing="median")
    assert sorted(masked.inputs.tolist()) == [[1, 2], [5, 4], [5, 6], [7, 8]]
    with pytest.raises(ValueError, match="feature 1 of the inputs has no value in any of the 4 training rows"):
        from_arrays(np.where([True, False], x, np.nan), Y, test_fraction=0, missing="median")
    with pytest.raises(ValueError, match="1 of 4 rows hold NaN or infinity"):
        from_arrays(np.where(x == 10, np.inf, 1.0 + VALUES), Y, test_fraction=0, missing="median")
    with pytest.raises(ValueError, match="missing must be 'refuse' or 'median'"):
        from_arrays(x, Y, missing="mean")


def test_digits_lost_to_float32_are_told():
    """2²⁴ + 1 is the first integer that float32 cannot hold: three neighbours from there become two values."""
    x = 2**24 + np.arange(4)[:, None]
    data = from_arrays(x, Y, test_fraction=0)
    assert len(set(data.inputs.flatten().tolist())) == 3
    assert "1 of 1 features of the inputs lose digits in float32" in data.notes[0]
    exact = from_arrays(x, Y, test_fraction=0, dtype=torch.float64)
    assert len(set(exact.inputs.flatten().tolist())) == 4
    assert not exact.notes
    assert not from_arrays(2**10 + np.arange(4)[:, None], Y, test_fraction=0).notes
    with pytest.raises(ValueError, match="floating-point type"):
        from_arrays(x, Y, dtype=torch.int64)


def test_digits_lost_in_any_of_many_features_are_counted():
    """Features are looked at a thousand at a time: one is spoilt near the beginning, two near the end."""
    x = np.random.default_rng(0).normal(size=(len(Y), 3000))
    x[:, [5, 2990, 2999]] += 1e8
    data = from_arrays(x, Y, test_fraction=0)
    assert "3 of 3000 features of the inputs lose digits in float32" in data.notes[0]


def test_whole_numbers_of_python_keep_their_digits_as_far_as_64_bits_go():
    edge = np.array([2**63 - 1, -(2**63)], dtype=object)
    assert _of_objects(edge, "inputs").dtype == np.int64
    assert _of_objects(edge, "inputs").tolist() == edge.tolist()
    for beyond in (2**63, -(2**63) - 1):
        found = _of_objects(np.array([0, beyond], dtype=object), "inputs")
        assert found.dtype == np.float64
        assert found[1] == float(beyond)
    with pytest.raises(ValueError, match="beyond the range of float64"):
        _of_objects(np.array([10**400], dtype=object), "inputs")
