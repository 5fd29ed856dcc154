"""The command line: one file per command, imported when it is called."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

__all__ = ["COMMANDS", "command_line", "main"]

COMMANDS: dict[str, str] = {
    # name: "module:function" (a typer function) or "module:app" (a typer.Typer with sub-commands)
    "profile": "priorscope.cli._profile:profile",
    "forecast": "priorscope.cli._forecast:forecast",
    "extrapolate": "priorscope.cli._extrapolate:extrapolate",
    "fit": "priorscope.cli._fit:fit",
    "predict": "priorscope.cli._predict:predict",
    "reproduce": "priorscope.cli._reproduce:reproduce",
    "claims": "priorscope.cli._claims:claims",
    "runs": "priorscope.cli._runs:app",
    "report": "priorscope.cli._report:report",
    "serve": "priorscope.cli._serve:serve",
    "salvage": "priorscope.cli._salvage:salvage",
    "kernel": "priorscope.cli._kernel:kernel",
    "data": "priorscope.cli._data:app",
    "geometry": "priorscope.cli._geometry:geometry",
    "dimension": "priorscope.cli._dimension:dimension",
    "labels": "priorscope.cli._labels:labels",
    "margin": "priorscope.cli._margin:margin",
    "memory": "priorscope.cli._memory:memory",
    "stability": "priorscope.cli._stability:stability",
}
"""Every command and where it lives, in the order of the help page. Command files import heavy things inside the function.

Example:
    >>> COMMANDS["claims"]
    'priorscope.cli._claims:claims'
"""

_USER_ERRORS = (ValueError, TypeError, OSError, ImportError, RuntimeError, MemoryError)
_STYLE = {"rich_markup_mode": "rich", "context_settings": {"help_option_names": ["-h", "--help"]}}


class _Commands(TyperGroup):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name].split(":")
        target = getattr(importlib.import_module(module), name)
        if not isinstance(target, typer.Typer):
            app = typer.Typer(add_completion=False, **_STYLE)  # type: ignore[arg-type]
            app.command(cmd_name, no_args_is_help=False)(target)
            target = app
        target._add_completion = False
        command = typer.main.get_command(target)
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            close = difflib.get_close_matches(args[0], COMMANDS)
            hint = f"Did you mean {close[0]!r}?" if close else f"There are: {', '.join(COMMANDS)}."
            ctx.fail(f"No such command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)


def _version(value: bool) -> None:
    if value:
        from priorscope import __version__

        print(f"priorscope {__version__}")
        raise typer.Exit


def _root(
    debug: Annotated[bool, typer.Option("--debug", help="Show the whole traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which one.")
    ] = False,
) -> None:
    """See what a network will learn before you train it.

    A learning system is data, a model and inference. [bold]profile[/bold] measures the bias of one on your data,
    [bold]reproduce[/bold] runs a published experiment here, [bold]claims[/bold] lists what held.

    Start with:  priorscope profile digits
    """


def command_line() -> Any:
    """The whole command line as one command object (what the entry point calls and completion asks).

    Example:
        >>> "claims" in command_line().list_commands(None)
        True
    """
    app = typer.Typer(cls=_Commands, no_args_is_help=True, **_STYLE)  # type: ignore[arg-type]
    app.callback()(_root)
    return typer.main.get_command(app)


def main(arguments: list[str] | None = None) -> None:
    """The entry point. Mistakes of use end with one line and exit code 2, faults of ours with one line and 70.

    ``--debug`` anywhere shows the traceback.

    Example:
        >>> main(["--version"])
        Traceback (most recent call last):
        ...
        SystemExit: 0
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words or bool(os.environ.get("PRIORSCOPE_DEBUG"))
    words = [word for word in words if word != "--debug"]
    try:
        command_line().main(words, prog_name="priorscope")
    except BrokenPipeError:  # the reader of our output (head, less) has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:
        if debug:
            raise
        from rich.console import Console
        from rich.markup import escape

        known = isinstance(error, _USER_ERRORS)
        Console(stderr=True, soft_wrap=True).print(
            f"[bold red]error:[/bold red] {escape(_said(error, known))}", highlight=False
        )
        sys.exit(2 if known else 70)


def _said(error: Exception, known: bool) -> str:
    """One line on an error; on one that nobody foresaw, also how to see where it came from."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"cannot use {str(error.filename)!r}: {error.strerror}."
    text = " ".join(str(error).split())
    if known:
        return text or type(error).__name__
    return f"{type(error).__name__}: {text} (a fault of priorscope: the same command with --debug shows where)"
