"""The examples of CONTRIBUTING run as they stand, one after another."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

from priorscope.data.formats._registry import forget_format

PAGE = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"


def test_everything_is_added_as_told(monkeypatch):
    text = PAGE.read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert [line[4:] for line in text.splitlines() if line.startswith("### ")] == [
        "A layer",
        "An inference",
        "A probe",
        "A format",
        "A row of the profile",
        "A section of the profile",
        "A paper",
    ]
    assert len(blocks) == 7
    page = types.ModuleType("contributing")  # dataclasses look their module up
    monkeypatch.setitem(sys.modules, "contributing", page)
    for block in blocks:
        exec(compile(block, "CONTRIBUTING.md", "exec"), vars(page))
    forget_format("words")
