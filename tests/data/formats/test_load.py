"""Every layout that load reads, made small in a temporary folder; nothing is unpickled."""

import gzip
import struct

import numpy as np
import pytest
import torch
from PIL import Image

from priorscope.data import load, read_idx


def idx_bytes(array: np.ndarray) -> bytes:
    return (
        bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.astype(np.uint8).tobytes()
    )


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, (12, 4, 4), dtype=np.uint8), np.arange(12) % 3


@pytest.mark.parametrize("packed", [False, True])
def test_idx_folder(tmp_path, images, packed):
    x, y = images
    for part, rows in (("train", slice(0, 8)), ("t10k", slice(8, 12))):
        for what, array, axes in (("images", x[rows], 3), ("labels", y[rows], 1)):
            raw = idx_bytes(array)
            name = f"{part}-{what}-idx{axes}-ubyte" + (".gz" if packed else "")
            (tmp_path / name).write_bytes(gzip.compress(raw) if packed else raw)
    data = load(tmp_path)
    assert (len(data.train), len(data.test), data.input_shape) == (8, 4, (1, 4, 4))
    torch.testing.assert_close(data.inputs[:, 0], torch.from_numpy(x[:8]).float() / 255)
    assert data.test_labels.tolist() == y[8:].tolist()
    one = load(tmp_path / ("train-images-idx3-ubyte" + (".gz" if packed else "")), test_fraction=0)
    assert len(one.train) == 8


def test_idx_says_what_is_wrong(tmp_path, images):
    bad = tmp_path / "train-images-idx3-ubyte"
    bad.write_bytes(b"hello")
    with pytest.raises(ValueError, match="is not an idx file"):
        read_idx(bad)
    bad.write_bytes(idx_bytes(images[0])[:-5])
    with pytest.raises(ValueError, match=r"should hold 192 bytes of data for shape \(12, 4, 4\); it has 187"):
        read_idx(bad)
    with pytest.raises(FileNotFoundError, match="labels of train-images"):
        load(bad)
    cut = tmp_path / "x-idx1-ubyte.gz"
    cut.write_bytes(gzip.compress(idx_bytes(np.arange(100)))[:40])
    with pytest.raises(ValueError, match="whole gzip file"):
        read_idx(cut)


def test_cifar_binary(tmp_path):
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (6, 3, 32, 32), dtype=np.uint8)
    labels = np.array([0, 9, 3, 0, 9, 3], np.uint8)
    records = np.concatenate([labels[:, None], pixels.reshape(6, -1)], 1)
    records[:4].tofile(tmp_path / "data_batch_1.bin")
    records[4:].tofile(tmp_path / "test_batch.bin")
    data = load(tmp_path, classes="one-vs-rest:9")
    assert (len(data.train), len(data.test), data.input_shape) == (4, 2, (3, 32, 32))
    torch.testing.assert_close(data.inputs, torch.from_numpy(pixels[:4]).float() / 255)
    assert data.targets[:, 0].tolist() == [-1, 1, -1, -1]
    assert len(load(tmp_path / "data_batch_1.bin", test_fraction=0).train) == 4
    (tmp_path / "test_batch.bin").write_bytes(b"123")
    with pytest.raises(ValueError, match=r"3 bytes is no multiple of 3073.*pickled layout is never read"):
        load(tmp_path)


def test_image_folder(tmp_path, images):
    x, _ = images
    for part in ("train", "test"):
        for name in ("cat", "dog"):
            (tmp_path / part / name).mkdir(parents=True)
            for i in range(3):
                Image.fromarray(x[i]).save(tmp_path / part / name / f"{i}.png")
    data = load(tmp_path)
    assert data.classes == ("cat", "dog")
    assert (len(data.train), len(data.test), data.input_shape) == (6, 6, (1, 4, 4))
    torch.testing.assert_close(data.inputs[:3, 0], torch.from_numpy(x[:3]).float() / 255)
    assert load(tmp_path / "train", size=2, channels=3).input_shape == (3, 2, 2)
    Image.new("RGB", (5, 7), (255, 0, 0)).save(tmp_path / "train" / "dog" / "9.png")
    with pytest.raises(ValueError, match=r"must have one size; got 2 sizes, such as 4×4 and 7×5"):
        load(tmp_path)
    (tmp_path / "train" / "dog" / "9.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"dog/9.png cannot be read as an image"):
        load(tmp_path)


def test_npz_and_npy(tmp_path):
    x, y = np.random.default_rng(0).normal(size=(10, 3)), np.arange(10) % 2
    np.savez(tmp_path / "a.npz", x_train=x, y_train=y, x_test=x[:4], y_test=y[:4])
    assert len(load(tmp_path / "a.npz").test) == 4
    np.savez(tmp_path / "b.npz", inputs=x, targets=x[:, 0])
    assert load(tmp_path / "b.npz").task == "regression"
    np.save(tmp_path / "c.npy", x)
    data = load(tmp_path / "c.npy", target=0, test_fraction=0)
    assert data.input_shape == (2,)
    assert sorted(data.targets[:, 0].tolist()) == sorted(x[:, 0].astype(np.float32).tolist())
    np.save(tmp_path / "labels.npy", y)
    assert load(tmp_path / "c.npy", target="labels.npy").classes == ("0", "1")
    np.savez(tmp_path / "d.npz", foo=x)
    with pytest.raises(ValueError, match=r"needs arrays for inputs.*it holds foo"):
        load(tmp_path / "d.npz")
    np.save(tmp_path / "e.npy", x[:, 0])
    with pytest.raises(ValueError, match=r"e.npy has shape \(10,\)"):
        load(tmp_path / "e.npy")


def test_pickles_are_refused(tmp_path):
    np.save(tmp_path / "p.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "p.npz", x=np.array([{"a": 1}], dtype=object), y=np.arange(1), allow_pickle=True)
    for name in ("p.npy", "p.npz"):
        with pytest.raises(ValueError, match="without unpickling"):
            load(tmp_path / name)


def test_csv_one_hot_target_and_tasks(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("age, colour, kind, price\n1,red,a,0.5\n2,blue,b,1.5\n3,red,a,2.5\n4,green,b,9\n")
    data = load(file, test_fraction=0)
    assert data.notes == (
        "target: the last column, 'price'",
        "input columns: age, colour=blue, colour=green, colour=red, kind=a, kind=b",
    )
    by_age = data.inputs[data.inputs[:, 0].argsort()]
    assert by_age[1].tolist() == [2, 1, 0, 0, 0, 1]
    assert data.task == "regression"
    named = load(file, target="kind", test_fraction=0)
    assert named.classes == ("a", "b")
    assert named.input_shape == (5,)
    assert load(file, target=1, test_fraction=0).classes == ("blue", "green", "red")
    with pytest.raises(ValueError, match="no column 'cost' for the target; its columns are age, colour, kind, price"):
        load(file, target="cost")
    file.write_text("a,b\n1,2\n3,\n")
    with pytest.raises(ValueError, match=r"'b' of t.csv has missing values in 1 of 2 rows \(first in data row 2\)"):
        load(file)
    file.write_text("name,y\n" + "".join(f"n{i},{i}.5\n" for i in range(101)))
    with pytest.raises(ValueError, match="101 different words"):
        load(file)
    file.write_text("y\n1\n2\n")
    with pytest.raises(ValueError, match="at least one input column"):
        load(file)


def test_unknown_layouts(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        load(tmp_path / "absent.csv")
    (tmp_path / "a.docx").write_text("x")
    with pytest.raises(ValueError, match="no layout that is known here"):
        load(tmp_path / "a.docx")
    with pytest.raises(ValueError, match="no layout that is known here"):
        load(tmp_path)


def test_tables_as_people_have_them(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a;b;y\n1;2;0.5\n2;3;1.5\n3;5;2.5\n")
    assert load(file, test_fraction=0).input_shape == (2,)
    file.write_text("1,2,0.5\n2,3,1.5\n3,5,2.5\n")  # no names: no row is lost
    bare = load(file, test_fraction=0)
    assert len(bare.train) == 3
    assert bare.notes == (
        "no row of names: columns are numbered",
        "target: the last column, 'column 2'",
        "input columns: column 0, column 1",
    )
    file.write_text("a,b,y\n1,2,0.5\n2,much,1.5\n3,5,2.5\n")
    with pytest.raises(ValueError, match=r"column 'b' of t.csv holds numbers, but 'much' in data row 2"):
        load(file)
    file.write_text("a,b,y\n")
    with pytest.raises(ValueError, match="no rows of data"):
        load(file)


def test_images_of_different_sizes_are_brought_to_the_median_when_asked(tmp_path):
    for i, (width, height) in enumerate([(5, 7), (6, 8), (9, 9)]):
        (tmp_path / "ab"[i % 2]).mkdir(exist_ok=True)
        Image.new("L", (width, height), 40 * i).save(tmp_path / "ab"[i % 2] / f"{i}.png")
    data = load(tmp_path, size="common", test_fraction=0)
    assert data.input_shape == (1, 8, 6)
    assert data.notes == ("images of 3 sizes were resized to 8×6, the median",)
    with pytest.raises(ValueError, match="got 'median'"):
        load(tmp_path, size="median")
