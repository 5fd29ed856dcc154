"""Whether an array fits: asked before it is made, so that a wrong header ends in a sentence and not in a dead process."""

from __future__ import annotations

from priorscope.machine import free_memory

__all__: list[str] = []


def check_memory(n_bytes: int, what: str) -> None:
    """Raise when ``what`` would take more bytes than the machine has free.

    Example:
        >>> check_memory(10**18, "the array")
        Traceback (most recent call last):
        ValueError: the array would take 1e+09 GB; only ... GB are free. Check the declared shape, or load a part of it.
    """
    free = free_memory()
    if n_bytes > free:
        raise ValueError(
            f"{what} would take {n_bytes / 1e9:.3g} GB; only {free / 1e9:.3g} GB are free. "
            "Check the declared shape, or load a part of it."
        )
