"""``priorscope fit``: a kernel machine fitted to a table, images or arrays, written to one file."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pandas as pd

    from priorscope.data import Contents, Frame
    from priorscope.sklearn import KernelMachine

__all__ = ["arrays", "fit", "read_file"]

FEW = 20  # different whole numbers up to which they may be classes; as docs/data.md says


def fit(
    data: Annotated[Path, typer.Argument(help="A table (.csv …), or whatever `priorscope data show` reads.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File of the fitted machine, .npz.")],
    target: Annotated[str | None, typer.Option(help="Target column of a table; the last by default.")] = None,
    task: Annotated[str | None, typer.Option(help="classification or regression; by the target unless given.")] = None,
    arch: Annotated[
        str, typer.Option("--arch", "-a", help="auto, or a name such as fcn-3, gap-2-erf, laplace.")
    ] = "auto",
    head: Annotated[str, typer.Option(help="regression or svm.")] = "regression",
    metric: Annotated[
        str | None, typer.Option(help="What the choice goes by: squared, error, balanced, log-loss.")
    ] = None,
    balanced: Annotated[bool, typer.Option("--balanced", help="Weigh classes alike, whatever their sizes.")] = False,
    features: Annotated[
        str | None, typer.Option(help="learn: the kernel learns which directions of the inputs count.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of rows on which kernels are compared, and of landmarks.")] = 0,
) -> None:
    """Fit a kernel machine: kernel, inputs and ridge are chosen by leave-one-out, and the machine is written to one file.

    Example: priorscope fit data.csv --target y --out model.npz
    """
    if out.suffix.lower() != ".npz":
        raise ValueError(f"--out must end in .npz; got {out.name!r}.")
    from rich.console import Console

    import priorscope as ps
    from priorscope.contracts import FeatureKernel, missing

    machine = ps.KernelMachine(
        arch,
        task=task,
        head=head,
        metric=metric,
        class_weight="balanced" if balanced else None,
        features=features,
        seed=seed,
    )
    X, y, notes, name = _samples(data, target)
    with Console(stderr=True).status(f"comparing kernels on {len(y)} rows"):
        machine.fit(X, y)
    machine.target_name_ = name
    machine.save(out)
    screen = Console(soft_wrap=True)
    told = [_leading(machine)] if features is not None and not missing(machine.model_, FeatureKernel) else []
    for line in (f"target: {name or 'y'}", *notes, str(machine.report_), *told, f"written to {out}"):
        screen.print(line, markup=False, highlight=False)


def _leading(machine: KernelMachine) -> str:
    """The columns with the largest share in the slope of the predictor."""
    shares = machine.feature_importances_
    order = shares.argsort()[::-1][:5]
    names = machine.column_names_
    return "columns that count most: " + ", ".join(f"{names[j]} ({100 * shares[j]:.0f} %)" for j in order)


def _samples(path: Path, target: str | None) -> tuple[Any, Any, tuple[str, ...], str | None]:
    """Inputs and targets of a file (a frame where its columns have names), notes, and the name of the target if it has one."""
    from priorscope.data import Frame

    found = read_file(path, target)
    frame = found if isinstance(found, Frame) else found.frame(target or "y")
    if frame is None:
        assert not isinstance(found, Frame)
        return *_with_targets(found, path), target
    name = _target(frame.names, target if isinstance(found, Frame) else target or "y", path.name)
    samples = frame.samples(name)
    rows = samples.pandas()
    notes = (*(() if isinstance(found, Frame) else found.notes), *samples.notes, *samples.apart)
    return rows.drop(columns=name), _values(rows[name], path.name), notes, name if isinstance(found, Frame) else target


def read_file(path: Path, target: str | None, words: Collection[str] = ()) -> Frame | Contents:
    """What the format of a file makes of it: a frame where its columns have names, or arrays."""
    from priorscope.data import ReadOptions, known_formats

    if not path.exists():
        raise FileNotFoundError(f"no file or folder {path}.")
    found = next((f for f in known_formats() if f.owns(path)), None)
    if found is None:
        raise ValueError(f"{path.name} is of no known format: {'; '.join(f.reads for f in known_formats())}.")
    return found.read(path, ReadOptions(target=target, size="common", words=frozenset(words)))


def _target(names: Sequence[str], target: str | None, file: str) -> str:
    """The name of the target column."""
    if len(names) < 2:
        raise ValueError(f"{file} needs a target column and at least one input column; it has {len(names)}.")
    if target is None:
        return names[-1]
    if target not in names:
        close = difflib.get_close_matches(target, names, 1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"{file} has no column {target!r}; its columns are {', '.join(names[:20])}.{hint}")
    return target


def _values(column: pd.Series, file: str) -> Any:
    """Targets as the machine takes them; a gap is refused."""
    gone = column.isna()
    if gone.any():
        raise ValueError(
            f"the target column {column.name!r} of {file} has missing values in {int(gone.sum())} of {len(column)} rows (first "
            f"in data row {int(gone.to_numpy().argmax()) + 1}). Fill them in or drop these rows first."
        )
    if column.dtype.kind == "i" and column.nunique() > FEW:
        return column.to_numpy(dtype=float)
    return column.to_numpy(dtype=str) if column.dtype.kind == "O" else column.to_numpy()


def _with_targets(contents: Contents, path: Path) -> tuple[Any, Any, tuple[str, ...]]:
    """Inputs and targets of a file without names of columns; refused where it has no targets."""
    if contents.y is None:
        raise ValueError(f"{path.name} holds inputs and no targets; a machine needs both.")
    return arrays(contents)


def arrays(contents: Contents) -> tuple[Any, Any, tuple[str, ...]]:
    """Inputs and targets of a file without names of columns, in the order of the file; of its training part where it has two."""
    import numpy as np

    x, y = np.asarray(contents.x), np.asarray(contents.y)
    if contents.layout == "channels_last":
        x = np.moveaxis(x, -1, 1)
    elif contents.layout == "grey":
        x = x[:, None]
    notes = contents.notes if contents.test is None else (*contents.notes, "the test part of the file is left out")
    return x, y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y, notes
