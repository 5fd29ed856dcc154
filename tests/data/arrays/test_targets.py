"""Classes or numbers: each kind of target by hand, test targets that do not fit, what is refused."""

import numpy as np
import pandas as pd
import pytest
import torch

from priorscope.data import from_arrays

X = np.random.default_rng(0).normal(size=(60, 2))
ROWS = np.arange(60)


@pytest.mark.parametrize(
    ("y", "names"),
    [
        (ROWS % 2, ("0", "1")),
        (ROWS % 2 == 0, ("False", "True")),
        ((ROWS % 2).astype(float), ("0", "1")),
        ((ROWS % 2).astype(np.float16), ("0", "1")),
        ((ROWS % 3).astype(float), ("0", "1", "2")),
        (ROWS % 2 + 1.0, ("1", "2")),
        ((ROWS % 3 + 1).astype(np.float32), ("1", "2", "3")),
        (ROWS % 2 * 2 - 1, ("-1", "1")),
        (ROWS % 4 * 5, ("0", "5", "10", "15")),
        (ROWS % 2 * 990 - 7, ("-7", "983")),
        (np.array(["no", "yes"])[ROWS % 2], ("no", "yes")),
        (np.array([b"no", b"yes"])[ROWS % 2], ("no", "yes")),
        (np.array([b"caf\xe9", b"tea"])[ROWS % 2], ("café", "tea")),
        (np.array(["2", "10"])[ROWS % 2], ("2", "10")),
        (np.array(["no", "yes"], dtype=object)[ROWS % 2], ("no", "yes")),
        (np.array([False, True], dtype=object)[ROWS % 2], ("False", "True")),
        (pd.Series(["lo", "hi"] * 30), ("hi", "lo")),
        (pd.Series(["lo", "hi"] * 30, dtype="category"), ("hi", "lo")),
        (pd.Series([0, 1] * 30, dtype="Int64"), ("0", "1")),
        (pd.Series([True, False] * 30, dtype="boolean"), ("False", "True")),
        (pd.Series([True, False] * 30), ("False", "True")),
        (torch.arange(60) % 2, ("0", "1")),
        ((ROWS % 2)[:, None], ("0", "1")),
        (ROWS % 30, tuple(map(str, range(30)))),
        (np.uint8(ROWS % 10), tuple(map(str, range(10)))),
    ],
)
def test_classes(y, names):
    data = from_arrays(X, y, test_fraction=0.2)
    assert data.task == "classification"
    assert data.classes == names
    rows = {tuple(v) for v in np.float32(X).tolist()}
    assert {tuple(v) for v in torch.cat([data.inputs, data.test.inputs]).tolist()} == rows
    place = {tuple(v): i for i, v in enumerate(np.float32(X).tolist())}
    values = [v.decode("latin-1") if isinstance(v, bytes) else str(v) for v in np.asarray(y).reshape(-1).tolist()]
    for row, label in zip(data.inputs.tolist(), data.train_labels.tolist()):
        assert names[label] == values[place[tuple(row)]].removesuffix(".0")


@pytest.mark.parametrize(
    "y",
    [
        X[:, 0],
        X[:, 0].astype(np.float16),
        ROWS * 37 + 1000,  # integers, every one different: a quantity
        (ROWS % 7) * 1.0 + 5,  # whole floats that are no codes
        np.round(X[:, 0] * 100).astype(int),
        [str(v) for v in X[:, 0]],
        X,
        torch.from_numpy(X[:, 0]),
        pd.Series(X[:, 0], dtype="Float64"),
        np.array(X[:, 0].tolist(), dtype=object),
    ],
)
def test_regressions(y):
    data = from_arrays(X, y, test=(X, y), dtype=torch.float64)
    assert data.task == "regression"
    assert data.classes is None
    values = np.array([float(v) for v in y] if isinstance(y, list) else y, dtype=float)
    torch.testing.assert_close(data.targets, torch.from_numpy(values.reshape(60, -1)), rtol=0, atol=0)


def test_signs_stay_one_column():
    y = (ROWS % 2) * 2.0 - 1
    data = from_arrays(X, y, test=(X, y))
    assert (data.task, data.classes, data.n_outputs) == ("classification", ("-1", "1"), 1)
    assert data.targets[:, 0].tolist() == y.tolist()
    assert data.train_labels.tolist() == (ROWS % 2).tolist()


@pytest.mark.parametrize("values", [(0, 1), (0.0, 1.0), (False, True), (-1.0, 1.0)])
def test_one_hot_rows_are_classes(values):
    y = np.full((60, 3), values[0])
    y[ROWS, ROWS % 3] = values[1]
    data = from_arrays(X, y, test=(X, y))
    assert data.classes == ("0", "1", "2")
    assert data.train_labels.tolist() == (ROWS % 3).tolist()
    assert data.notes == ("targets are one-hot rows: 3 classes",)
    assert from_arrays(X, y, class_names=("a", "b", "c")).classes == ("a", "b", "c")
    assert from_arrays(X, y, classes="real").task == "regression"


@pytest.mark.parametrize("kind", [int, float, bool])
def test_many_labels_per_row_are_refused_unless_real(kind):
    y = np.random.default_rng(3).integers(0, 2, (60, 3)).astype(kind)
    with pytest.raises(ValueError, match=r"\(60, 3\) hold 0 and 1, not one class per row.*classes='real'"):
        from_arrays(X, y)
    real = from_arrays(X, y, classes="real", test=(X, y))
    assert (real.task, real.targets.tolist()) == ("regression", y.astype(float).tolist())
    with pytest.raises(ValueError, match="hold integers, not one class per row"):
        from_arrays(X, np.stack([ROWS, ROWS], 1))


def test_parity_is_that_of_the_label_not_of_its_place():
    y = np.array([1, 2, 3])[ROWS % 3]
    data = from_arrays(X, y, classes="parity", test=(X, y))
    assert data.targets[:, 0].tolist() == [-1.0 if v % 2 else 1.0 for v in y]


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        ([0, 1, 0, 1], [0, 1], "4 inputs and 2 targets"),
        ([0, 1, 0, 1], [0, 1, 0, np.nan], "test targets must be finite; 1 of 4 rows.*row 3"),
        ([0, 1, 0, 1], ["0", "1", "0", "x"], "training targets are integers and test targets are words"),
        (["a", "b", "a", "b"], [0, 1, 0, 1], "training targets are words and test targets are integers"),
        ([0, 1, 0, 1], [0, 1, 2, 2], "hold 1 class.* that no training row has: 2; the training classes are 0, 1"),
        (["a", "b", "a", "b"], ["a", "b", "c", "d"], "hold 2 class.* no training row has: c, d"),
        (["a", "b", "a", "b"], ["a", "b", "a", "nan"], "test targets hold 1 missing values"),
        ([0.5, 1.5, 2.5, 3.5], [0.5, 1.5, 2.5, np.inf], "test targets must be finite"),
        ([0, 1, 0, 1], [0.5, 1, 0, 1], "integers and test targets are floats"),
        ([[0.5, 1.5]] * 4, [0.5, 1.5, 2.5, 2.0], "same columns"),
        (["a", None, "a", "b"], ["a", "b", "a", "b"], "targets hold 1 missing values among words .*row 1"),
        (["a", "", "a", "b"], ["a", "b", "a", "b"], "targets hold 1 missing values"),
        ([0, 1, "a", 1], ["a", "b", "a", "b"], "targets mix words and numbers"),
        ([0, 1, None, 1], [0, 1, 0, 1], "targets must be finite; 1 of 4"),
    ],
)
def test_targets_that_do_not_fit(train, test, message):
    x = np.arange(8.0).reshape(4, 2)
    with pytest.raises(ValueError, match=message):
        from_arrays(x, train, test=(x, test))


def test_test_inputs_that_do_not_fit():
    x, y = np.zeros((4, 2)) + ROWS[:4, None], [0, 1, 0, 1]
    with pytest.raises(ValueError, match="40 inputs and 20 targets"):
        from_arrays(X, ROWS % 2, test=(X[:40], (ROWS % 2)[:20]))
    with pytest.raises(ValueError, match=r"same input shape; got \(2,\) and \(3,\)"):
        from_arrays(x, y, test=(np.zeros((4, 3)), y))
    with pytest.raises(ValueError, match="test inputs must be finite"):
        from_arrays(x, y, test=(x * np.nan, y))
    images = np.random.default_rng(0).integers(0, 255, (4, 5, 5), dtype=np.uint8)
    with pytest.raises(ValueError, match="training inputs are uint8 and test inputs float64"):
        from_arrays(images, y, test=(images.astype(float), y))
    assert len(from_arrays(x, y, test=(np.zeros((0, 2)), [])).test) == 0


def test_a_class_that_falls_into_the_test_rows_alone_is_told():
    y = np.where(ROWS == 7, "rare", np.array(["a", "b"])[ROWS % 2])
    for seed in range(40):
        data = from_arrays(X, y, seed=seed, test_fraction=0.5)
        alone = 2 not in data.train_labels.tolist()
        assert data.classes == ("a", "b", "rare")
        assert data.notes == (("1 class(es) of the test rows have no training row: rare",) if alone else ())


def test_names_for_classes():
    y = ROWS % 2
    assert from_arrays(X, y, class_names=("a", "b", "c"), test=(X, y + 1)).n_outputs == 3
    words = from_arrays(X, np.array(["b", "a"])[y], class_names=("a", "b"), test=(X, np.array(["b", "a"])[y]))
    assert words.train_labels.tolist() == (1 - y).tolist()
    with pytest.raises(ValueError, match="labels c are not among class_names: a, b"):
        from_arrays(X, np.array(["b", "c"])[y], class_names=("a", "b"))
    with pytest.raises(ValueError, match="must differ"):
        from_arrays(X, y, class_names=("a", "a"))
    with pytest.raises(ValueError, match="60 different words in 60 rows"):
        from_arrays(X, [f"name {i}" for i in ROWS])
    assert len(from_arrays(X, [f"name {i}" for i in ROWS], classes="classes").classes) == 60


def test_classes_beyond_64_bits_keep_their_names_beside_small_ones():
    labels = np.array([1.0, 2.0**70] * 10)
    data = from_arrays(np.arange(40.0).reshape(20, 2), labels, classes="classes", test_fraction=0)
    assert data.classes == ("1", str(2**70))
    assert sorted(data.targets.argmax(1).tolist()) == [0] * 10 + [1] * 10
