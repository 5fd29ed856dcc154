"""Readers of frames, bunches, torch data and arrays listen to their arguments, and refuse each mistake for itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.utils import Bunch
from torch.utils.data import DataLoader, TensorDataset

from priorscope.data import (
    Dataset,
    Split,
    digits,
    from_arrays,
    from_bunch,
    from_frame,
    from_torch,
    load,
    with_wrong_labels,
)

X = np.arange(60.0).reshape(20, 3)
LABELS = np.arange(20) % 4


def test_frames_bunches_and_torch_data_have_the_name_scheme_and_seed_asked_for():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": LABELS})
    pairs = TensorDataset(torch.from_numpy(X), torch.from_numpy(LABELS))
    for read, given in ((from_frame, frame), (from_bunch, Bunch(data=X, target=LABELS)), (from_torch, pairs)):
        data = read(given, classes="parity", name="mine", seed=1)
        assert (data.name, data.n_outputs) == ("mine", 1)
        assert torch.equal(data.targets[:, 0], 1.0 - 2 * (data.train_labels % 2))
        assert not torch.equal(read(given, seed=2).inputs, data.inputs)
        assert read(given).n_outputs == 4
    assert from_torch(pairs).name == "TensorDataset"
    assert from_torch(DataLoader(pairs, 4)).name == "TensorDataset"


def test_gaps_in_frames_and_bunches_become_what_was_asked():
    holed = X.copy()
    holed[2, 1] = np.nan
    frame = pd.DataFrame({"a": holed[:, 0], "b": holed[:, 1], "y": LABELS})
    assert bool(from_frame(frame).inputs.isfinite().all())
    with pytest.raises(ValueError, match="finite"):
        from_frame(frame, missing="refuse")
    bunch = Bunch(data=holed, target=LABELS)
    with pytest.raises(ValueError, match="finite"):
        from_bunch(bunch)
    assert bool(from_bunch(bunch, missing="median").inputs.isfinite().all())
    for column, place in ((0, 0), (2, 2)):
        empty = X.copy()
        empty[:, column:] = np.nan
        with pytest.raises(
            ValueError, match=f"feature {place} of the inputs has no value in any of the 16 training rows"
        ):
            from_bunch(Bunch(data=empty, target=LABELS), missing="median")


def test_names_of_classes_count_where_they_fit_the_codes():
    names = ["w", "x", "y", "z"]
    assert from_bunch(Bunch(data=X, target=LABELS, target_names=names)).classes == tuple(names)
    assert from_bunch(Bunch(data=X, target=LABELS, target_names=None)).classes != tuple(names)
    assert from_bunch(Bunch(data=X, target=LABELS + 1, target_names=names)).classes != tuple(names)
    assert from_bunch(Bunch(data=X, target=LABELS - 1, target_names=names)).classes != tuple(names)
    one_column = pd.DataFrame({"y": LABELS})
    assert from_bunch(Bunch(data=X, target=one_column, target_names=names)).classes == tuple(names)
    two = from_bunch(Bunch(data=X, target=pd.DataFrame({"y": X[:, 0] / 7, "z": X[:, 1] / 3})))
    assert two.n_outputs == 2
    for lacking in ({"data": X}, {"target": LABELS}, {"images": X.reshape(20, 1, 3)}):
        with pytest.raises(ValueError, match="from_bunch needs 'data'"):
            from_bunch(lacking)
    assert from_bunch({"images": np.zeros((20, 4, 4)) + X[:, :1, None], "target": LABELS}).input_shape == (1, 4, 4)


def test_frames_need_frames_with_rows():
    frame = pd.DataFrame({"a": X[:, 0], "y": LABELS})
    for bad in ((X,), (frame, "y", X)):
        with pytest.raises(TypeError, match="needs a pandas DataFrame"):
            from_frame(bad[0], *bad[1:2], **({"test": bad[2]} if len(bad) > 2 else {}))
    for empty in (frame[:0], frame[[]]):
        with pytest.raises(ValueError, match="is empty"):
            from_frame(empty)


def test_files_have_the_name_and_layout_asked_for(tmp_path):
    images = np.arange(20 * 48, dtype=float).reshape(20, 4, 4, 3)
    np.savez(tmp_path / "some.npz", x=images, y=LABELS)
    assert load(tmp_path / "some.npz").name == "some"
    data = load(tmp_path / "some.npz", name="mine", layout="channels_last", test_fraction=0.0)
    assert (data.name, data.input_shape) == ("mine", (3, 4, 4))
    assert load(tmp_path / "some.npz", layout="channels_first", test_fraction=0.0).input_shape == (4, 4, 3)


def test_a_data_set_refuses_each_misfit_and_tells_its_task():
    x, y = torch.eye(4), torch.arange(4.0)
    train = Split(x, y)
    for test in (Split(x[:, :3], y), Split(x, torch.stack([y, y], 1))):
        with pytest.raises(ValueError, match="same input shape and number of outputs"):
            Dataset(train, test)
    for inputs, targets in ((x.long(), y), (x, y.long())):
        with pytest.raises(ValueError, match="holds floating-point tensors"):
            Split(inputs, targets)
    for name in ("train_labels", "test_labels"):
        with pytest.raises(ValueError, match=rf"{name} must have shape \(4,\)"):
            Dataset(train, train, **{name: torch.zeros(3, dtype=torch.long)})
    with pytest.raises(ValueError, match="task must be"):
        Dataset(train, train, task="ranking")
    assert Dataset(train, train).task == "regression"
    assert Dataset(train, train, classes=("a", "b")).task == "classification"
    assert Dataset(train, train, train_labels=torch.arange(4)).task == "classification"
    assert Dataset(Split(x, 2 * (y % 2) - 1), train).task == "classification"
    made = Dataset(train, train, name="tiny", notes=("old",))
    assert made.noted("new").notes == ("new", "old")
    assert made.noted() is made
    assert made.with_targets(lambda z: z[:, 0]).name == "tiny"
    assert made.with_targets(lambda z: z[:, 0], name="first").name == "first"
    for bad in (torch.tensor([1.0, torch.nan, 2.0, 3.0]), torch.tensor([[1.0, 2.0]] * 3 + [[torch.inf, 0.0]])):
        with pytest.raises(ValueError, match="targets must be finite"):
            Split(x, bad)


def test_wrong_labels_need_two_classes_and_test_labels_among_them():
    clean = digits().subset(60, seed=0, n_test=10)
    two = clean.take((clean.train_labels < 2).nonzero()[:, 0], (clean.test_labels < 2).nonzero()[:, 0])
    assert len(with_wrong_labels(two, 0.5).train) == len(two.train)  # two are enough
    with pytest.raises(ValueError, match="labels of two classes or more"):
        with_wrong_labels(replace(clean, train_labels=torch.zeros(60, dtype=torch.long)), 0.1)
    with pytest.raises(ValueError, match="test labels of the classes"):
        with_wrong_labels(replace(clean, test_labels=None), 0.1, test=True)
    with pytest.raises(ValueError, match="test labels of the classes"):
        with_wrong_labels(replace(two, test=clean.test, test_labels=clean.test_labels), 0.1, test=True)


def test_arrays_that_need_more_digits_are_told_and_what_does_not_fit_is_refused():
    offset = 1e8 + np.arange(20.0)[:, None] * np.array([1.0, 1e3])
    data = from_arrays(offset, LABELS, test_fraction=0.0)
    assert any("1 of 2 features of the inputs lose digits" in note for note in data.notes)
    exact = from_arrays(offset, LABELS, test_fraction=0.0, dtype=torch.float64)
    assert not any("lose digits" in note for note in exact.notes)
    for sign in (1, -1):
        with pytest.raises(ValueError, match=r"hold 1e\+39"):
            from_arrays(np.where(np.arange(20)[:, None] == 3, sign * 1e39, X), LABELS)
