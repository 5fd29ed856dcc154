"""What this machine has to give: memory that is free, asked before something large is made."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["free_memory"]

_MEMINFO = Path("/proc/meminfo")


def free_memory() -> int:
    """Bytes of memory that can be had without swapping; where the system does not tell, all the memory it has.

    Example:
        >>> free_memory() > 10**6
        True
    """
    try:
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 4 * 2**30  # nothing is told: be modest
