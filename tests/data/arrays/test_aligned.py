"""Series and frames with labels: joined by label, by position with a word, or refused."""

import numpy as np
import pandas as pd
import pytest

import priorscope as ps
from priorscope.data import as_dataset

RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=30), "b": RNG.normal(size=30)}, index=[f"r{i}" for i in range(30)])
Y = 3 * X["a"] + 1.0


def test_targets_are_joined_by_label():
    mixed = Y.sample(frac=1, random_state=0)
    for y in (mixed, mixed.to_frame("y")):
        data = as_dataset(X, y, test_fraction=0)
        np.testing.assert_allclose(data.targets[:, 0], 3 * data.inputs[:, 0] + 1, rtol=1e-6)
        assert "the 30 targets were joined to the inputs by the labels of their index" in data.notes
    plain = as_dataset(X, Y, test_fraction=0)
    assert not any("index" in note for note in plain.notes)
    by_place = as_dataset(X, mixed.to_numpy(), test_fraction=0)  # control: the order matters
    assert float((by_place.targets[:, 0] - 3 * by_place.inputs[:, 0] - 1).abs().max()) > 1
    machine, other = (ps.KernelMachine("fcn-1").fit(X, y) for y in (Y, mixed))
    np.testing.assert_array_equal(machine.predict(X), other.predict(X))


@pytest.mark.parametrize("way", ["inputs", "targets", "some"])
def test_what_has_two_readings_is_refused(way):
    x, y = X.reset_index(drop=True), Y.reset_index(drop=True)
    if way == "inputs":  # the targets may have been numbered anew
        x = x.sample(frac=1, random_state=0)
    elif way == "targets":
        y = y.sample(frac=1, random_state=0)
    else:
        x, y = X, Y.rename(index={"r0": "other"})
    with pytest.raises(ValueError, match=r"indexes that differ.*y.loc\[X.index\], or by position with y.to_numpy"):
        as_dataset(x, y)
    with pytest.raises(ValueError, match="indexes that differ"):
        ps.KernelMachine("fcn-1").fit(x, y)


def test_labels_that_have_nothing_in_common_go_by_position_and_are_told():
    data = as_dataset(X, Y.reset_index(drop=True), test_fraction=0)
    np.testing.assert_allclose(data.targets[:, 0], 3 * data.inputs[:, 0] + 1, rtol=1e-6)
    assert "inputs and targets have indexes of other labels and were joined by position" in data.notes


def test_columns_of_several_levels_are_named_by_their_levels():
    frame = pd.concat({"q": X[:10], "r": 2 * X[:10]}, axis=1)
    data = as_dataset(frame, target=("q", "b"), test_fraction=0)
    assert data.columns == ("q.a", "r.a", "r.b")
    np.testing.assert_allclose(data.targets[:, 0], X["b"][:10], rtol=1e-6)
    assert any("columns of several levels are called by their levels: q.a, q.b" in note for note in data.notes)
    assert as_dataset(frame, Y[:10], test_fraction=0).input_shape == (4,)


def test_counters_of_a_frame_are_left_out_wherever_it_goes():
    frame = X.assign(PassengerId=np.arange(101, 131))
    data = as_dataset(frame, Y, test_fraction=0)
    assert data.columns == ("a", "b")
    assert "column 'PassengerId' numbers the rows and is left out (keep=['PassengerId'] keeps it)" in data.notes
    assert as_dataset(frame, Y, keep=["PassengerId"]).input_shape == (3,)
    assert as_dataset(frame.assign(y=Y), "y", keep=["PassengerId"]).input_shape == (3,)
    assert as_dataset(frame.assign(y=Y), "y").input_shape == (2,)
    assert tuple(ps.data.Encoding.learn(frame).shape) == (2,)
