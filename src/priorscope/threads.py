"""One thread for small matrices: BLAS, OpenMP and torch fight over the cores otherwise, and all take several times as long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import ParamSpec, TypeVar

import torch
from threadpoolctl import ThreadpoolController

__all__ = ["on_one_thread", "one_thread"]

P = ParamSpec("P")
T = TypeVar("T")


@cache
def _controller(loaded: bool) -> ThreadpoolController:
    """The libraries with threads that are loaded; looked for again once scikit-learn's trees have come."""
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep this process to one thread until the block ends; what was set before is set again.

    Example:
        >>> with one_thread():
        ...     torch.get_num_threads()
        1
    """
    before = torch.get_num_threads()
    if before != 1:
        torch.set_num_threads(1)
    try:
        with _controller("sklearn.ensemble" in sys.modules).limit(limits=1):
            yield
    finally:
        if before != 1:
            torch.set_num_threads(before)


def on_one_thread(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function run on one thread.

    Example:
        >>> on_one_thread(torch.get_num_threads)()
        1
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with one_thread():
            return function(*args, **kwargs)

    return run
