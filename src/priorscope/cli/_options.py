"""Options and output that several commands share."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from priorscope.lab import Store

__all__ = ["CHART_OR_TABLE", "JsonOption", "StoreOption", "check_ending", "complete_paper", "open_store", "print_json"]

CHART_OR_TABLE = (".html", ".png", ".svg", ".pdf", ".csv")

StoreOption = Annotated[
    Path | None,
    typer.Option("--store", help="File of stored runs. Default: $PRIORSCOPE_STORE, else runs/store.sqlite."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for a machine to read.")]


def check_ending(out: Path | None, endings: tuple[str, ...] = CHART_OR_TABLE) -> None:
    """Refuse a file to write that does not end as one of the kinds that can be written.

    Example:
        >>> check_ending(Path("curve.gif"), (".png", ".csv"))
        Traceback (most recent call last):
        ...
        ValueError: --out must end in .png, .csv; got 'curve.gif'.
    """
    if out is not None and out.suffix.lower() not in endings:
        raise ValueError(f"--out must end in {', '.join(endings)}; got {out.name!r}.")


def complete_paper(incomplete: str) -> list[str]:
    """Names of papers that begin so, for tab completion."""
    from priorscope.papers import REGISTRY

    return [name for name in REGISTRY if name.startswith(incomplete)]


def print_json(value: object) -> None:
    """Strict JSON on standard output: NaN and infinities become null."""
    from priorscope.lab import finite_or_none

    json.dump(finite_or_none(value), sys.stdout, indent=1, ensure_ascii=False, allow_nan=False)
    print()


def open_store(path: Path | None) -> Store | None:
    """The store to read from, or None when there is none yet (an explicit path must exist)."""
    from priorscope.lab import Store, default_store_path

    file = default_store_path() if path is None else path
    if path is None and not file.exists():
        return None
    return Store(file, readonly=True)
