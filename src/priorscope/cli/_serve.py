"""``priorscope serve``: the store of runs as a local page."""

from __future__ import annotations

from typing import Annotated

import typer

from priorscope.cli._options import StoreOption

__all__ = ["serve"]


def serve(
    store: StoreOption = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 8642,
) -> None:
    """Show papers, sweeps in progress, claims and runs in the browser. Read-only, for this machine only.

    The printed address holds a random token; without it the page refuses to answer.
    """
    from priorscope.lab import default_store_path
    from priorscope.serve import serve as run

    run(store or default_store_path(), port=port, announce=lambda address: typer.echo(f"serving at {address}"))
