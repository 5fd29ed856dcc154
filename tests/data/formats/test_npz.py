"""Archives: names of arrays, parts that do not fit, damage."""

import io
import zipfile

import numpy as np
import pytest
import torch

from priorscope.data import load

X = np.random.default_rng(0).normal(size=(20, 3))
Y = np.arange(20) % 2


def saved(tmp_path, **arrays):
    np.savez(tmp_path / "a.npz", **arrays)
    return tmp_path / "a.npz"


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ("x", "y"),
        ("X", "Y"),
        ("inputs", "labels"),
        ("features", "target"),
        ("X_train", "y_train"),
        ("train_images", "train_labels"),
        ("xtrain", "ytrain"),
        ("Training-Data", "Training-Labels"),
        ("arr_0", "arr_1"),
        ("foo", "bar"),
    ],
)
@pytest.mark.parametrize("columns", [1, 2])
def test_names_of_arrays(tmp_path, x, y, columns):
    data = load(saved(tmp_path, **{x: X, y: Y if columns == 1 else Y[:, None]}), test_fraction=0)
    assert sorted(data.inputs.tolist()) == sorted(X.astype(np.float32).tolist())
    assert data.classes == ("0", "1")
    guessed = x in ("arr_0", "foo")
    assert data.notes == ((f"inputs: the array {x}; targets: the array {y}",) if guessed else ())


def test_parts_and_what_is_left(tmp_path):
    data = load(saved(tmp_path, x_train=X, y_train=Y, x_val=X[:4], y_val=Y[:4], x_test=X[:6], y_test=Y[:6], ids=Y))
    assert (len(data.train), len(data.test)) == (20, 6)
    assert data.notes == ("arrays that are not read: x_val, y_val, ids",)
    data = load(saved(tmp_path, x=X, y=Y, valid_x=X[:4], valid_y=Y[:4]))
    assert (len(data.test), data.notes) == (4, ("the test part is valid_x, valid_y",))
    data = load(saved(tmp_path, x=X, y=Y, z=X[:, 0]), target="z")
    assert data.task == "regression"
    assert data.notes == ("arrays that are not read: y",)
    images = np.random.default_rng(1).integers(0, 256, (20, 8, 8, 3), dtype=np.uint8)
    colours = load(saved(tmp_path, images=images, labels=Y), test_fraction=0)
    assert colours.input_shape == (3, 8, 8)
    assert "3 channels last" in colours.notes[0]
    expected = torch.from_numpy(images.transpose(0, 3, 1, 2).copy()).float() / 255
    assert sorted(colours.inputs.flatten(1).tolist()) == sorted(expected.flatten(1).tolist())


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        ({"x": X, "y": Y, "x_test": X[:4]}, {}, "holds x_test and not the other half of the test part"),
        ({"x": X, "y": Y, "y_test": Y[:4]}, {}, "holds y_test and not the other half"),
        ({"x": X, "y": Y, "x_test": X, "y_test": Y[:10]}, {}, "20 inputs and 10 targets"),
        ({"x": X, "data": X, "y": Y}, {}, "holds x and data, which could be the same thing"),
        ({"x": X, "X": X, "y": Y}, {}, "holds x and X, which could be the same thing"),
        ({"x": X}, {}, "needs arrays for inputs .* it holds x"),
        ({}, {}, "it holds nothing"),
        ({"foo": X, "bar": X}, {}, "needs arrays for inputs"),
        ({"foo": X, "bar": Y[:5]}, {}, "needs arrays for inputs"),
        ({"x": X, "y": Y}, {"target": "z"}, "no array 'z' for the targets; it holds x, y"),
        ({"x": X, "y": Y}, {"target": 1}, "target must be one of the names, not 1"),
        ({"x": X, "y": np.float64(3)}, {}, r"one row per sample; got shapes \(20, 3\) and \(\)"),
        ({"x": X * 1j, "y": Y}, {}, "real and the imaginary part"),
        ({"x": X, "y": Y.astype("M8[D]")}, {}, "turn dates into numbers"),
        ({"x": X, "y": np.array([{"a": 1}] * 20, dtype=object)}, {}, "y in a.npz holds Python objects"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, arrays, options, message):
    with pytest.raises(ValueError, match=message):
        load(saved(tmp_path, **arrays), **options)


def header(shape, kind="<f8") -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": kind, "fortran_order": False, "shape": shape})
    return out.getvalue()


def archive(path, raw: bytes):
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("x.npy", raw)
        stream = io.BytesIO()
        np.save(stream, Y)
        out.writestr("y.npy", stream.getvalue())
    return path


def test_damaged_archives_end_in_one_sentence(tmp_path):
    whole = saved(tmp_path, x=X, y=Y).read_bytes()
    bad = tmp_path / "bad.npz"
    for cut in (0, 1, 3, 50, len(whole) // 2, len(whole) - 1):
        bad.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match="bad.npz is not a whole .npz archive"):
            load(bad)
    named = bytearray(whole.replace(b"x.npy", b"\xff.npy"))
    for mark, flags in ((b"PK\x03\x04", 7), (b"PK\x01\x02", 9)):  # names said to be UTF-8, which they are not
        named[named.index(mark) + flags] |= 8
    bad.write_bytes(named)
    with pytest.raises(ValueError, match="bad.npz is not a whole .npz archive .*utf-8"):
        load(bad)
    spoilt = bytearray(whole)
    spoilt[300] ^= 255  # inside the numbers of x: the checksum of the archive tells
    bad.write_bytes(spoilt)
    with pytest.raises(ValueError, match="not a whole .npz archive .*CRC"):
        load(bad)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (header((10**12, 10**6)) + bytes(100), r"should hold 8000000000000000000 bytes .*\(1000000000000, 1000000\)"),
        (header((2**64, 2**64)) + bytes(8), "should hold"),
        (header((-1, 5)) + bytes(8), "no array has"),
        (header((2, 5), "|O") + bytes(80), "without unpickling"),
        (header((2, 5)) + bytes(79), "should hold 80 bytes of data .* it has 79"),
        (header((2, 5)) + bytes(81), "should hold 80 bytes of data .* it has 81"),
        (b"not an array", "does not start as a numpy array does"),
        (header((2, 5))[:40], "does not start as a numpy array does"),
        (b"\x93NUMPY\x03\x00" + header((2, 5))[8:] + bytes(80), "does not start as a numpy array does"),
        (b"\x93NUMPY\x01\x00\x10\x00{'descr': 3}    \n", "does not start as a numpy array does"),
    ],
)
def test_declared_shapes_are_checked_before_memory_is_asked_for(tmp_path, raw, message):
    (tmp_path / "x.npy").write_bytes(raw)
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "x.npy")
    with pytest.raises(ValueError, match=message):
        load(archive(tmp_path / "x.npz", raw))
