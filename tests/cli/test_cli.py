from __future__ import annotations

import dataclasses
import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from priorscope import papers
from priorscope.cli import COMMANDS, command_line, main
from priorscope.lab import Claim, Paper, Record, Store, at_least, record_ledger, sweep
from priorscope.statistics import Interval

FIELDS = {
    "id",
    "paper",
    "says",
    "source",
    "expected",
    "measured",
    "low",
    "high",
    "verdict",
    "scale",
    "command",
}


def square(point):
    if point.get("x") == 99:
        raise FloatingPointError("x = 99 never works")
    return {"square": point["x"] ** 2}


def measure(table):
    return Interval(table["square"].mean(), table["square"].min(), table["square"].max())


def chart(table):
    import altair as alt

    return alt.Chart(table).mark_point().encode(x="x:Q", y="square:Q")


def grid(scale):
    return [{"x": x, "seed": 0} for x in range({"tiny": 2, "small": 3, "paper": 4}[scale])]


TOY = Paper(
    "toy",
    "A toy",
    "nowhere",
    1,
    grid,
    square,
    (Claim("X.1", "Sec. 1", "squares [grow] <b>", measure=measure, expect=at_least(0)),),
    chart,
)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty working directory in which the toy is the only paper."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PRIORSCOPE_STORE", raising=False)
    monkeypatch.delenv("PRIORSCOPE_DEBUG", raising=False)
    monkeypatch.setattr(papers, "REGISTRY", {"toy": "toy"})
    monkeypatch.setattr(papers, "load", {"toy": TOY}.__getitem__)
    monkeypatch.setattr(papers, "load_all", lambda: [TOY])
    return tmp_path


def run(*words, capsys):
    """What the command line prints, its messages, and its exit code."""
    with pytest.raises(SystemExit) as end:
        main(list(words))
    out = capsys.readouterr()
    return out.out, out.err, end.value.code or 0


def test_reproduce_runs_stores_judges_and_draws(home, capsys):
    out, _, code = run("reproduce", "toy", "--scale", "small", "--jobs", "1", capsys=capsys)
    assert code == 0
    assert "holds" in out
    assert "3 points ran" in out
    assert (home / "report" / "toy.png").read_bytes().startswith(b"\x89PNG")
    page = (home / "report" / "toy.html").read_text()
    assert "<html" in page
    assert 'src="http' not in page  # nothing from the network
    out, _, _ = run("reproduce", "toy", "--jobs", "1", "--no-chart", "--json", capsys=capsys)
    told = json.loads(out)
    assert (told["ran"], told["skipped"], told["claims"][0]["verdict"]) == (0, 3, "holds")
    assert told["claims"][0]["measured"] == pytest.approx(5 / 3)


def test_tiny_runs_give_no_verdicts_in_claims(home, capsys):
    run("reproduce", "toy", "--scale", "tiny", "--jobs", "1", "--no-chart", capsys=capsys)
    out, _, _ = run("claims", "--paper", "toy", "--json", "--ledger", "none.json", capsys=capsys)
    (row,) = json.loads(out)
    assert row["verdict"] == "not run"
    run("report", capsys=capsys)
    page = (home / "report" / "papers.html").read_text()
    assert "tiny runs test the code and give no verdicts" in page
    assert 'class="holds"' not in page


def test_tiny_runs_give_no_verdicts_in_reproduce(home, capsys):
    out, _, _ = run("reproduce", "toy", "--scale", "tiny", "--jobs", "1", "--no-chart", capsys=capsys)
    assert "X.1 not run" in out
    out, _, _ = run("reproduce", "toy", "--scale", "tiny", "--jobs", "1", "--no-chart", "--json", capsys=capsys)
    (row,) = json.loads(out)["claims"]
    assert (row["verdict"], row["measured"], row["checks"]) == ("not run", None, [])


def test_tables_of_runs_are_written_and_judged_again_without_the_store(home, capsys):
    with Store() as store:
        sweep(TOY, "small", store, jobs=1)
    run("claims", "--record", "--json", "--ledger", "claims/ledger.json", capsys=capsys)
    (home / "runs" / "store.sqlite").unlink()
    out, _, code = run("claims", "X.1", "--rejudge", "--json", "--ledger", "claims/ledger.json", capsys=capsys)
    (row,) = json.loads(out)
    assert (code, row["local"], row["recorded"], row["evidence"]) == (0, "holds", "holds", "runs/toy.jsonl")
    out, _, _ = run("claims", "X.1", "--ledger", "claims/ledger.json", capsys=capsys)
    assert "evidence claims/runs/toy.jsonl" in " ".join(out.split())
    table = home / "claims" / "runs" / "toy.jsonl"
    whole = table.read_text()
    for spoilt in (whole.replace('"square":4', '"square":-4'), whole.replace('"square"', '"circle"')):
        table.write_text(spoilt)
        _, err, code = run("claims", "--rejudge", "--ledger", "claims/ledger.json", capsys=capsys)
        assert code == 1  # not shown in place of holds; a measure that raises
        assert "the tables of runs and the ledger disagree on: X.1" in err
    table.unlink()
    run("claims", "--record", "--rejudge", "--json", "--ledger", "claims/ledger.json", capsys=capsys)
    out, _, _ = run("claims", "X.1", "--ledger", "claims/ledger.json", capsys=capsys)
    assert "X.1 holds" in out  # the words are the same; but the verdict says that nobody can check it here
    assert "evidence not in the repo" in " ".join(out.split())


def test_a_claim_with_other_words_or_a_broken_measure_loses_its_verdict(home, capsys, monkeypatch):
    with Store() as store:
        sweep(TOY, "small", store, jobs=1)
    words = ("claims", "X.1", "--json", "--ledger", "claims/ledger.json")
    run("claims", "--record", "--json", "--ledger", "claims/ledger.json", capsys=capsys)

    def broken(table):
        raise KeyError("no such column")

    (claim,) = TOY.claims
    other = dataclasses.replace(TOY, claims=(dataclasses.replace(claim, says="squares shrink"),))
    raising = dataclasses.replace(
        TOY, claims=(Claim(claim.id, claim.source, claim.says, measure=broken, expect=at_least(0)),)
    )
    stricter = dataclasses.replace(
        TOY, claims=(Claim(claim.id, claim.source, claim.says, measure=measure, expect=at_least(0.5)),)
    )
    for paper, note in ((other, "judged under other words (then: holds)"), (raising, "the measure raised KeyError")):
        monkeypatch.setattr(papers, "load_all", lambda paper=paper: [paper])
        (home / "runs" / "store.sqlite").rename(home / "away")
        if paper is other:  # without runs; with them it is judged anew
            (row,) = json.loads(run(*words, capsys=capsys)[0])
            assert row["verdict"] == "not run"
            assert note in row["note"]
        (home / "away").rename(home / "runs" / "store.sqlite")
        (row,) = json.loads(run(*words, capsys=capsys)[0])
        assert row["verdict"] == ("holds" if paper is other else "not run")
        assert row["measured"] is (None if paper is raising else row["measured"])
    run("claims", "--record", "--json", "--ledger", "claims/ledger.json", capsys=capsys)
    (row,) = json.loads(run(*words, capsys=capsys)[0])
    assert (row["verdict"], row["recorded"]) == ("not run", "not run")
    assert "the measure raised KeyError" in row["note"]
    monkeypatch.setattr(papers, "load_all", lambda: [stricter])
    run("claims", "--record", "--json", "--ledger", "claims/ledger.json", capsys=capsys)
    (row,) = json.loads(run(*words, capsys=capsys)[0])
    assert (row["verdict"], row["recorded"]) == ("not shown", "not shown")


def test_claims_shows_local_beside_recorded_and_flags_disagreement(home, capsys):
    known = Record(id="X.1", says=TOY.claims[0].says, source="t", expected="at least 0", verdict="fails", measured=0.1)
    record_ledger([dataclasses.replace(known, scale="small")], "ledger.json")
    out, _, _ = run("claims", "--paper", "toy", "--json", "--ledger", "ledger.json", capsys=capsys)
    (row,) = json.loads(out)
    assert row.keys() >= FIELDS
    assert (row["verdict"], row["measured"], row["local"], row["disagrees"]) == ("fails", 0.1, "not run", False)
    with Store() as store:
        sweep(TOY, "small", store, jobs=1)
    out, _, _ = run("claims", "--paper", "toy", "--json", "--ledger", "ledger.json", capsys=capsys)
    (row,) = json.loads(out)
    assert (row["verdict"], row["recorded"], row["disagrees"], row["scale"]) == ("holds", "fails", True, "small")
    out, err, _ = run("claims", "--paper", "toy", "--ledger", "ledger.json", capsys=capsys)
    assert "disagree on: X.1" in err
    assert "[grow]" in " ".join(out.split())  # markup in a claim is shown, not obeyed
    out, _, _ = run("claims", "--record", "--scale", "small", "--ledger", "ledger.json", "--json", capsys=capsys)
    rows = {row["id"]: row for row in json.loads(out)}
    assert (rows["X.1"]["recorded"], rows["X.1"]["disagrees"]) == ("holds", False)
    assert rows.keys() == {"X.1"}


def test_report_writes_one_escaped_page(home, capsys):
    _, err, code = run("report", capsys=capsys)
    assert code == 2
    assert "no stored runs" in err
    with Store() as store:
        sweep(TOY, "small", store, jobs=1)
    run("report", capsys=capsys)
    page = (home / "report" / "papers.html").read_text()
    assert "squares [grow] &lt;b&gt;" in page
    assert "<b>" not in page.split("<script")[0]
    assert 'src="http' not in page


def test_failed_points_end_with_code_1_and_the_reason(home, capsys, monkeypatch):
    broken = Paper("toy", "A toy", "nowhere", 1, lambda scale: [{"x": 99, "seed": 0}, {"x": 1, "seed": 0}], square)
    monkeypatch.setattr(papers, "load", lambda name: broken)
    _, err, code = run("reproduce", "toy", "--jobs", "1", capsys=capsys)
    assert code == 1
    assert "1 of 2 points failed after 2 attempts" in err
    assert "x = 99 never works" in err


def test_claims_fit_the_window_and_one_claim_is_shown_in_full(home, capsys, monkeypatch):
    ids = [*(f"S0.{i}" for i in range(1, 11)), "J.2"]
    claims = tuple(Claim(i, "Sec. 2", "words " * 40, measure=measure, expect=at_least(0)) for i in ids)
    long = dataclasses.replace(TOY, name="long", claims=claims)
    monkeypatch.setattr(papers, "load_all", lambda: [TOY, long])
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        out, _, _ = run("claims", "--ledger", "none.json", capsys=capsys)
        lines = out.splitlines()
        assert max(map(len, lines)) <= width
        starts = [line.split()[0] for line in lines if line]
        assert {"X.1", "S0.10", "J.2"} <= set(starts)  # a line each, whatever the width
        assert any(line.startswith("X.1    not run") for line in lines)
    full, _, _ = run("claims", "X.1", "--ledger", "none.json", capsys=capsys)
    assert "source" in full
    assert "1 claim: 1 not run" in full
    by_paper, _, _ = run("claims", "toy", "--json", "--ledger", "none.json", capsys=capsys)
    assert [row["id"] for row in json.loads(by_paper)] == ["X.1"]
    series, _, _ = run("claims", "S0", "--json", "--ledger", "none.json", capsys=capsys)
    assert {row["id"] for row in json.loads(series)} == {f"S0.{i}" for i in range(1, 11)}
    first, _, _ = run("claims", "S0.1", "--json", "--ledger", "none.json", capsys=capsys)
    assert [row["id"] for row in json.loads(first)] == ["S0.1"]  # not S0.10


@pytest.mark.parametrize(
    "words, message",
    [
        (["reproduce", "toy", "--scale", "huge"], "a scale is one of"),
        (["reproduce", "toy", "--jobs", "0"], "a whole number jobs >= 1"),
        (["reproduce", "toy", "--jobs", "2", "--cluster", "tcp://x:1"], "give one of the two"),
        (["claims", "--scale", "tiny"], "judged at scale small, overnight or paper"),
        (["claims", "--record", "--paper", "toy"], "writes the whole ledger"),
        (["claims", "Q.7"], "no paper and no claim 'Q.7'; papers are toy"),
        (["claims", "toy", "--paper", "toy"], "give the paper once"),
        (["claims", "--store", "none.sqlite"], "there is no store at none.sqlite"),
        (["clams"], "Did you mean 'claims'"),
        (["reproduce", "toy", "--sclae", "tiny"], "No such option"),
    ],
)
def test_mistakes_are_one_line_and_code_2(home, capsys, words, message):
    _, err, code = run(*words, capsys=capsys)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize("words", [["claims"], ["report"], ["reproduce", "toy", "--scale", "tiny"]])
def test_a_store_from_another_version_is_named_and_left_alone(home, capsys, words):
    path = home / "newer.sqlite"
    with Store(path) as store:
        store.put("toy", 1, {"seed": 0}, {"y": 1.0}, seconds=0.1)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version=99")
    before = path.read_bytes()
    _, err, code = run(*words, "--store", str(path), capsys=capsys)
    assert code == 2
    assert "newer priorscope (layout 99" in " ".join(err.split())
    assert path.read_bytes() == before


def test_debug_shows_the_traceback(home):
    with pytest.raises(ValueError, match="a scale is one of"):
        main(["reproduce", "toy", "--scale", "huge", "--debug"])


def test_help_teaches_and_imports_nothing_heavy():
    code = (
        "import sys\nfrom priorscope.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('torch', 'pandas', 'altair', 'sklearn', 'scipy', 'distributed', 'numba') if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    for name in COMMANDS:
        assert name in told.stdout
    assert told.stdout.rstrip().endswith("[]")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name):
    command = command_line().get_command(None, name)
    assert len(command.help or "") > 20 or command.commands


def test_tab_completion_offers_commands_and_papers(monkeypatch, capsys):
    monkeypatch.setenv("_PRIORSCOPE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "priorscope re")
    monkeypatch.setenv("COMP_CWORD", "1")
    out, _, _ = run(capsys=capsys)
    assert {"reproduce", "report"} <= set(out.split())
