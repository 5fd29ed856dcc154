"""One thread for small matrices: BLAS, OpenMP and torch fight over the cores otherwise, and all take several times as long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]


@cache
def _controller(loaded: int) -> ThreadpoolController:
    """The libraries with threads that are loaded; looked for again where more have come."""
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep this process to one thread until the block ends; what was set before is set again.

    Example:
        >>> with one_thread():
        ...     torch.get_num_threads()
        1
    """
    import sys

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with _controller("sklearn.ensemble" in sys.modules).limit(limits=1):
            yield
    finally:
        torch.set_num_threads(before)
