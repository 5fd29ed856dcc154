"""priorscope: see what a network will learn before you train it.

A learning system is a triple (data, model, inference). The folders of this package are that triple, the probes that
measure it, and the published results the probes come from.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_PACKAGES = (
    "contracts",
    "data",
    "models",
    "inference",
    "probes",
    "curves",
    "papers",
    "lab",
    "memory",
    "report",
    "sklearn",
    "testing",
    "statistics",
)
_NAMES = {
    "System": "priorscope.system",
    "Outcome": "priorscope.system",
    "extrapolate": "priorscope.curves",
    "forecast": "priorscope.probes",
    "profile": "priorscope.profiles",
    "KernelMachine": "priorscope.sklearn",
}

__all__ = [*_PACKAGES, *_NAMES, "__version__"]


def __getattr__(name: str) -> Any:
    """Packages and names are imported on first use, so that ``import priorscope`` stays quick."""
    if name in _PACKAGES:
        return importlib.import_module(f"priorscope.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"priorscope has no name {name!r}; it offers {', '.join(sorted(__all__))}")


def __dir__() -> list[str]:
    return sorted(__all__)
