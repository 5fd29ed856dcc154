"""What a page about papers says of their claims: which it covers, the verdicts of today, and those its prose names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

PAPERS = re.compile(r"<!-- papers: ([\w, -]+) -->")
ID = r"[A-Z]+\d?\.\d+[a-z]?"
WORDS = {
    "hold with changes": "holds with changes",
    "holds with changes": "holds with changes",
    "hold": "holds",
    "holds": "holds",
    "fail": "fails",
    "fails": "fails",
    "not reached": "not reached",
    "not trained": "not trained",
    "not shown": "not shown",
    "not run": "not run",
}
VERDICT = re.compile(r"\*\*Verdict\.\*\*.*?(?=\n\n|\Z)", re.DOTALL)
STATEMENT = re.compile(
    rf"((?:\**{ID}(?:,\s|\sand\s|\sto\s)?)+)\s*(?:is\s|are\s)?\*+({'|'.join(WORDS).replace(' ', chr(92) + 's')})\b"
)


def covered(page: str, text: str) -> list[str]:
    """The papers of a page: those its mark ``<!-- papers: a, b -->`` names, else the one it is called after."""
    mark = PAPERS.search(text)
    return [name.strip() for name in mark.group(1).split(",")] if mark else [page]


def verdict_line(lines: list[dict[str, Any]]) -> str:
    """The verdicts of some lines of the ledger: ``In the ledger today: holds A.1, A.2; fails A.3.``"""
    ids: dict[str, list[str]] = {}
    for line in lines:
        so_far = " ({} of {} runs so far)".format(*line["progress"]) if line.get("progress") else ""
        ids.setdefault(line["verdict"], []).append(line["id"] + so_far)
    order = [verdict for verdict in dict.fromkeys(WORDS.values()) if verdict in ids]
    order.sort(key=list(dict.fromkeys(WORDS.values())).index)
    return f"In the ledger today: {'; '.join(f'*{verdict}* ' + ', '.join(ids[verdict]) for verdict in order)}."


def with_verdicts(page: str, text: str, ledger: list[dict[str, Any]]) -> str:
    """The page with the verdicts of today under its title."""
    lines = [line for line in ledger if line["paper"] in covered(page, text)]
    title, found, rest = PAPERS.sub("", text).partition("\n")
    return f"{title}\n\n{verdict_line(lines)}\n{found}{rest.lstrip(chr(10))}" if lines else text


def statements(text: str) -> Iterator[tuple[str, str]]:
    """Each claim with the verdict that a paragraph **Verdict.** gives it, where the word follows the id: ``A.1 *holds*``."""
    for paragraph in VERDICT.findall(text):
        for ids, word in STATEMENT.findall(paragraph):
            for claim in re.findall(ID, ids):
                yield claim, WORDS[" ".join(word.split())]


ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
VERSION = re.compile(rf"\b(?:({'|'.join(ORDINALS)})\s+versions?|versions?\s+(\d+))\b", re.IGNORECASE)
OTHERS = re.compile(
    r"\b(?:older|earlier|previous|old) versions?\b|\*\*Versions?\.?\*\*|\bVersions:|\bup to version\b", re.IGNORECASE
)
HISTORY = "\n## History\n"


def upper_layer(text: str) -> str:
    """What a reader of a page sees unfolded: all before its history."""
    return text.partition(HISTORY)[0]


def older_versions(text: str, version: int) -> list[str]:
    """Where a text speaks of another version of the paper than today's."""
    found = [match.group() for match in OTHERS.finditer(text)]
    for match in VERSION.finditer(text):
        word, number = match.groups()
        told = ORDINALS.index(word.lower()) + 1 if word else int(number)
        found += [match.group()] if told != version else []
    return found
