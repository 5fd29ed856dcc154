"""Files and arrays of every kind, whole, in odd dress and damaged: each is read rightly or refused in one clear sentence.

Rightly means: every row whose values are known comes out with these values, no row is lost, and what was filled in or
encoded is told. Nothing but ValueError, TypeError and OSError may come out, and never without a message.
"""

from __future__ import annotations

import gzip
import io
import random
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from PIL import Image
from torch.utils.data import TensorDataset

from priorscope.data import Dataset, as_dataset, from_arrays, from_torch, load

CELLS = [
    "",
    " ",
    "NA",
    "?",
    "-",
    "--",
    "null",
    "None",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "1e-400",
    "0x10",
    "1_000",
    "1,5",
    "1.5",
    "1,100",
    "1.100",
    "1 100",
    "1'100",
    "5%",
    "$5",
    "€ 5",
    "(5)",
    "+5",
    "−5\n",
    "5 kg",
    "2020-01-31",
    "31/12/2020",
    "12:30",
    "yes",
    "NO",
    "True",
    "f",
    "é",
    "日本",
    '"',
    '""',
    "'",
    ";",
    ",",
    "tab\t",
    "nul\x00",
    "18446744073709551616",
    "99999999999999999999999\n",
    "1e5",
    ".5",
    "5.",
    ".",
    "e5",
    "++5",
    "1.2.3",
    "1,2,3",
    "=A1+1",
    "#REF!",
    "#N/A",
    "\ufeff",
    "\xa05",
    "٣",
    "½",
    "1e",
    "[1]",
    "{}",
    "a=b",
    "<b>",
    "$",
    "%",
    "000",
    "-0",
    "0",
    "1",
    "2",
    "many words here",
]


class Answer(Exception):
    """A wrong answer, with what was fed."""


def checked(make: Callable[[], Dataset]) -> Dataset | None:
    """The data set, or None where it was refused properly."""
    try:
        data = make()
    except (ValueError, TypeError, OSError) as error:
        text = " ".join(str(error).split())
        if type(error) not in (ValueError, TypeError, FileNotFoundError) or len(text) < 15 or len(text) > 1200:
            raise Answer(f"{type(error).__name__} is no clear error: {text!r}") from error
        return None
    for split in (data.train, data.test):
        if not bool(torch.isfinite(split.inputs).all() and torch.isfinite(split.targets).all()):
            raise Answer("numbers that are not finite came through")
    if not all(isinstance(note, str) and note for note in data.notes):
        raise Answer(f"notes are not sentences: {data.notes}")
    return data


def same_rows(data: Dataset, x: np.ndarray, y: np.ndarray) -> bool:
    """Whether the data set holds these rows and no others, in any order; y are numbers or words."""
    inputs = torch.cat([data.inputs, data.test.inputs]).flatten(1).double()
    if data.train_labels is not None and data.classes is not None:
        labels = torch.cat([data.train_labels, data.test_labels])
        targets = [data.classes[i] for i in labels.tolist()]
        wanted = [str(v).removesuffix(".0") for v in y.tolist()]
    else:
        targets = torch.cat([data.targets, data.test.targets])[:, 0].double().tolist()
        wanted = [float(v) for v in y.tolist()]
    got = sorted(zip(inputs.tolist(), targets))
    return got == sorted(zip(np.asarray(x, np.float64).reshape(len(x), -1).tolist(), wanted))


def problem(rng: random.Random) -> tuple[np.ndarray, np.ndarray]:
    """Inputs with quarters for digits (exact in every float, base and notation) and targets of a random kind."""
    n, d = rng.randint(8, 40), rng.randint(1, 4)
    g = np.random.default_rng(rng.getrandbits(32))
    x = g.integers(-4000, 4000, (n, d)) / 4 + 0.25 * (np.arange(d) == 0)
    kind = rng.choice(["real", "words", "codes", "truth"])
    if kind == "real":
        return x, g.integers(-4000, 4000, n) / 4 + 0.25 * (np.arange(n) % 2 + 1)
    words = {"words": ["ant", "bee", "cow"], "codes": ["0", "1", "2"], "truth": ["no", "yes"]}[kind]
    labels = np.array(words)[np.arange(n) % len(words)]  # enough of each that a split leaves two in training
    return x, labels.astype(int) if kind == "codes" else labels


def arrays(rng: random.Random, folder: Path) -> None:
    """Arrays in all sorts of containers."""
    x, y = problem(rng)
    if rng.random() < 0.5:  # images and signals, channels first or last
        shape = rng.choice([(8, 8, 3), (3, 8, 8), (7, 7), (5, 9, 1), (1, 5, 9), (40, 2), (2, 40), (3, 6, 3), (4, 4, 4)])
        x = np.random.default_rng(rng.getrandbits(32)).integers(0, 255, (len(y), *shape)) / 4
        last = shape in ((8, 8, 3), (5, 9, 1), (40, 2))
        open_shape = shape in ((3, 6, 3), (4, 4, 4))
        make = rng.choice([np.asarray, torch.from_numpy, np.ndarray.tolist])
        data = checked(lambda: from_arrays(make(x), y, seed=rng.randint(0, 9)))
        if (data is None) != open_shape:
            raise Answer(f"images {shape}: {data}")
        if data is not None and not same_rows(data, np.moveaxis(x, -1, 1) if last else x, y):
            raise Answer(f"images {shape} are not the rows that were given")
        return
    dress: dict[str, Callable[[np.ndarray], object]] = {
        "list": np.ndarray.tolist,
        "tensor": torch.from_numpy,
        "sparse": scipy.sparse.csr_array,
        "frame": pd.DataFrame,
        "object": lambda a: a.astype(object),
        "big-endian": lambda a: a.astype(">f4"),
        "fortran": np.asfortranarray,
        "masked": np.ma.asarray,
        "nullable": lambda a: pd.DataFrame(a).convert_dtypes(),
    }
    name = rng.choice(sorted(dress))
    dressed = dress[name](x)
    targets = rng.choice([lambda v: v, np.ndarray.tolist, pd.Series, lambda v: v[:, None]])(y)
    data = checked(lambda: as_dataset(dressed, targets, seed=rng.randint(0, 9)))
    if data is None or not same_rows(data, x, y):
        raise Answer(f"{name}: {data} is not what was given: {y[:5]}")
    if y.dtype.kind == "f":
        pairs = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
        if not same_rows(from_torch(pairs), x, y):
            raise Answer("pairs")


def odd_arrays(rng: random.Random, folder: Path) -> None:
    """Arrays with a fault: it must be refused, or have no effect."""
    x, y = problem(rng)
    g = np.random.default_rng(rng.getrandbits(32))
    fault = rng.choice(
        ["nan", "inf", "short", "none", "complex", "date", "empty", "one", "0d", "unseen", "kinds", "ragged"]
    )
    test = None
    if fault in ("nan", "inf"):
        x[g.integers(len(x)), 0] = np.nan if fault == "nan" else np.inf
    elif fault == "short":
        y = y[:-1]
    elif fault == "none":
        y = y.astype(object)
        y[g.integers(len(y))] = None
    elif fault == "complex":
        x = x * 1j
    elif fault == "date":
        x = x.astype("M8[s]")
    elif fault == "empty":
        x, y = x[:0], y[:0]
    elif fault == "one":
        y = np.repeat(y[:1], len(y))
    elif fault == "0d":
        x = x[0, 0]
    elif fault == "ragged":
        x = [row[: 1 + i % 2] for i, row in enumerate(np.column_stack([x, x]).tolist())]
    elif fault == "unseen":
        y, test = np.where(np.arange(len(y)) % 2, "a", "b"), (x, np.full(len(y), "c"))
    else:
        y, test = np.where(np.arange(len(y)) % 2, "a", "b"), (x, np.arange(len(y)))
    data = checked(lambda: from_arrays(x, y, test=test))
    if data is not None:
        raise Answer(f"{fault} was let through: {data}")


def text_of(rng: random.Random, x: np.ndarray, y: np.ndarray) -> tuple[list[list[str]], dict[str, object]]:
    """The cells of a table with a row of names, and how it is to be written."""
    style = {
        "separator": rng.choice([",", ";", "\t", "|"]),
        "comma": rng.random() < 0.3,
        "header": rng.random() < 0.7,
        "end": rng.choice(["\n", "\r\n"]),
        "code": rng.choice(["utf-8", "utf-8-sig", "utf-16"]),
        "quote": rng.random() < 0.3,
        "packed": rng.random() < 0.2,
    }

    def cell(v: object) -> str:
        if isinstance(v, float):
            return f"{v:.2f}".replace(".", "," if style["comma"] else ".")
        return str(v)

    rows = [[*(cell(float(v)) for v in row), cell(t.item())] for row, t in zip(x, y)]
    return [[*(f"n{i}" for i in range(x.shape[1])), "goal"], *rows], style


def write_table(cells: list[list[str]], style: dict[str, object], file: Path) -> Path:
    separator = str(style["separator"])

    def field(text: str) -> str:
        if style["quote"] or separator in text or any(c in text for c in '"\n\r'):
            return '"' + text.replace('"', '""') + '"'
        return text

    lines = [separator.join(field(c) for c in row) for row in (cells if style["header"] else cells[1:])]
    raw = (str(style["end"]).join(lines) + str(style["end"])).encode(str(style["code"]))
    file = file.with_name(file.name + ".gz") if style["packed"] else file
    file.write_bytes(gzip.compress(raw) if style["packed"] else raw)
    return file


def tables(rng: random.Random, folder: Path) -> None:
    """Whole tables in every notation, all of whose rows are known."""
    x, y = problem(rng)
    cells, style = text_of(rng, x, y)
    data = checked(lambda: load(write_table(cells, style, folder / "whole.csv"), seed=rng.randint(0, 9)))
    if data is None or not same_rows(data, x, y):
        raise Answer(f"{style}: {data} is not the table that was written; {data and data.notes}")
    if not any(note.startswith("target: the last column") for note in data.notes):
        raise Answer(f"the target is not told: {data.notes}")


def odd_cells(rng: random.Random, folder: Path) -> None:
    """A table with a few cells replaced: the other rows are read as they were, or the table is refused."""
    x, y = problem(rng)
    cells, style = text_of(rng, x, y)
    spoilt = {rng.randint(1, len(cells) - 1) for _ in range(rng.randint(1, 3))}
    for i in spoilt:
        cells[i][rng.randrange(len(cells[i]))] = rng.choice(CELLS)
    data = checked(lambda: load(write_table(cells, style, folder / "odd.csv"), test_fraction=0))
    if data is None:
        return
    if len(data.train) != len(x):
        raise Answer(f"{len(x)} rows became {len(data.train)}: {data.notes}")
    if data.input_shape == (x.shape[1],) and data.train_labels is None and y.dtype.kind == "f":
        found = {tuple(row) for row in torch.cat([data.inputs, data.targets], 1).double().tolist()}
        lost = [i for i in range(len(x)) if i + 1 not in spoilt and (*x[i], y[i]) not in found]
        if lost:
            raise Answer(f"row {lost[0]} was not read as it stands; {data.notes}")


def mutated(rng: random.Random, raw: bytes) -> bytes:
    """Bytes cut, turned over, doubled, dropped, or overwritten by extreme ones."""
    out = bytearray(raw)
    for _ in range(rng.choice([1, 1, 2, 5])):
        if not out:
            break
        at, length = rng.randrange(len(out)), rng.choice([1, 1, 2, 4, 8, 50])
        kind = rng.choice(["cut", "flip", "double", "drop", "extreme", "noise"])
        if kind == "cut":
            del out[at:]
        elif kind == "flip":
            out[at] ^= 1 << rng.randrange(8)
        elif kind == "double":
            out[at:at] = out[at : at + length]
        elif kind == "drop":
            del out[at : at + length]
        else:
            new = b"\xff" * length if kind == "extreme" else rng.randbytes(length)
            out[at : at + length] = new
    return bytes(out)


def whole_file(rng: random.Random, folder: Path) -> Path:
    """A file in one of the formats, small and sound."""
    x, y = problem(rng)
    kind = rng.choice(["npz", "npz packed", "npy", "csv", "csv.gz", "idx", "bin", "png", "structured"])
    if kind.startswith("npz"):
        (np.savez if kind == "npz" else np.savez_compressed)(folder / "a.npz", x=x, y=y)
        return folder / "a.npz"
    if kind in ("npy", "structured"):
        table = np.column_stack([x, np.arange(len(x)) % 3])
        if kind == "structured":
            table = np.rec.fromarrays(table.T, names=",".join(f"f{i}" for i in range(table.shape[1])))
        np.save(folder / "a.npy", table)
        return folder / "a.npy"
    if kind.startswith("csv"):
        cells, style = text_of(rng, x, y)
        return write_table(cells, {**style, "packed": kind.endswith("gz")}, folder / "a.csv")
    if kind == "idx":
        labels = np.uint8(np.arange(len(x)) % 2)
        (folder / "train-labels-idx1-ubyte").write_bytes(
            bytes([0, 0, 8, 1]) + struct.pack(">I", len(x)) + labels.tobytes()
        )
        pixels = np.uint8(np.arange(len(x) * 16) % 256)
        file = folder / "train-images-idx3-ubyte"
        file.write_bytes(bytes([0, 0, 8, 3]) + struct.pack(">3I", len(x), 4, 4) + pixels.tobytes())
        return file
    if kind == "bin":
        (folder / "a.bin").write_bytes(bytes(3073) + bytes([1]) + bytes(3072) + bytes([1]) + bytes(3072))
        return folder / "a.bin"
    for i in range(4):
        (folder / "pictures" / "ab"[i % 2]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.uint8(np.arange(36).reshape(6, 6) + i)).save(folder / "pictures" / "ab"[i % 2] / f"{i}.png")
    return folder / "pictures" / "a" / "0.png"


def damaged_files(rng: random.Random, folder: Path) -> None:
    """Files of every format with bytes changed."""
    place = folder / "damaged"
    place.mkdir(exist_ok=True)
    file = whole_file(rng, place)
    file.write_bytes(mutated(rng, file.read_bytes()))
    checked(lambda: load(place / "pictures" if file.suffix == ".png" else file, test_fraction=rng.choice([0, 0.2])))


def noise(rng: random.Random, folder: Path) -> None:
    """Bytes that are nothing, under the name of every format."""
    suffix = rng.choice([".npz", ".npy", ".csv", ".tsv", ".txt", ".bin", ".csv.gz", "-idx3-ubyte", "-idx3-ubyte.gz"])
    file = folder / f"noise{suffix}"
    starts = [
        b"",
        b"PK\x03\x04",
        b"\x93NUMPY\x01\x00",
        b"\x1f\x8b\x08",
        b"\0\0\x08\x03",
        b"a,b\n",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
    ]
    letters = b'0123456789.,;\t\n"-eE ax'
    body = (
        rng.randbytes(rng.randint(0, 300)) if rng.random() < 0.5 else bytes(rng.choices(letters, k=rng.randint(0, 300)))
    )
    file.write_bytes(rng.choice(starts) + body)
    checked(lambda: load(file))


KINDS = (arrays, odd_arrays, tables, tables, odd_cells, odd_cells, damaged_files, damaged_files, damaged_files, noise)


def run(seeds: range, folder: Path) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        kind = KINDS[seed % len(KINDS)]
        try:
            kind(rng, folder)
        except Exception as error:
            raise AssertionError(f"{kind.__name__} with seed {seed}: {type(error).__name__}: {error}") from error


def test_a_few_inputs_of_every_kind(tmp_path):
    run(range(150), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_inputs_of_every_kind(tmp_path, part):
    run(range(1000 + 300 * part, 1300 + 300 * part), tmp_path)


def test_the_checks_can_fail(tmp_path):
    x, y = problem(random.Random(1))
    data = from_arrays(x, y)
    assert same_rows(data, x, y)
    assert not same_rows(data, x + (np.arange(x.size) == 3).reshape(x.shape), y)
    assert not same_rows(data, x[:-1], y[:-1])
    with pytest.raises(Answer, match="KeyError|no clear error"):
        checked(lambda: (_ for _ in ()).throw(OSError("bad")))
    with pytest.raises(KeyError):
        checked(lambda: {}["x"])
    assert io.BytesIO(mutated(random.Random(2), b"abc" * 50)).getvalue() != b"abc" * 50
