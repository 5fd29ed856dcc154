"""How much memory a piece of work added, at its peak."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

__all__ = ["PeakMemory", "resident"]

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _read(field: str) -> float | None:
    """Megabytes of a field of the kernel's account of this process, or None where there is none."""
    try:
        for line in _STATUS.read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return None


def resident() -> float:
    """Megabytes that the process holds at present (where that is not known: at its highest point so far)."""
    return _read("VmRSS:") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class PeakMemory:
    """``with PeakMemory(start) as peak: …`` then ``peak.megabytes``: the highest point of this work above ``start``.

    Linux can set the mark of the highest point back; elsewhere it is the highest point of the whole process.
    """

    def __init__(self, start: float) -> None:
        self.start = start
        self.megabytes = 0.0

    def __enter__(self) -> PeakMemory:
        with contextlib.suppress(OSError):
            _CLEAR.write_text("5")  # sets VmHWM back to the present size
        return self

    def __exit__(self, *_: object) -> None:
        peak = _read("VmHWM:") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        self.megabytes = max(peak - self.start, 0.0)
