"""``priorscope extrapolate`` as somebody with points of their own calls it, and wrongly."""

from __future__ import annotations

import json

import pytest

import priorscope as ps
from priorscope.cli import main

ROWS = "n,error\n1000,0.42\n5000,0.23\n25000,0.13\n"


def call(capsys, *words):
    code = 0
    try:
        code = main(["extrapolate", *words]) or 0
    except SystemExit as ended:
        code = ended.code or 0
    seen = capsys.readouterr()
    return code, seen.out, seen.err


@pytest.fixture
def points(tmp_path):
    file = tmp_path / "curve.csv"
    file.write_text(ROWS)
    return file


def test_the_sentence_is_that_of_the_library(capsys, points):
    found = ps.extrapolate([1000, 5000, 25000], [0.42, 0.23, 0.13], to=100_000, tests=10_000, kind="network")
    options = ("--to", "100000", "--tests", "10000", "--kind", "network")
    code, out, _ = call(capsys, str(points), *options, "--need", "0.05", "--labels", "5000")
    assert code == 0
    assert out.splitlines()[0] == found.sentence
    assert out.splitlines()[1].startswith("Error 0.05: about ")
    assert "5,000 more samples would take off " in out
    _, out, _ = call(capsys, str(points), *options, "--json")
    told = json.loads(out)
    assert told["estimate"]["value"] == pytest.approx(found.estimate.value)
    assert told["floor"]["low"] <= told["floor"]["value"] <= told["floor"]["high"]


def test_columns_by_name_and_a_picture(capsys, tmp_path):
    file = tmp_path / "loss.csv"
    file.write_text("# three runs\ntokens, loss, se\n1e9, 3.1, 0.01\n4e9, 2.8, 0.01\n1.6e10, 2.6, 0.01\n")
    picture, table = tmp_path / "curve.png", tmp_path / "curve.csv"
    assert call(capsys, str(file), "--to", "1e11", "-o", str(picture))[0] == 0
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert call(capsys, str(file), "--to", "1e11", "-o", str(table))[0] == 0
    assert table.read_text().startswith("n,error,low,high")


def test_a_curve_that_rises_is_told(capsys, tmp_path):
    file = tmp_path / "rising.csv"
    file.write_text("n,error,tests\n100,0.2,5000\n200,0.3,5000\n400,0.15,5000\n")
    _, out, _ = call(capsys, str(file), "--to", "1000")
    assert "Careful: the error rises from 0.2 at 100 samples to 0.3 at 200" in out


@pytest.mark.parametrize(
    ("text", "words", "told"),
    [
        ("n\n1\n", ("--to", "10"), "training samples, error"),
        ("n,error\nmany,0.1\n", ("--to", "10"), "needs a line of names, then numbers"),
        ("n,error\n", ("--to", "10"), "0 rows"),
        (ROWS, ("--to", "10", "-o", "curve.gif"), "must end in"),
        (ROWS, ("--to", "10", "--kind", "forest"), "knows the kinds"),
    ],
)
def test_what_cannot_be_read_is_refused(capsys, tmp_path, text, words, told):
    file = tmp_path / "c.csv"
    file.write_text(text)
    code, out, err = call(capsys, str(file), *words)
    assert code != 0
    assert told in " ".join((out + err).split())
