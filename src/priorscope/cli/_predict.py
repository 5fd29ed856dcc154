"""``priorscope predict``: predictions of a saved kernel machine for the rows of a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from priorscope.writing import write_whole

if TYPE_CHECKING:
    import pandas as pd

    from priorscope.sklearn import KernelMachine

__all__ = ["predict"]

_FORMULA = r"[=@\t\r]|[+-](?![0-9.]+$)"  # what a spreadsheet runs; a number with its sign is none


def predict(
    model: Annotated[Path, typer.Argument(help="A file that `priorscope fit` wrote.")],
    data: Annotated[Path, typer.Argument(help="New rows: a table with the columns of the fit, or arrays or images.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File of predictions, .csv; else they are printed.")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    interval: Annotated[float | None, typer.Option(help="Add intervals of numbers at this level, such as 0.9.")] = None,
) -> None:
    """Predict the rows of a file; columns may stand in another order, and the target may be among them or not.

    Example: priorscope predict model.npz new.csv --out predictions.csv --proba
    """
    if out is not None and out.suffix.lower() != ".csv":
        raise ValueError(f"--out must end in .csv; got {out.name!r}.")
    from rich.console import Console

    import priorscope as ps

    machine = ps.KernelMachine.load(model)
    if proba and machine.task_ != "classification":
        raise ValueError(f"--proba is for classes; {model.name} predicts numbers. Use --interval 0.9.")
    if interval is not None and machine.task_ == "classification":
        raise ValueError(f"--interval is for numbers; {model.name} predicts classes. Use --proba.")
    X, known, notes = _rows(machine, data)
    table, disarmed = _without_formulas(_predicted(machine, X, proba, interval))
    screen = Console(stderr=True, soft_wrap=True)
    for line in (*notes, *disarmed):
        screen.print(f"note: {line}", markup=False, highlight=False)
    if known is not None:
        what = "right" if machine.task_ == "classification" else "R²"
        kind = type(machine.classes_[0]) if machine.task_ == "classification" else float
        score = machine.score(X, known.astype(kind).to_numpy())
        screen.print(f"the file has the target: {what} {score:.4f} on {len(known)} rows", markup=False, highlight=False)
    if out is None:
        table.to_csv(sys.stdout, index=False)
    else:
        write_whole(out, table.to_csv(index=False))
        screen.print(f"{len(table)} predictions written to {out}", markup=False, highlight=False)


def _rows(machine: KernelMachine, path: Path) -> tuple[Any, pd.Series | None, tuple[str, ...]]:
    """New rows as the machine takes them, their targets where the file has them, and notes."""
    from priorscope.cli._fit import arrays, read_file
    from priorscope.data import Frame

    names = [str(name) for name in getattr(machine, "feature_names_in_", ())]
    words = machine.rows_.words if machine.rows_ is not None else ()
    target = getattr(machine, "target_name_", None)
    if not names and target == "y":  # files of older versions say so where nothing was said
        target = None
    found = read_file(path, target, words)
    target = target or "y"
    if not names:
        if isinstance(found, Frame):
            raise ValueError(
                f"the machine was fitted on arrays of shape {machine.inputs_.shape}; {path.name} is a table."
            )
        X, _, told = arrays(found)
        return X, None, told
    whole = found if isinstance(found, Frame) else found.frame(target)
    if whole is None:
        raise ValueError(
            f"the machine was fitted on a table with columns {', '.join(names[:10])}; {path.name} is none."
        )
    whole = whole.samples(None, names)
    frame, told = whole.pandas(), (*(() if isinstance(found, Frame) else found.notes), *whole.notes, *whole.apart)
    lacking = [name for name in names if name not in frame.columns]
    if lacking:
        raise ValueError(
            f"{path.name} lacks {', '.join(map(repr, lacking[:5]))}; the machine needs {', '.join(names[:20])}."
        )
    known = frame[target] if target in frame.columns and target not in names else None
    known = None if known is not None and known.isna().any() else known
    other = [str(name) for name in frame.columns if name not in names and name != target]
    notes = [
        *told,
        *([f"columns that the machine does not know are left out: {', '.join(other[:10])}"] if other else []),
    ]
    X = frame[names]
    for name in X.columns:
        if name not in words and X[name].dtype.kind == "O" and not _truth(machine, str(name)):
            first = next(v for v in X[name] if v is not None)
            raise ValueError(
                f"column {name!r} held numbers when the machine was fitted; {path.name} has {first!r} there."
            )
    gaps = int(X.isna().sum().sum())
    if gaps:
        some = "1 missing value" if gaps == 1 else f"{gaps} missing values"
        notes.append(f"{some}: numbers get the training median, words are none of the known ones")
    unknown = machine.rows_.unknown(X) if machine.rows_ is not None else ()
    return X, known, (*notes, *unknown)


def _truth(machine: KernelMachine, name: str) -> bool:
    """Whether the column may hold truth values, which are read as 0 and 1."""
    return machine.rows_ is not None and name not in machine.rows_.words


def _predicted(machine: KernelMachine, X: Any, proba: bool, interval: float | None) -> pd.DataFrame:
    """One row per new row: the prediction, and what was asked beside it."""
    import pandas as pd

    if interval is not None:
        values, ends = machine.predict(X, return_interval=True, level=interval)
        if values.ndim > 1:
            raise ValueError("--interval is for one target; this machine predicts several.")
        return pd.DataFrame({"prediction": values, "low": ends[:, 0], "high": ends[:, 1]})
    values = machine.predict(X)
    if values.ndim > 1:
        return pd.DataFrame(values, columns=[f"prediction {i}" for i in range(values.shape[1])])
    table = pd.DataFrame({"prediction": values})
    if proba:
        chances = machine.predict_proba(X)
        for i, name in enumerate(machine.classes_):
            table[f"p({name})"] = chances[:, i]
    return table


def _without_formulas(table: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Class names that a spreadsheet would run as formulas behind an apostrophe, and a note where there are any.

    A cell that starts with one of = + - @, a tab or a return is a formula to a spreadsheet; one that is a number is none
    (OWASP, "CSV Injection").

    Example:
        >>> import pandas as pd
        >>> _without_formulas(pd.DataFrame({"prediction": ["=1+1", "-1", "b"]}))[0]["prediction"].tolist()
        ["'=1+1", '-1', 'b']
    """

    words = table.select_dtypes(exclude="number").columns
    formula = {name: table[name].astype(str).str.match(_FORMULA) for name in words}
    n = sum(int(found.sum()) for found in formula.values())
    if not n:
        return table, ()
    safe = table.copy()
    for name, found in formula.items():
        safe[name] = table[name].astype(str).where(~found, "'" + table[name].astype(str))
    return safe, (f"{n} predictions that a spreadsheet would run as formulas stand behind an apostrophe",)
