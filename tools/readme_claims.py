"""Write README's sentence on claims from the ledger: ``python tools/readme_claims.py``."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
START, END = "<!-- claims -->", "<!-- /claims -->"
COLUMNS = {  # of the table by paper: where a verdict goes, and how an id is written there
    "holds": ("holds", "{}"),
    "holds with changes": ("holds", "{}*"),
    "fails": ("fails", "{}"),
    "not reached": ("short", "{}"),
    "not trained": ("short", "{}°"),
    "not shown": ("open", "{}"),
    "not run": ("open", "({})"),
}


def cell(text: Any) -> str:
    """Text that cannot break a row of a table."""
    return str(text).replace("|", "\\|").replace("\n", " ")


def number(value: Any) -> str:
    """Four digits of a number, text as it is."""
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def measured(line: dict[str, Any]) -> str:
    """The measured value with its interval."""
    ends = f" [{number(line['low'])}, {number(line['high'])}]" if None not in (line["low"], line["high"]) else ""
    return number(line["measured"]) + ends


def claims_markdown(lines: list[dict[str, Any]]) -> str:
    """A Markdown table of claims, whatever their verdict."""
    rows = ["| id | claim | expected | measured | verdict |", "|---|---|---|---|---|"]
    for line in lines:
        verdict = f"**{line['verdict']}**" if line["verdict"] != "not run" else "not run"
        note = f": {line['note']}" if line["note"] and line["verdict"] not in ("holds", "not run") else ""
        if line.get("progress"):
            verdict += ": {} of {} runs so far".format(*line["progress"])
        values = (line["id"], line["says"], number(line["expected"]), measured(line), verdict + note)
        rows.append("| " + " | ".join(cell(value) for value in values) + " |")
    return "\n".join(rows)


def ledger() -> list[dict[str, Any]]:
    """The committed record."""
    return json.loads((ROOT / "claims" / "ledger.json").read_text(encoding="utf-8"))


def papers_markdown(lines: list[dict[str, Any]]) -> str:
    """A Markdown table of papers: which of their claims have which verdict."""
    from priorscope.papers import load

    rows = [
        "| `priorscope reproduce` … | | holds (*: with changes) | fails | not reached, not trained° | not shown, (not run) |",
        "|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(line["paper"] for line in lines):
        ids: dict[str, list[str]] = {column: [] for column, _ in COLUMNS.values()}
        for line in lines:
            if line["paper"] == name:
                column, form = COLUMNS[line["verdict"]]
                ids[column].append(form.format(line["id"]))
        cells = (f"`{name}`", load(name).title, *(", ".join(found) for found in ids.values()))
        rows.append("| " + " | ".join(cell(value) for value in cells) + " |")
    return "\n".join(rows)


def summary() -> str:
    """How many claims have which verdict, in a sentence."""
    lines = ledger()
    counts = Counter(line["verdict"] for line in lines)
    told = ", ".join(f"{counts[v]} {v}" for v in COLUMNS if counts[v]).replace("holds", "hold").replace("fails", "fail")
    where = "[The record](docs/claims.md) says what each is and what was measured, with a page per paper."
    return f"{len(lines)} claims: {told}. {where}"


def with_table(text: str) -> str:
    """A page's text with the table between its two marks brought up to date."""
    head, _, rest = text.partition(START)
    _, _, tail = rest.partition(END)
    return f"{head}{START}\n{summary()}\n{END}{tail}"


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(with_table(readme.read_text(encoding="utf-8")), encoding="utf-8")
