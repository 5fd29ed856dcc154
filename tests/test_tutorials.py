"""The tutorials run as they stand, block after block."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "tutorials"


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.md")), ids=lambda page: page.stem)
def test_a_tutorial_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {"__name__": page.stem}
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block, page.name, "exec"), scope)
        wanted = re.findall(r"^print\(([^#\n]*)\)\s+# (\(.*)$", block, re.MULTILINE)
        for _, said in wanted:  # what a comment beside a print says
            assert said in out.getvalue()
