"""Reference pages from docstrings, one a package: signature, words, formulas, examples."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
import types

PARTS = (
    "data",
    "models",
    "inference",
    "system",
    "probes",
    "profiles",
    "papers",
    "lab",
    "report",
    "testing",
    "statistics",
    "sklearn",
)


def pages() -> dict[str, str]:
    """The Markdown of each page by its place under docs/."""
    found = {}
    for part in PARTS:
        try:
            module = importlib.import_module(f"priorscope.{part}")
        except ModuleNotFoundError as error:
            if error.name != f"priorscope.{part}":
                raise
            continue
        found[f"api/{part}.md"] = _page(module, part)
    return found


def _page(module: types.ModuleType, part: str) -> str:
    head = f"# `ps.{part}`\n\n{_markdown(inspect.getdoc(module) or '')}\n"
    return head + "".join(_entries(module, f"ps.{part}", level=2))


def _entries(module: types.ModuleType, prefix: str, level: int) -> list[str]:
    entries = []
    for name in getattr(module, "__all__", []):
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            words = _markdown(inspect.getdoc(value) or "")
            entries.append(f"\n{'#' * level} `{prefix}.{name}`\n\n{words}\n")
            entries += _entries(value, f"{prefix}.{name}", level + 1)
        elif inspect.isclass(value) or inspect.isroutine(value):
            entries.append(_entry(value, f"{prefix}.{name}", level))
    return entries


def _entry(value: object, name: str, level: int) -> str:
    try:
        signature = str(inspect.signature(value))  # type: ignore[arg-type]
    except (ValueError, TypeError):
        signature = "(...)"
    signature = re.sub(r"<[^<>]* at 0x[0-9a-f]+>|<factory>", "...", signature.replace("'", ""))
    signature = re.sub(r"<([\w.]+)\.(\w+): [^>]*>", r"\1.\2", signature)
    code = textwrap.shorten(signature, 400, placeholder=" ...)")
    words = _markdown(inspect.getdoc(value) or "")
    return f"\n{'#' * level} `{name}`\n\n```python\n{name.rsplit('.', 1)[-1]}{code}\n```\n\n{words}\n"


def _markdown(text: str) -> str:
    """A docstring as Markdown: formulas between dollars, examples as code, roles as plain code."""
    text = re.sub(r"\.\. math::[ \t]*(\S[^\n]*)\n", r"\n$$\1$$\n", text + "\n")
    text = re.sub(
        r"\.\. math::\s*\n\n?((?:[ \t]+[^\n]*\n|\n(?=[ \t]))+)", lambda m: f"\n$${' '.join(m[1].split())}$$\n", text
    )
    text = re.sub(r":math:`([^`]+)`", r"$\1$", text)
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    text = text.replace("``", "`")
    return re.sub(r"^Examples?:\n((?:[ \t]+[^\n]*\n|\n)+)", _example, text, flags=re.MULTILINE)


def _example(match: re.Match[str]) -> str:
    return f"\n```pycon\n{textwrap.dedent(match[1]).strip()}\n```\n"
