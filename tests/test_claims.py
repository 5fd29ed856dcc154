"""The committed ledger against the committed runs: anybody gets the same verdicts and values."""

from __future__ import annotations

import json

import pytest

from priorscope import papers
from priorscope.lab import judge_evidence, ledger_path, read_ledger, runs_folder

TABLES = sorted(runs_folder().glob("*.jsonl"))
LARGEST = 2_000_000  # bytes of one table


@pytest.mark.parametrize("file", TABLES, ids=lambda file: file.stem)
def test_the_ledger_follows_from_the_tables(file):
    assert file.stat().st_size < LARGEST
    ledger = read_ledger()
    for today in judge_evidence(papers.load(file.stem), runs_folder()):
        recorded = ledger[today.id]
        if recorded.evidence is None:
            continue
        assert (today.verdict, today.fingerprint) == (recorded.verdict, recorded.fingerprint), today.id
        assert (today.commit, today.seconds, today.scale) == (recorded.commit, recorded.seconds, recorded.scale)
        assert [check.verdict for check in today.checks] == [check.verdict for check in recorded.checks]
        for one, other in zip(today.checks, recorded.checks, strict=True):
            for name in ("measured", "low", "high"):
                value = getattr(other, name)
                assert getattr(one, name) == (None if value is None else pytest.approx(value, rel=1e-6)), today.id


def test_verdicts_with_evidence_have_their_table():
    named = {line.get("evidence") for line in json.loads(ledger_path().read_text())} - {None}
    assert named <= {f"runs/{file.name}" for file in TABLES}


def test_the_ledger_of_a_checkout_is_its_own():
    assert ledger_path().parent.name == "claims"
