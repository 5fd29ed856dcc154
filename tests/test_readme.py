"""What README and docs show: code that runs, names that exist, commands that are there."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
from pathlib import Path

import pytest

import priorscope
from priorscope.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)


def blocks(text: str, *kinds: str) -> list[str]:
    return [body for kind, body in BLOCK.findall(text) if kind in kinds]


def test_readme_code_runs_and_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sequence = [(kind, body) for kind, body in BLOCK.findall(README) if kind in ("python", "text")]
    assert any(kind == "python" for kind, _ in sequence)
    scope: dict[str, object] = {"__name__": "readme"}
    printed = ""
    for kind, body in sequence:
        if kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(body, "README.md", "exec"), scope)
            printed = out.getvalue()
        elif printed:
            assert printed.strip() == body.strip()
            printed = ""


def test_readme_stays_on_two_screens():
    above_the_table = README.split("<!-- claims -->")[0]
    assert len(above_the_table.splitlines()) <= 110


def chains(tree: ast.AST) -> set[str]:
    """Dotted names that begin with ``ps.``"""
    found = set()
    for node in ast.walk(tree):
        words = []
        while isinstance(node, ast.Attribute):
            words.append(node.attr)
            node = node.value
        if words and isinstance(node, ast.Name) and node.id == "ps":
            found.add(".".join(reversed(words)))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_on_a_page_is_python_and_its_names_exist(page):
    for code in blocks(page.read_text(encoding="utf-8"), "python"):
        plain = "\n".join(
            line[4:] if line.startswith((">>> ", "... ")) else "" if ">>>" in code else line
            for line in code.splitlines()
        )
        for chain in chains(ast.parse(plain)):
            value: object = priorscope
            for word in chain.split("."):
                assert hasattr(value, word), f"{page.name} shows ps.{chain}, but there is no {word!r}"
                value = getattr(value, word)
                if not isinstance(value, (type(sys), type)):
                    break  # attributes of a function or constant are its own business


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_on_a_page_exist(page):
    targets = set(re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    shell = (
        "\n".join(blocks(text, "bash", "sh", "shell", "console")) + "\n" + "\n".join(re.findall(r"`([^`\n]+)`", text))
    )
    for target in re.findall(r"(?:^|\s)make ([a-z][\w-]*)", shell):
        assert target in targets, f"{page.name} shows `make {target}`"
    for command in re.findall(r"(?:^|\s)priorscope ([a-z][\w-]*)", shell):
        assert command in COMMANDS, f"{page.name} shows `priorscope {command}`"


def test_readme_claims_table_is_the_ledgers():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import readme_claims
    finally:
        sys.path.pop(0)
    assert readme_claims.with_table(README) == README, "refresh it with `make ledger`"
