"""``priorscope salvage``: every whole result of a damaged store into a new one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["salvage"]


def salvage(
    damaged: Annotated[Path, typer.Argument(help="The damaged store; it is only read.")],
    new: Annotated[Path, typer.Argument(help="The store to write; it must not be there yet.")],
) -> None:
    """Save every whole result of a damaged store of runs into a new one, and say how many were lost.

    Then run the same sweeps on the new store: they compute what is missing.

    Example:  priorscope salvage runs/store.sqlite runs/saved.sqlite
    """
    from priorscope.lab import salvage as save

    typer.echo(f"{save(damaged, new)}: {new}")
