"""Claims for the terminal: one line each, as wide as the window, or all that is known of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from priorscope.report._tables import format_value

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.text import Text

__all__ = [
    "ClaimRow",
    "claims_behind",
    "claims_list",
    "claims_long",
    "claims_summary",
    "claims_table",
    "measured_text",
]

ClaimRow: TypeAlias = Mapping[str, Any]  # a line of the ledger, as JSON gives it

_COLOURS = {
    "holds": "green",
    "holds with changes": "yellow",
    "fails": "bold red",
    "not reached": "cyan",
    "not trained": "cyan",
    "not shown": "magenta",
    "not run": "dim",
}


_HOPELESS = 1000  # times the draws; beyond, nobody runs them


def measured_text(row: ClaimRow, digits: int = 4) -> str:
    """The measured value with its interval, as ``0.51 [0.48, 0.54]``."""

    def number(value: object) -> str:
        return f"{value:.{digits}g}" if isinstance(value, float) and value == value else format_value(value)

    text = number(row.get("measured"))
    if row.get("low") is not None and row.get("high") is not None:
        text += f" [{number(row['low'])}, {number(row['high'])}]"
    return text


def progress_text(row: ClaimRow) -> str:
    """How far the kept runs of an unfinished sweep go; empty where there are none.

    Example:
        >>> progress_text({"progress": [12, 39]})
        '12 of 39 runs so far'
    """
    return "{} of {} runs so far".format(*row["progress"]) if row.get("progress") else ""


def shortfall_text(row: ClaimRow) -> str:
    """In which fields the runs stay behind the published ones; empty where in none.

    Example:
        >>> shortfall_text({"shortfall": {"steps": [800, 97500], "seeds": [4, 16]}})
        'the source in steps (800 of 97500), seeds (4 of 16)'
    """
    short = row.get("shortfall") or {}
    told = [
        f"{name} ({format_value(here) or 'none'} of {format_value(there)})" for name, (here, there) in short.items()
    ]
    return f"the source in {', '.join(told)}" if told else ""


def decides_text(row: ClaimRow) -> str:
    """How many more draws would decide what is not shown, and at what CPU time; empty where it is decided or not known.

    Example:
        >>> check = {"verdict": "not shown", "more": 3.4}
        >>> decides_text({"verdict": "not shown", "seconds": 600.0, "checks": [check]})
        '3.4 times the draws, about 34 CPU minutes'
    """
    factors = [check.get("more") for check in row.get("checks") or () if check["verdict"] == "not shown"]
    known = [more for more in factors if more is not None]
    if row["verdict"] != "not shown" or not known or len(known) < len(factors):
        return ""
    most = max(known)
    if most > _HOPELESS:
        return f"more than {_HOPELESS} times the draws: the value lies too close to the bound"
    cost = f", about {max(1, round(most * row['seconds'] / 60))} CPU minutes" if row.get("seconds") else ""
    return f"{most:.2g} times the draws{cost}"


def checks_text(row: ClaimRow) -> list[str]:
    """One line per check of a claim that has several: ``slope: 0.2 [0.1, 0.3], expected rising (above 0): holds``.

    Example:
        >>> slope = {"name": "slope", "expected": "rising (above 0)", "verdict": "holds", "measured": 0.2}
        >>> loss = {"name": "loss", "expected": "at most 0.1", "verdict": "not shown"}
        >>> checks_text({"checks": [slope, loss]})
        ['slope: 0.2, expected rising (above 0): holds', 'loss: –, expected at most 0.1: not shown']
    """
    checks = row.get("checks") or ()
    if len(checks) < 2:
        return []
    return [f"{c['name']}: {measured_text(c) or '–'}, expected {c['expected']}: {c['verdict']}" for c in checks]


def deciding(row: ClaimRow) -> ClaimRow:
    """What a line about a claim shows: the first check that fails (or is not shown, where none fails), else the first.

    Example:
        >>> slope = {"name": "slope", "verdict": "holds", "measured": 0.2}
        >>> loss = {"name": "loss", "verdict": "fails", "measured": 0.7}
        >>> deciding({"verdict": "fails", "measured": 0.2, "checks": [slope, loss]})["measured"]
        0.7
    """
    return next((check for check in row.get("checks") or () if check["verdict"] == row["verdict"]), row)


def _coloured(row: ClaimRow) -> str:
    verdict = str(row["verdict"])
    differs = " [red]≠[/]" if row.get("disagrees") else ""
    return f"[{_COLOURS[verdict]}]{verdict}[/]{differs}"


@dataclass(frozen=True)
class _Lines:
    """Claims, one line each, cut at the width of the window."""

    rows: Sequence[ClaimRow]
    title: str | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        from rich.markup import escape as plain
        from rich.text import Text

        if self.title:
            yield Text(self.title, style="bold", no_wrap=True, overflow="ellipsis")
        for row in self.rows:
            line = Text.from_markup(f"{plain(str(row['id'])):<6} ")
            line.append_text(_padded(Text.from_markup(_coloured(row)), 10))
            line.append_text(_padded(Text(progress_text(row) or measured_text(deciding(row), 2)), 19))
            line.append(" ".join(str(row["says"]).split()))
            line.truncate(options.max_width, overflow="ellipsis")
            line.no_wrap = True
            yield line


def _padded(text: Text, width: int) -> Text:
    """At least ``width`` wide and never touching what follows; long measured values are cut."""
    if text.cell_len > max(width, 18):
        text.truncate(max(width, 18), overflow="ellipsis")
    text.pad_right(max(width - text.cell_len, 0) + 1)
    return text


def claims_table(rows: Sequence[ClaimRow], *, title: str | None = None) -> RenderableType:
    """One line per claim: id, verdict, measured value, and as much of the claim as the window has room for.

    Example:
        >>> from rich.console import Console
        >>> row = {"id": "X.1", "says": "the error falls", "measured": -0.48, "verdict": "holds"}
        >>> Console(width=50).print(claims_table([row]))
        X.1    holds      -0.48               the error f…
    """
    return _Lines(rows, title)


def claims_long(rows: Sequence[ClaimRow]) -> RenderableType:
    """All that is known of each claim, wrapped to the window.

    Example:
        >>> from rich.console import Console
        >>> row = {"id": "X.1", "says": "it falls", "source": "Y", "verdict": "fails", "note": "it rose", "measured": 0.2}
        >>> Console(width=60).print(claims_long([row]))  # doctest: +NORMALIZE_WHITESPACE
        X.1 fails
        claim    it falls
        source   Y
        measured 0.2
        note     it rose
    """
    from rich.console import Group
    from rich.markup import escape as plain
    from rich.padding import Padding
    from rich.table import Table

    parts: list[RenderableType] = []
    for row in rows:
        facts = {
            "claim": row["says"],
            "source": row.get("source"),
            **_numbers(row),
            "finding": row.get("finding"),
            "note": row.get("note"),
            "decides": decides_text(row),
            "so far": progress_text(row),
            "scale": row.get("scale"),
            "below": shortfall_text(row),
            "evidence": evidence_text(row),
            "recorded": row.get("recorded") if row.get("disagrees") else None,
            "command": row.get("command"),
        }
        grid = Table.grid(padding=(0, 1))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in facts.items():
            for i, line in enumerate(value if isinstance(value, list) else [value] if value else []):
                grid.add_row(name if i == 0 else "", plain(" ".join(str(line).split())))
        parts += [f"[bold]{plain(str(row['id']))}[/] {_coloured(row)}", Padding(grid, (0, 0, 1, 2))]
    return Group(*parts)


def evidence_text(row: ClaimRow) -> str:
    """Where the runs behind a recorded verdict are; nothing for a verdict of runs made here.

    Example:
        >>> evidence_text({"judged_from": "ledger", "evidence": "runs/jamming.jsonl"})
        'claims/runs/jamming.jsonl'
        >>> evidence_text({"judged_from": "ledger", "evidence": None})
        'not in the repo'
    """
    if row.get("evidence"):
        return f"claims/{row['evidence']}"
    return "not in the repo" if row.get("judged_from") == "ledger" else ""


def _numbers(row: ClaimRow) -> dict[str, object]:
    """What was expected and measured, for the one check or for each of several."""
    if lines := checks_text(row):
        return {"checks": lines}
    return {"expected": row.get("expected"), "measured": measured_text(row)}


def claims_summary(rows: Sequence[ClaimRow]) -> str:
    """How many claims have which verdict, in words.

    Example:
        >>> claims_summary([{"verdict": "holds"}, {"verdict": "holds"}, {"verdict": "fails"}])
        '3 claims: 2 holds, 1 fails'
    """
    counts = Counter(str(row["verdict"]) for row in rows)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _COLOURS if counts[verdict])
    return f"{len(rows)} claim{'' if len(rows) == 1 else 's'}: {told}"


def claims_list(rows: Sequence[ClaimRow]) -> str:
    """Claims as a list for a page, with all that is known of each, readable at any width.

    Example:
        >>> "a &lt; b" in claims_list([{"id": "X.1", "says": "a < b", "verdict": "holds", "measured": 1.0}])
        True
    """
    from html import escape

    parts = []
    for row in rows:
        verdict = str(row["verdict"])
        facts = {
            **_numbers(row),
            "note": row.get("note"),
            "decides": decides_text(row),
            "so far": progress_text(row),
            "below": shortfall_text(row),
            "evidence": evidence_text(row),
            "again": row.get("command"),
        }
        told = "".join(
            f"<div><i>{name}</i> {escape(' '.join(str(line).split()))}</div>"
            for name, value in facts.items()
            for line in (value if isinstance(value, list) else [value] if value else [])
        )
        parts.append(
            f'<dt id="{escape(str(row["id"]))}">{escape(str(row["id"]))} <span class="{verdict.split()[0]}">{escape(verdict)}'
            f"</span></dt><dd>{escape(str(row['says']))}{told}</dd>"
        )
    return f'<dl class="claims">{"".join(parts)}</dl>'


def claims_behind(ids: Sequence[str]) -> str:
    """A folded table, for a page, of the recorded claims that a measurement rests on; ids alone where there is no ledger.

    Example:
        >>> "S0.1" in claims_behind(["S0.1"])
        True
    """
    from priorscope.lab import read_ledger
    from priorscope.report._page import folded, table

    record = read_ledger()
    known = [record[name].as_json() for name in ids if name in record]
    if not known:
        return table([{"claims behind this": ", ".join(ids), "look them up with": f"priorscope claims {ids[0]}"}])
    told = ", ".join(f"{row['id']} {row['verdict']}" for row in known)
    return folded(f"Published claims behind this: {told}", claims_list(known))
