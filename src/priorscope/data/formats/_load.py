"""One door for files: find the format that owns a path, read it, make a data set of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch

from priorscope.checks import SEED, checked, number, optional, whole
from priorscope.data._dataset import Dataset
from priorscope.data.arrays._from_arrays import from_arrays
from priorscope.data.arrays._layout import Layout, check_layout
from priorscope.data.arrays._missing import Missing
from priorscope.data.formats._format import Contents, ReadOptions
from priorscope.data.formats._registry import find_format, formats_in_words
from priorscope.data.tables._frame import Frame
from priorscope.data.tables._table import make_table

__all__ = ["load"]


@checked(test_fraction=number(least=0, below=1), seed=SEED, channels=optional(whole()))
def load(
    path: str | Path,
    *,
    target: str | int | None = None,
    classes: str | None = None,
    test_fraction: float = 0.2,
    seed: int = 0,
    size: int | tuple[int, int] | Literal["common"] | None = None,
    channels: int | None = None,
    layout: Layout | None = None,
    missing: Missing | None = None,
    decimal: Literal[".", ","] | None = None,
    header: bool | None = None,
    keep: Collection[str] = (),
    name: str | None = None,
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """A data set from a file or a folder, by its layout; nothing is ever unpickled.

    - ``.npz`` (or a folder of ``.npy``) with arrays x, y (or inputs/targets, images/labels, …; with ``_train`` and ``_test``
      for two splits; ``target`` names the targets);
    - ``.npy`` of (n, columns) with the target in column ``target`` (the last), or ``target="labels.npy"`` beside it;
    - ``.csv``, ``.tsv``, ``.txt``, ``.data`` (also ``.gz``): numbers stay, words become one-hot columns, ``target`` names the
      target column (the last by default); separator, decimal sign and a row of names are found out, or given by
      ``decimal`` and ``header``;
    - idx files (a folder with train-images-idx3-ubyte …, or one images file beside its labels), plain or ``.gz``;
    - the CIFAR-10 binary layout (a folder, or one ``.bin`` batch);
    - a folder of images, one subfolder per class, with or without ``train`` and ``test`` above; ``size`` resizes
      (``"common"``: images of different sizes to their median, and says so in ``notes``);
    - formats of your own, see ``register_format``.

    ``classes`` is the label scheme; ``layout`` settles which axis of an array of images holds the channels; ``missing`` says
    whether gaps are refused ("refuse", the default for arrays) or filled in ("median", the default for tables). Where the
    layout has no test part, ``test_fraction`` of the rows becomes one. Columns of tables that number the rows are left out,
    but for those in ``keep``. What was decided is told in ``notes``.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "table.csv"
        >>> _ = file.write_text("a,colour,y\\n1,red,0.5\\n2,blue,1.5\\n3,red,2.5\\n")
        >>> data = load(file, test_fraction=0)
        >>> data.input_shape, data.task
        ((3,), 'regression')
    """
    path = Path(path).expanduser()
    if not path.exists():
        raise FileNotFoundError(f"no file or folder {path}; load reads {formats_in_words()}.")
    if isinstance(size, str) and size != "common":
        raise ValueError(f"size is a side, (height, width) or 'common'; got {size!r}.")
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal must be '.' or ','; got {decimal!r}.")
    if isinstance(target, bool) or not isinstance(target, (str, int, type(None))):
        raise TypeError(f"target must be a name or a position; got {target!r}.")
    check_layout(layout)
    found = find_format(path).read(path, ReadOptions(target, size, channels, decimal, header))
    if isinstance(found, Frame):
        table = make_table(found.columns, target, path.name, found.index, keep)
        notes = (*found.notes, *table.notes, *found.apart)
        found = Contents(table.x, table.y, missing="median", notes=notes, columns=table.names)
    if found.y is None:
        raise ValueError(f"{path.name} holds inputs and no targets; a data set needs both.")
    data = from_arrays(
        found.x,
        found.y,
        test=found.test,
        test_fraction=test_fraction,
        seed=seed,
        classes=classes,
        layout=layout or found.layout,
        missing=missing or found.missing,
        name=name or path.stem,
        dtype=dtype,
    )
    return replace(data, columns=found.columns).noted(*found.notes)
