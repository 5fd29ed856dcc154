"""How much memory a piece of work added, at its peak."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

__all__ = ["PeakMemory"]

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


class PeakMemory:
    """``with PeakMemory() as peak: …`` then ``peak.megabytes``: what was added to the process at the highest point.

    Linux can set the mark of the highest point back; elsewhere only growth beyond all earlier peaks is seen.
    """

    megabytes: float = 0.0

    def __enter__(self) -> PeakMemory:
        try:
            _CLEAR.write_text("5")  # sets VmHWM back to the present size
            self._start = _read("VmRSS:")
        except OSError:
            self._start = None
        self._before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return self

    def __exit__(self, *_: Any) -> None:
        peak = _read("VmHWM:") if self._start is not None else None
        if peak is not None and self._start is not None:
            self.megabytes = max(peak - self._start, 0.0)
        else:
            self.megabytes = max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - self._before, 0.0)
