"""Sweeps that one machine leaves unfinished and another takes up, from the command line."""

from __future__ import annotations

import json

import pytest

from priorscope import lab, papers
from priorscope.cli import main
from priorscope.lab import Claim, Paper, Store, at_least, sweep
from priorscope.statistics import exact


def square(point):
    return {"square": point["x"] ** 2}


TOY = Paper(
    "toy",
    "A toy",
    "nowhere",
    1,
    lambda scale: [{"x": x, "seed": 0} for x in range({"tiny": 2, "small": 5, "paper": 9}[scale])],
    square,
    (Claim("X.1", "Sec. 1", "squares grow", measure=lambda t: exact(t["square"].max()), expect=at_least(16)),),
)
CLAIMS = ("claims", "--ledger", "claims/ledger.json")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty folder with three of five runs in a store, in which the toy is the only paper."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PRIORSCOPE_STORE", raising=False)
    monkeypatch.setattr(papers, "REGISTRY", {"toy": "toy"})
    monkeypatch.setattr(papers, "load", {"toy": TOY}.__getitem__)
    monkeypatch.setattr(papers, "load_all", lambda: [TOY])
    monkeypatch.setattr(lab, "runs_folder", lambda ledger=None: tmp_path / "claims" / "runs")
    with Store() as store:
        sweep(TOY, TOY.points("small")[:3], store, scale="small", jobs=1)
    return tmp_path


def run(*words, capsys):
    with pytest.raises(SystemExit) as end:
        main(list(words))
    out = capsys.readouterr()
    return out.out, " ".join(out.err.split()), end.value.code or 0


def test_a_sweep_is_recorded_unfinished_and_taken_up_by_another_machine(home, capsys):
    _, err, _ = run(*CLAIMS, "--record", capsys=capsys)
    file = home / "claims" / "runs" / "unfinished" / "toy.jsonl"
    assert f"toy: 3 of 5 runs kept in {file}" in err
    assert json.loads(file.read_text().splitlines()[0])["of"] == 5
    (home / "runs" / "store.sqlite").unlink()  # the machine is gone
    out, _, _ = run(*CLAIMS, capsys=capsys)
    assert "X.1 not run 3 of 5 runs so far" in " ".join(out.split())
    out, err, code = run("reproduce", "toy", "-j", "1", "--no-chart", "--json", capsys=capsys)
    told = json.loads(out)
    assert (code, told["ran"], told["skipped"], told["claims"][0]["verdict"]) == (0, 2, 3, "holds")
    assert f"{file}: 3 of 5 runs taken, made at commit" in err
    _, err, _ = run("reproduce", "toy", "-j", "1", "--no-chart", "--json", capsys=capsys)
    assert "taken" not in err
    run(*CLAIMS, "--record", capsys=capsys)
    assert not file.exists()
    (line,) = json.loads((home / "claims" / "ledger.json").read_text())
    assert (line["verdict"], line.get("progress"), line["evidence"]) == ("holds", None, "runs/toy.jsonl")


def test_fresh_takes_nothing_up_and_a_changed_file_is_refused(home, capsys):
    run(*CLAIMS, "--record", capsys=capsys)
    file = home / "claims" / "runs" / "unfinished" / "toy.jsonl"
    file.write_text(file.read_text().replace('"square":4', '"square":5'))
    words = ("reproduce", "toy", "-j", "1", "--no-chart", "--json", "--store", "new.sqlite")
    _, err, code = run(*words, capsys=capsys)
    assert code == 2
    assert "toy.jsonl, line 4, is not what was written there" in err
    assert "--fresh runs every point here" in err
    out, err, code = run(*words, "--fresh", capsys=capsys)
    assert (code, json.loads(out)["ran"], err) == (0, 5, "")


def test_recording_the_tables_alone_keeps_what_is_unfinished(home, capsys):
    run(*CLAIMS, "--record", capsys=capsys)
    (home / "runs" / "store.sqlite").unlink()
    run(*CLAIMS, "--record", "--rejudge", capsys=capsys)
    (line,) = json.loads((home / "claims" / "ledger.json").read_text())
    assert line["progress"] == [3, 5]


def test_runs_are_exported_and_imported_by_name(home, capsys):
    out, _, _ = run("runs", "export", "toy", "toy.jsonl", capsys=capsys)
    assert "3 of 5 runs of 'toy' written to toy.jsonl" in out
    out, _, _ = run("runs", "import", "toy", "toy.jsonl", "--store", "other.sqlite", capsys=capsys)
    assert "toy.jsonl: 3 of 5 runs taken" in out
    with Store("other.sqlite") as other, Store() as first:
        assert other.rows(TOY, "small") == first.rows(TOY, "small")
    assert run("runs", "export", "toy", "x.jsonl", "--store", "none.sqlite", capsys=capsys)[2] == 2
    with Store("empty.sqlite"):
        pass
    _, err, code = run("runs", "export", "toy", "x.jsonl", "--store", "empty.sqlite", capsys=capsys)
    assert code == 2
    assert "has no runs of 'toy', version 1, at scale small; nothing was written" in err
    assert not (home / "x.jsonl").exists()
    assert run("runs", "import", "toy", "absent.jsonl", capsys=capsys)[2] == 2


def test_the_queue_lists_what_waits_then_runs_it(home, capsys):
    out, _, code = run("reproduce", "--queue", "--minutes", "0", "--json", capsys=capsys)
    (line,) = json.loads(out)
    assert (line["paper"], line["missing"], line["of"], code) == ("toy", 2, 5, 0)
    out, err, code = run("reproduce", "--queue", capsys=capsys)
    assert "toy: 3 of 5 points" in err
    assert "nothing waits" in out
    assert code == 0
    _, err, code = run("reproduce", "toy", "--minutes", "3", capsys=capsys)
    assert "--minutes is for the queue" in err
    assert code == 2
