"""The examples on the page on data run and print what the page says."""

import contextlib
import io
import re
from pathlib import Path

from priorscope.data import known_formats
from priorscope.data.formats._registry import forget_format

PAGE = Path(__file__).resolve().parents[2] / "docs" / "data.md"


def test_the_page_runs():
    before = {f.name for f in known_formats()}
    scope: dict[str, object] = {}
    printed = io.StringIO()
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 3
    try:
        with contextlib.redirect_stdout(printed):
            for block in blocks:
                exec(block, scope)
    finally:
        for one in known_formats():
            if one.name not in before:
                forget_format(one.name)
    assert "(3, 32, 32) ('inputs (32, 32, 3) are read as 32×32 with 3 channels last" in printed.getvalue()
    assert "('columns between strokes',)" in printed.getvalue()
