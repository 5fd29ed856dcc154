"""Tables of the performance page from ``benchmarks/results/*.json``; see ``benchmarks/_results.py`` for what those hold."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from readme_claims import cell

ROOT = Path(__file__).resolve().parents[1]
MARK = re.compile(r"<!-- benchmark: ([\w-]+) -->")


def results() -> dict[str, dict[str, Any]]:
    """The recorded results by name."""
    files = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    if unit == "s" and 0 < abs(value) < 0.1:
        return f"{1e3 * value:.3g} ms"
    return f"{value:.3g} {unit}".strip() if abs(value) < 1e4 else f"{value:,.0f} {unit}".strip()


def table(result: dict[str, Any]) -> str:
    """A Markdown table of one result, with the day and the versions under it."""
    lines = ["| case | priorscope | peer | ratio | note |", "|---|---|---|---|---|"]
    for row in result["rows"]:
        peer = _number(row["peer"], row["unit"])
        if row["peer_name"]:
            peer = f"{peer} ({row['peer_name']})" if row["peer"] is not None else row["peer_name"]
        ratio = "–" if row["ratio"] is None else f"{row['ratio']:.3g}×"
        values = (row["case"], _number(row["ours"], row["unit"]), peer, ratio, row["note"])
        lines.append("| " + " | ".join(cell(value) for value in values) + " |")
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    return "\n".join(lines) + f"\n\n*{result['date']}, {result['machine']}: {versions}.*"


def with_tables(text: str) -> str:
    """``<!-- benchmark: NAME -->`` replaced by that table; results nobody placed follow at the end."""
    found = results()
    placed = set(MARK.findall(text))
    unknown = placed - set(found)
    if unknown:
        raise ValueError(f"no benchmarks/results/{sorted(unknown)[0]}.json; there are {', '.join(found)}.")
    text = MARK.sub(lambda match: table(found[match.group(1)]), text)
    for name in sorted(set(found) - placed):
        text += f"\n\n## `benchmarks/{name}.py`\n\n{table(found[name])}\n"
    return text
