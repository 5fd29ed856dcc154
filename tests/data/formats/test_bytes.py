"""Whole files as bytes: packed or not, within memory, cut off or too long."""

import gzip
import io

import pytest

from priorscope.data.formats import _bytes
from priorscope.data.formats._bytes import read_bytes, read_exactly


def test_packed_and_plain_files_hold_the_same(tmp_path):
    (tmp_path / "plain").write_bytes(b"abc" * 50)
    (tmp_path / "packed").write_bytes(gzip.compress(b"abc" * 50))  # by its first bytes, whatever its name
    assert read_bytes(tmp_path / "plain") == read_bytes(tmp_path / "packed") == b"abc" * 50


def test_memory_is_asked_for_as_many_times_the_size_as_the_reader_needs(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(_bytes, "check_memory", lambda size, what: asked.append((size, what)))
    (tmp_path / "some").write_bytes(b"x" * 10)
    read_bytes(tmp_path / "some")
    read_bytes(tmp_path / "some", times=7)
    assert asked == [(40, "some"), (70, "some")]


def test_as_many_bytes_as_were_declared():
    assert read_exactly(io.BytesIO(b"12345"), 5, "f", "labels") == b"12345"
    for n, came in ((6, "has 5"), (4, "has more")):
        with pytest.raises(ValueError, match=f"f should hold {n} bytes of data for labels; it {came}"):
            read_exactly(io.BytesIO(b"12345"), n, "f", "labels")
