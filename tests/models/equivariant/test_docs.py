"""The code blocks of the page on equivariant networks run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "equivariant.md"


def test_code_blocks_run(capsys):
    scope: dict[str, object] = {"__name__": "page"}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "(1, 12, 12) True"
    assert out[1].startswith("commutes")
    assert out[2:] == ["True", "Conv3d", "1.0"]
