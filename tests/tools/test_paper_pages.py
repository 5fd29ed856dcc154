"""Every paper has a page, and what the page says of its claims is what the ledger says today."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

from priorscope.lab import read_evidence, runs_folder
from priorscope.papers import REGISTRY, load

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("paper_pages", ROOT / "tools" / "paper_pages.py")
assert SPEC is not None
assert SPEC.loader is not None
paper_pages = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(paper_pages)

PAGES = sorted((ROOT / "docs" / "papers").glob("*.md"))
LEDGER = json.loads((ROOT / "claims" / "ledger.json").read_text(encoding="utf-8"))
UNSORTED = {"geometry"}
"""Pages whose parts are not yet put in two layers: nine papers on one page, each at a version of its own."""
WAITING: set[str] = set()
"""Papers whose page is being written."""


def test_every_paper_has_a_page() -> None:
    papers = [name for page in PAGES for name in paper_pages.covered(page.stem, page.read_text(encoding="utf-8"))]
    assert len(papers) == len(set(papers)), "a paper is on two pages"
    assert set(papers) <= set(REGISTRY), "a page is about no paper"
    assert set(REGISTRY) - set(papers) <= WAITING


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_what_the_ledger_says(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names = paper_pages.covered(page.stem, text)
    today = {line["id"]: line["verdict"] for line in LEDGER if line["paper"] in names}
    assert "**Verdict.**" in text
    shown = paper_pages.with_verdicts(page.stem, text, LEDGER).splitlines()[2]
    for claim, verdict in today.items():
        assert re.search(rf"\*{verdict}\* [^*]*\b{re.escape(claim)}(?![\w])", shown), (claim, shown)
    for name in names:  # between a new protocol and its run the prose tells the version before
        table = read_evidence(name, runs_folder())
        if table is not None and table.version != load(name).version:
            today = {line["id"]: line["verdict"] for line in LEDGER if line["id"] in today and line["paper"] != name}
    said = dict(paper_pages.statements(text))
    drifted = {claim: (word, today[claim]) for claim, word in said.items() if today.get(claim, word) != word}
    assert not drifted, f"{page.name} says one thing and the ledger another: {drifted}"


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem not in UNSORTED], ids=lambda page: page.stem)
def test_what_earlier_versions_asked_and_measured_is_folded_below(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    version = max(load(name).version for name in paper_pages.covered(page.stem, text))
    assert not paper_pages.older_versions(paper_pages.upper_layer(text), version)


def test_older_versions_are_found_in_words_and_numbers() -> None:
    text = "The second version has 12. Version 3 has 8.\n## History\nVersions: version 1 had 4, the third version 8."
    assert paper_pages.older_versions(paper_pages.upper_layer(text), 2) == ["Version 3"]
    assert paper_pages.older_versions(text, 3) == ["Versions:", "second version", "version 1"]


def test_statements_are_read_in_every_form() -> None:
    text = """# squares

**Verdict.** Squares grow (A.1, A.2 and A.3
*hold*), B.4b is *not
shown*, **C.5 fails** and D.6 *holds with changes*; of E.7 nothing is said.

Version 1 said A.1 *fails*.
"""
    found = dict(paper_pages.statements(text))
    assert found == {
        "A.1": "holds",
        "A.2": "holds",
        "A.3": "holds",
        "B.4b": "not shown",
        "D.6": "holds with changes",
    }


def test_the_line_under_the_title_has_every_claim_with_its_verdict() -> None:
    ledger = [
        {"id": "A.1", "paper": "squares", "verdict": "fails"},
        {"id": "A.2", "paper": "squares", "verdict": "holds"},
        {"id": "A.3", "paper": "cubes", "verdict": "holds"},
        {"id": "A.4", "paper": "cubes", "verdict": "not run", "progress": [12, 39]},
        {"id": "A.5", "paper": "others", "verdict": "fails"},
    ]
    shown = paper_pages.with_verdicts("squares", "# Powers\n\n<!-- papers: squares, cubes -->\n\nText.\n", ledger)
    line = "In the ledger today: *holds* A.2, A.3; *fails* A.1; *not run* A.4 (12 of 39 runs so far)."
    assert shown.split("\n\n") == ["# Powers", line, "Text.\n"]
    assert paper_pages.with_verdicts("none", "# None\n\nText.\n", ledger) == "# None\n\nText.\n"


def test_what_moved_ends_at_the_verdicts_of_today() -> None:
    section = (
        (ROOT / "docs" / "claims.md").read_text(encoding="utf-8").partition("## What moved")[2].partition("\n## ")[0]
    )
    today = {line["id"]: line["verdict"] for line in LEDGER}
    rows = re.findall(r"^\| ([A-Z][\w., ]*) \| ([\w ]+) \| ([\w ]+) \|", section, re.MULTILINE)
    told = {claim: (then, now) for ids, then, now in rows for claim in ids.split(", ")}
    assert len(told) > 20
    told = {
        claim: pair for claim, pair in told.items() if today[claim] != "not run"
    }  # a new protocol waits for its run
    assert {claim: now for claim, (_, now) in told.items()} == {claim: today[claim] for claim in told}
    assert all(then != now for then, now in told.values())
