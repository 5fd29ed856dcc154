from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest


@pytest.fixture
def toy(monkeypatch):
    """The module of toy runs, importable in worker processes too."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return sys.modules.get("lab_toy") or importlib.import_module("lab_toy")
