"""Files appear whole or not at all."""

from __future__ import annotations

import ast
import os
import stat
from pathlib import Path

import pytest

from priorscope.writing import write_whole

SOURCE = Path(__file__).resolve().parents[1] / "src" / "priorscope"


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def test_an_error_on_the_way_leaves_what_was_there(tmp_path):
    file = tmp_path / "page.html"
    write_whole(file, "old")

    def half(stream):
        stream.write(b"ne")
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        write_whole(file, half)
    assert file.read_text() == "old"
    assert names(tmp_path) == ["page.html"]


def test_a_file_is_never_seen_half_written(tmp_path):
    file, seen = tmp_path / "page.html", []
    write_whole(file, b"old")

    def slow(stream):
        for _ in range(3):
            stream.write(b"new")
            stream.flush()
            seen.append(file.read_bytes())

    write_whole(file, slow)
    assert seen == [b"old"] * 3
    assert file.read_bytes() == b"newnewnew"


def test_permissions_links_and_pipes_stay_what_they_are(tmp_path):
    file, link = tmp_path / "a.csv", tmp_path / "b.csv"
    write_whole(file, "1")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~mask  # as any new file
    file.chmod(0o640)
    link.symlink_to(file)
    write_whole(link, "2")
    assert link.is_symlink()
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("2", 0o640)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert names(tmp_path) == ["a.csv", "b.csv", "pipe"]


MAY_WRITE = {  # scratch that nobody reads before it is whole, or a record that is appended to
    "data/published/_published.py": 1,
    "data/published/_g2.py": 2,
    "profiles/_memory.py": 1,  # a counter of the system, no file
}


def direct_writes(tree: ast.AST) -> int:
    """Calls that write a file under its own name: write_text, write_bytes, and to_csv with a path."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    written = sum(call.func.attr in ("write_text", "write_bytes") for call in calls)
    return written + sum(
        call.func.attr == "to_csv" and bool(call.args) and ast.unparse(call.args[0]) != "sys.stdout" for call in calls
    )


def test_everything_that_is_written_is_written_whole():
    found = {str(f.relative_to(SOURCE)): direct_writes(ast.parse(f.read_text())) for f in SOURCE.rglob("*.py")}
    wrong = {file: n for file, n in found.items() if n > MAY_WRITE.get(file, 0)}
    assert not wrong, f"use priorscope.writing.write_whole in {sorted(wrong)}"


def test_the_rule_on_writing_can_fail():
    assert direct_writes(ast.parse("path.write_text('x')\ntable.to_csv(path)\ntable.to_csv(sys.stdout)")) == 2
