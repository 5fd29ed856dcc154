"""What the targets of a data set are: classes or numbers, by one rule for all ways in, told in a note."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorscope.data.arrays._array import AnyArray
from priorscope.data.tables._column import GAPS
from priorscope.data.tables._whole import whole_number
from priorscope.printing import printed

__all__: list[str] = []

FEW = 20  # so many different integers are classes, more are a quantity; as docs/data.md says


@printed
@dataclass(frozen=True)
class Targets:
    """Targets of all rows, the training rows first: labels with the names of the classes, or real numbers.

    ``codes`` are the integers that the classes had of themselves (None for words): their parity is that of the label.
    ``signs`` says that the two classes are −1 and +1 and that ``numbers`` are to be kept as they are.
    """

    notes: tuple[str, ...]
    labels: NDArray[np.int64] | None = None
    names: tuple[str, ...] = ()
    codes: NDArray[np.int64] | None = None
    numbers: AnyArray | None = None
    signs: bool = False


def read_targets(
    train: AnyArray,
    test: AnyArray | None,
    scheme: str | None = None,
    class_names: Sequence[str] | None = None,
) -> Targets:
    """Decide by the training rows what the targets are, and hold the test rows to it.

    Words and booleans are classes. Integers are classes when there are two values; when there are at most 20, all from
    0 to 20 or twice as many rows as values; or when there are more, counted from 0 or 1 without gaps, twice as many rows
    as values. Floats are classes when all are 0 or 1, −1 or 1, or counted from 0 or 1 without gaps up to 20 values, twice
    as many rows as values. One-hot rows are classes. Anything else is a regression; several columns of
    integers or of 0 and 1 are refused, for they may be many labels per row. ``scheme`` (``classes=``) settles it.

    Example:
        >>> read_targets(np.array([0.0, 1.0, 1.0]), None).names, read_targets(np.array([0.5, 1.0]), None).names
        (('0', '1'), ())
    """
    train = _column(train, "targets")
    test = None if test is None or test.size == 0 else _column(test, "test targets")
    if train.size == 0:
        raise ValueError("targets are empty; a data set needs at least 2 rows.")
    _check_whole(train, "targets")
    if test is not None:
        _check_whole(test, "test targets")
        _check_alike(train, test)
    if train.ndim == 2:
        return _many_columns(train, test, scheme, class_names)
    notes: tuple[str, ...] = ()
    if train.dtype.kind == "U" and class_names is None:
        train, test, notes = _numerals(train, test, scheme)
    if scheme == "real":
        if train.dtype.kind == "U":
            raise ValueError(f"targets of a regression must be numbers; got words such as {str(train[0])!r}.")
        return Targets(notes, numbers=_joined(train, test).astype(np.float64))
    if train.dtype.kind == "U":
        return _words(train, test, scheme, class_names, notes)
    if train.dtype.kind == "b":
        return _classes(train, test, scheme, class_names, ())
    whole = train.dtype.kind in "ui" or bool(np.all(train == np.rint(train)))
    if class_names is not None or scheme is not None:
        if not whole:
            raise ValueError(
                f"classes={scheme!r} needs integer or word labels of shape (n,); got {train.dtype} of {train.shape}. "
                "Convert the labels with y.astype(int), or leave classes out for a regression."
            )
        return _classes(train, test, scheme, class_names, notes)
    is_classes, why = _decide(train, whole)
    if not is_classes:
        told = (*notes, why) if why else notes
        return Targets(told, numbers=_joined(train, test).astype(np.float64))
    found = _classes(train, test, scheme, class_names, (*notes, why) if why else notes)
    if train.dtype.kind == "f" and found.names == ("-1", "1"):
        note = "targets are −1 and +1: two classes, kept as one column"
        return Targets((note,), found.labels, found.names, found.codes, _joined(train, test), signs=True)
    return found


def _decide(y: AnyArray, whole: bool) -> tuple[bool, str]:
    """Whether numbers (n,) are classes, and a note where the other answer was possible."""
    if not whole:
        return False, ""
    values = np.unique(y)
    n, k = len(y), len(values)
    low, high = values[0], values[-1]
    counted = bool(low in (0, 1) and int(high) - int(low) + 1 == k)
    real = "classes='real' for a regression"
    if y.dtype.kind == "f":
        if k == 2 and (low, high) in ((0, 1), (-1, 1)):
            return True, f"targets are the floats {low:g} and {high:g}: two classes; pass {real}"
        if k > 1 and counted and k <= FEW and n >= 2 * k:
            return True, f"targets are floats counted {low:g} to {high:g}: {k} classes; pass {real}"
        return False, f"targets are {k} different whole numbers: a regression; pass classes='classes' for classes"
    if k <= 2:
        return True, ""
    if k <= FEW and ((low >= 0 and high <= FEW) or n >= 2 * k):
        return True, f"targets are {k} different integers, {low} to {high}: classes; pass {real}"
    if k > FEW and counted and n >= 2 * k:
        return True, f"targets are {k} different integers, counted from {low}: classes; pass {real}"
    return (
        False,
        f"targets are {k} different integers, {low} to {high}: a regression; pass classes='classes' for classes",
    )


def _column(y: AnyArray, what: str) -> AnyArray:
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim not in (1, 2) or (y.ndim == 2 and y.shape[1] == 0):
        raise ValueError(f"{what} must have shape (n,) or (n, outputs); got {y.shape}.")
    if y.ndim == 2 and y.dtype.kind == "U":
        raise ValueError(f"{what} of words need shape (n,), one class per row; got {y.shape}. Pick one column.")
    return y


def _check_whole(y: AnyArray, what: str) -> None:
    """Raise for NaN, infinities, and words that stand for a missing value."""
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        bad = ~np.isfinite(y.reshape(len(y), -1)).all(1)
        raise ValueError(
            f"{what} must be finite; {int(bad.sum())} of {len(y)} rows hold NaN or infinity "
            f"(the first is row {int(np.flatnonzero(bad)[0])}). Drop these rows or fill them in before making the data set."
        )
    if y.dtype.kind == "U":
        gone = np.isin(np.char.lower(np.char.strip(y)), sorted(GAPS))
        if gone.any():
            first = int(np.flatnonzero(gone)[0])
            raise ValueError(
                f"{what} hold {int(gone.sum())} missing values (the first is {str(y[first])!r} in row {first}). "
                "Drop these rows, or give this class another name."
            )


def _check_alike(train: AnyArray, test: AnyArray) -> None:
    """Raise unless the test targets are of the kind of the training targets."""
    if train.ndim != test.ndim or train.shape[1:] != test.shape[1:]:
        raise ValueError(
            f"training and test targets must have the same columns; got shapes {train.shape} and {test.shape}."
        )
    kinds = {"u": "integers", "i": "integers", "f": "floats", "b": "booleans", "U": "words"}
    a, b = kinds[train.dtype.kind], kinds[test.dtype.kind]
    if a == b or (a == "floats" and b == "integers"):
        return
    if a == "integers" and b == "floats" and bool(np.all(test == np.rint(test))):
        return
    example = test.reshape(-1)[0]
    raise ValueError(
        f"training targets are {a} and test targets are {b} (such as {example}); both must be of one kind. "
        "Convert one of them."
    )


def _joined(train: AnyArray, test: AnyArray | None) -> AnyArray:
    return train if test is None else np.concatenate([train, test])


def _numerals(
    train: AnyArray, test: AnyArray | None, scheme: str | None
) -> tuple[AnyArray, AnyArray | None, tuple[str, ...]]:
    """Words that are all numbers, with a fraction among them or a regression asked for, as floats."""
    rows = _joined(train, test)
    try:
        numbers = np.char.strip(rows).astype(np.float64)
    except ValueError:
        return train, test, ()
    fractions = not all(whole_number(str(word)) for word in rows)
    if not (fractions or scheme == "real"):
        return train, test, ()
    _check_whole(numbers, "targets")
    note = f"targets are {len(rows)} numbers written as words; they are read as numbers"
    return numbers[: len(train)], None if test is None else numbers[len(train) :], (note,)


def _words(
    train: AnyArray,
    test: AnyArray | None,
    scheme: str | None,
    class_names: Sequence[str] | None,
    notes: tuple[str, ...],
) -> Targets:
    k, n = len(np.unique(train)), len(train)
    if k > FEW and 2 * k > n and scheme is None and class_names is None:
        raise ValueError(
            f"targets are {k} different words in {n} rows: too many for classes, as in a column of names or identifiers. "
            "Check which column is the target, or pass classes='classes' if they are classes."
        )
    return _classes(train, test, scheme, class_names, notes)


def _classes(
    train: AnyArray,
    test: AnyArray | None,
    scheme: str | None,
    class_names: Sequence[str] | None,
    notes: tuple[str, ...],
) -> Targets:
    """Labels by the sorted values of the training rows, or by ``class_names``."""
    rows = _joined(train, test)
    words = rows.dtype.kind in "bU"
    if class_names is not None:
        names = tuple(str(name) for name in class_names)
        if len(set(names)) < len(names):
            raise ValueError(f"class_names must differ from each other; got {', '.join(names)}.")
        if words and rows.dtype.kind == "U":
            index = {name: i for i, name in enumerate(names)}
            unknown = sorted({str(v) for v in rows} - set(names))
            if unknown:
                raise ValueError(f"labels {', '.join(unknown[:5])} are not among class_names: {', '.join(names)}.")
            labels = np.array([index[str(v)] for v in rows], dtype=np.int64)
        else:
            labels = rows.astype(np.int64)
            if int(labels.min()) < 0 or int(labels.max()) >= len(names):
                raise ValueError(f"labels must lie in 0..{len(names) - 1} for {len(names)} class names.")
        return Targets(notes, labels, names, None if words else labels)
    values = np.unique(train)
    if train.dtype.kind == "U" and all(whole_number(str(v)) for v in values):
        values = np.array(sorted(values, key=lambda v: (int(v), v)), dtype=train.dtype)
    position = {v: i for i, v in enumerate(values.tolist())}
    unseen = sorted({v for v in ([] if test is None else test.tolist()) if v not in position}, key=str)
    if unseen:
        shown = ", ".join(_name(v) for v in unseen[:5])
        raise ValueError(
            f"test targets hold {len(unseen)} class(es) that no training row has: {shown}; the training classes are "
            f"{', '.join(_name(v) for v in values.tolist()[:10])}. Drop these rows, or pass class_names with all classes."
        )
    labels = np.array([position[v] for v in rows.tolist()], dtype=np.int64)
    names = tuple(_name(v) for v in values.tolist())
    codes = None if words or not _fits(rows) else rows.astype(np.int64)
    return Targets(notes, labels, names, codes)


def _fits(rows: AnyArray) -> bool:
    return bool(np.abs(rows.astype(np.float64)).max() < 2**62)


def _name(value: object) -> str:
    return f"{value:.0f}" if isinstance(value, float) else str(value)


def _many_columns(
    train: AnyArray, test: AnyArray | None, scheme: str | None, class_names: Sequence[str] | None
) -> Targets:
    """Columns of targets: one-hot rows are classes, real columns a regression, many labels per row are refused."""
    rows = _joined(train, test)
    if scheme == "real":
        return Targets((), numbers=rows.astype(np.float64))
    low = rows.min()
    binary = bool(np.isin(rows, (0, 1)).all() or np.isin(rows, (-1, 1)).all())
    if binary and bool(((rows == 1).sum(1) == 1).all()):
        k = rows.shape[1]
        if class_names is not None and len(class_names) != k:
            raise ValueError(f"one-hot targets have {k} columns; got {len(class_names)} class names.")
        names = tuple(str(i) for i in range(k)) if class_names is None else tuple(map(str, class_names))
        labels = rows.argmax(1).astype(np.int64)
        return Targets((f"targets are one-hot rows: {k} classes",), labels, names, labels)
    if scheme is not None or class_names is not None:
        raise ValueError(
            f"classes={scheme!r} needs integer or word labels of shape (n,), or one-hot rows; got {rows.dtype} of "
            f"{train.shape}. Give one label per row."
        )
    if binary or rows.dtype.kind in "bui":
        kind = f"{low:g} and 1" if binary else "integers"
        raise ValueError(
            f"targets of shape {train.shape} hold {kind}, not one class per row: several labels per row have no class. "
            "Pass one column at a time for classes, or classes='real' to fit all columns as numbers."
        )
    return Targets((), numbers=rows)
