"""Where the command line starts: ``priorscope``, or ``python -m priorscope``."""

from __future__ import annotations

import os
import signal

__all__ = ["main"]


def _leave(number: int, frame: object) -> None:
    """Ctrl-C while nothing is under way that could be lost: one line, at once, whatever is being imported."""
    os.write(2, b"stopped; nothing was lost. Run the same command to start again.\n")
    os._exit(130)


def main() -> None:
    """Call the command line; Ctrl-C ends it with code 130 from here on. A sweep takes Ctrl-C over while it runs.

    Example:
        >>> main.__module__
        'priorscope.__main__'
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell's background job ignores it
        signal.signal(signal.SIGINT, _leave)
    from priorscope.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
