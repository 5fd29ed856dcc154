"""Single arrays: the column of the target, folders of arrays."""

import numpy as np
import pytest
import torch

from priorscope.data import load
from priorscope.data.formats._array_names import assign_roles

X = np.random.default_rng(0).normal(size=(20, 3))


def test_the_target_column_is_told_and_whole_floats_are_classes(tmp_path):
    file = tmp_path / "a.npy"
    np.save(file, np.column_stack([X, np.arange(20) % 3]))  # one array has one type: labels are floats here
    data = load(file, test_fraction=0)
    assert data.classes == ("0", "1", "2")
    assert data.notes[0] == "target: the last column, 3"
    assert "floats counted 0 to 2: 3 classes" in data.notes[1]
    first = load(file, target=0, test_fraction=0)
    assert first.task == "regression"
    assert first.notes == ("target: column 0",)
    assert sorted(first.targets[:, 0].tolist()) == sorted(X[:, 0].astype(np.float32).tolist())
    assert load(file, target=-4, test_fraction=0).notes == ("target: column 0",)
    for wrong in (4, -5):
        with pytest.raises(ValueError, match=f"columns 0 to 3; the target cannot be column {wrong}"):
            load(file, target=wrong)
    with pytest.raises(FileNotFoundError, match="no file labels.npy with the targets beside a.npy"):
        load(file, target="labels.npy")
    with pytest.raises(TypeError, match="target must be a name or a position; got True"):
        load(file, target=True)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.float64(3.0), r"has shape \(\)"),
        (np.zeros((0, 3)), "inputs must|at least 2|empty"),
        (X[0], r"has shape \(3,\)"),
        (X[:1], "at least 2 training samples; got 1"),
        (X * np.nan, "must be finite"),
        (np.zeros((5, 4, 3)), r"has shape \(5, 4, 3\)"),
    ],
)
def test_arrays_that_are_no_table(tmp_path, array, message):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "a.npy")


def test_types_and_orders(tmp_path):
    whole = np.round(X * 100)
    for kind in ("<f2", ">f4", "<f8", ">i4", "<i8", "i1"):
        table = np.column_stack([whole % 50, np.arange(20) * 3 + 30]).astype(kind)
        np.save(tmp_path / "a.npy", np.asfortranarray(table))
        data = load(tmp_path / "a.npy", test_fraction=0, classes="real")
        assert sorted(data.inputs.tolist()) == sorted((whole % 50).tolist())
    np.save(tmp_path / "a.npy", X > 0)
    assert load(tmp_path / "a.npy", test_fraction=0).classes == ("False", "True")


def test_a_folder_of_arrays(tmp_path):
    y = np.arange(20) % 2
    for name, array in {"X_train": X, "y_train": y, "X_test": X[:4], "y_test": y[:4]}.items():
        np.save(tmp_path / f"{name}.npy", array)
    data = load(tmp_path)
    assert (len(data.train), len(data.test), data.input_shape) == (20, 4, (3,))
    (tmp_path / "y_test.npy").unlink()
    with pytest.raises(ValueError, match="X_test and not the other half"):
        load(tmp_path)


def test_an_array_is_known_by_its_first_bytes(tmp_path):
    np.save(tmp_path / "a.npy", X)
    (tmp_path / "a.npy").rename(tmp_path / "noname")
    assert load(tmp_path / "noname").input_shape == (2,)


def test_folders_of_arrays_are_told_apart_by_name_or_by_shape(tmp_path):
    x, y = np.arange(24.0).reshape(8, 3), np.arange(8) % 2
    np.save(tmp_path / "first.npy", x)
    np.save(tmp_path / "second.npy", y)
    (tmp_path / ".hidden.npy").write_bytes(b"not an array")
    (tmp_path / "folder.npy").mkdir()
    data = load(tmp_path, test_fraction=0.0)
    assert data.input_shape == (3,)
    assert any("inputs: the array first; targets: the array second" in note for note in data.notes)
    turned = load(tmp_path, target="second.npy", test_fraction=0.0)
    assert torch.equal(turned.inputs, data.inputs)
    np.save(tmp_path / "second.npy", np.stack([y, y + 1], 1))
    with pytest.raises(ValueError, match="needs arrays for inputs"):
        load(tmp_path)
    assert load(tmp_path, target="second", classes="real", test_fraction=0.0).n_outputs == 2
    both = tmp_path / "both"
    both.mkdir()
    for name, value in {"x_train": x, "y_train": y, "x_test": x[:3], "y_test": y[:3]}.items():
        np.save(both / f"{name}.npy", value)
    parts = load(both)
    assert (len(parts.train), len(parts.test)) == (8, 3)


@pytest.mark.parametrize(
    ("names", "target", "roles"),
    [
        (["x", "y"], None, ("x", "y", None)),
        (["X_train", "labels", "y_train", "x_test", "y_test"], None, ("X_train", "y_train", ("x_test", "y_test"))),
        (["images", "labels", "weights"], "weights", ("images", "weights", None)),
        (["x_train", "y_train", "other"], "other", ("x_train", "other", None)),
        (["a", "b"], "a", ("b", "a", None)),
        (["data", "target", "data_val", "target_val"], None, ("data", "target", ("data_val", "target_val"))),
    ],
)
def test_roles_by_name(names, target, roles):
    found = assign_roles(names, lambda name: (4, 2), "t", target)
    assert (found.x, found.y, found.test) == roles


def test_roles_that_could_be_read_two_ways_are_refused():
    def shape(name):
        return {"a": (4,), "b": (4, 1), "c": (5, 2), "d": (), "e": (4, 2)}[name]

    for names in (["a", "b"], ["a", "c"], ["a", "d"], ["a", "b", "e"]):
        with pytest.raises(ValueError, match="needs arrays for inputs"):
            assign_roles(names, shape, "t")
    assert (assign_roles(["a", "e"], shape, "t").x, assign_roles(["e", "b"], shape, "t").y) == ("e", "b")
    with pytest.raises(ValueError, match="holds x and inputs, which could be the same thing"):
        assign_roles(["x", "inputs", "y"], shape, "t")
    with pytest.raises(ValueError, match="one of the names, not 0"):
        assign_roles(["x", "y"], shape, "t", 0)
    with pytest.raises(ValueError, match="has no array 'z'"):
        assign_roles(["x", "y"], shape, "t", "z")
