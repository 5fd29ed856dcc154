"""idx files whose headers lie, and damaged gzip files."""

import gzip
import struct

import numpy as np
import pytest

from priorscope.data import load, read_idx
from priorscope.data.formats._idx import IDX, read_idx_folder


def idx(shape, raw, kind=8, axes=None):
    return bytes([0, 0, kind, len(shape) if axes is None else axes]) + struct.pack(f">{len(shape)}I", *shape) + raw


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (idx((2**32 - 1,) * 3, bytes(10)), "should hold|would take"),
        (idx((2**32 - 1,) * 8, bytes(10)), "should hold|would take"),
        (idx((3, 4), bytes(11)), r"should hold 12 bytes of data for shape \(3, 4\); it has 11"),
        (idx((3, 4), bytes(13)), "should hold 12 bytes .* it has more"),
        (idx((3, 4), bytes(12), kind=7), "is not an idx file"),
        (idx((3, 4), b"", axes=200), "ends inside its header of 200 axes"),
        (idx((1,) * 9, bytes(1)), "declares 9 axes"),
        (idx((), bytes(1)), "is not an idx file"),
        (b"", "is not an idx file"),
    ],
)
def test_headers_that_lie(tmp_path, raw, message):
    for name, data in (("a-idx3-ubyte", raw), ("a-idx3-ubyte.gz", gzip.compress(raw))):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match=message):
            read_idx(tmp_path / name)


def test_gzip_that_is_cut_or_spoilt(tmp_path):
    whole = gzip.compress(idx((50,), bytes(range(50))))
    file = tmp_path / "a-idx1-ubyte.gz"
    for raw in (whole[:5], whole[:-9], whole[:-1], whole[:20] + b"\xff\xff\xff" + whole[23:], b"plain text", b""):
        file.write_bytes(raw)
        with pytest.raises(ValueError, match=r"not a whole gzip file|not an idx file|should hold"):
            read_idx(file)
    (tmp_path / "b-idx1-ubyte").write_bytes(whole)  # packed, though its name does not say so
    assert read_idx(tmp_path / "b-idx1-ubyte").tolist() == list(range(50))


def test_a_test_part_of_one_file_is_refused(tmp_path):
    for name, raw in {
        "train-images-idx3-ubyte": idx((4, 2, 2), bytes(range(16))),
        "train-labels-idx1-ubyte": idx((4,), bytes([0, 1, 0, 1])),
        "t10k-images-idx3-ubyte": idx((1, 2, 2), bytes(4)),
    }.items():
        (tmp_path / name).write_bytes(raw)
    with pytest.raises(ValueError, match="has t10k-images-idx3-ubyte and not the other file of the test part"):
        load(tmp_path)
    one = load(tmp_path / "train-images-idx3-ubyte", target="train-labels-idx1-ubyte", test_fraction=0)
    assert sorted((one.inputs * 255).round().flatten().int().tolist()) == np.arange(16).tolist()


@pytest.mark.parametrize(
    ("code", "kind"), [(0x08, "u1"), (0x09, "i1"), (0x0B, ">i2"), (0x0C, ">i4"), (0x0D, ">f4"), (0x0E, ">f8")]
)
def test_numbers_of_every_type_come_back(tmp_path, code, kind):
    values = np.array([[1, 2, 100], [0, 7, 99]]).astype(kind)
    (tmp_path / "a-idx2").write_bytes(idx((2, 3), values.tobytes(), kind=code))
    found = read_idx(tmp_path / "a-idx2")
    assert found.tolist() == values.tolist()
    assert found.dtype == np.dtype(kind).newbyteorder("=")


def test_folders_with_and_without_a_test_part_and_files_known_by_their_beginning(tmp_path):
    files = {
        "train-images.idx3-ubyte": idx((4, 2, 2), bytes(range(16))),
        "train-labels.idx1-ubyte": idx((4,), bytes([0, 1, 0, 1])),
    }
    for name, raw in files.items():
        (tmp_path / name).write_bytes(raw)
    train, test = read_idx_folder(tmp_path)
    assert test is None
    assert (train[0].shape, train[1].tolist()) == ((4, 2, 2), [0, 1, 0, 1])
    (tmp_path / "test-images-idx3-ubyte").write_bytes(idx((1, 2, 2), bytes(4)))
    (tmp_path / "test-labels-idx1-ubyte").write_bytes(idx((1,), bytes([1])))
    _, test = read_idx_folder(tmp_path)
    assert (test[0].shape, test[1].tolist()) == ((1, 2, 2), [1])
    (tmp_path / "test-images-idx3-ubyte").unlink()
    with pytest.raises(ValueError, match="has test-labels-idx1-ubyte and not the other"):
        read_idx_folder(tmp_path)
    for lacking in files:
        half = tmp_path / lacking.split(".")[0]
        half.mkdir()
        kept = next(name for name in files if name != lacking)
        (half / kept).write_bytes(files[kept])
        with pytest.raises(ValueError, match="needs train-images-idx3-ubyte and train-labels-idx1-ubyte"):
            read_idx_folder(half)
    plain = tmp_path / "plain"
    plain.write_bytes(files["train-images.idx3-ubyte"])
    assert IDX.owns(plain)
    for other in (b"\0\0\x08", b"\1\0\x08\x03", b"\0\0\x07\x03", b"\0\0\x08\x00", b"\0\0\x08\x09"):
        plain.write_bytes(other + bytes(8) * (len(other) == 4))
        assert not IDX.owns(plain)
    named = tmp_path / "plain.bin"
    named.write_bytes(files["train-images.idx3-ubyte"])
    assert not IDX.owns(named)  # a suffix says what it is
    with pytest.raises(FileNotFoundError, match="should lie beside it as plain"):
        load(tmp_path / "train-labels.idx1-ubyte", target="plain-labels")


@pytest.mark.parametrize("start", [b"", b"\0", b"\0\0\x08"])
def test_a_file_shorter_than_its_first_four_bytes_is_no_idx_file(tmp_path, start):
    (tmp_path / "short").write_bytes(start)
    with pytest.raises(ValueError, match="short is not an idx file"):
        read_idx(tmp_path / "short")
