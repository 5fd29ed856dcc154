"""``priorscope memory``: the table, the picture, and mistakes in one line."""

from __future__ import annotations

import json

import pytest

from priorscope.cli import main
from priorscope.memory import best_exit_rate, two_hypotheses


def call(words, capsys):
    with pytest.raises(SystemExit) as end:
        main(["memory", *words])
    return end.value.code, capsys.readouterr()


def test_json_holds_the_exact_value_of_the_column(tmp_path, capsys):
    code, said = call(
        ["0.6,0.4", "--states", "3", "--plays", "2", "--evaluations", "10", "--seeds", "2", "--json"], capsys
    )
    assert code == 0
    rows = json.loads(said.out)["rows"]
    assert rows[0]["plays on a worse arm"] == 0.5
    assert rows[1]["plays on a worse arm"] == pytest.approx(best_exit_rate(3, two_hypotheses(0.2), 1e-4)[1], rel=1e-6)
    assert [row["memory"] for row in rows] == ["none", "ram(3)", "ram(3)", "memento(2)"]


def test_table_and_picture_with_three_arms(tmp_path, capsys):
    picture = tmp_path / "policy.png"
    words = [
        "0.7,0.5,0.3",
        "--states",
        "2",
        "--plays",
        "1",
        "--evaluations",
        "5",
        "--seeds",
        "2",
        "--out",
        str(picture),
    ]
    code, said = call(words, capsys)
    assert code == 0, said.err
    assert "Best here" in said.out
    assert picture.stat().st_size > 1000


@pytest.mark.parametrize(
    "words, told",
    [
        (["red,blue"], "numbers with commas"),
        (["0.5"], "two to six arms"),
        (["0.5,1.5"], "between 0 and 1"),
        (["0.6,0.4", "--reset", "0"], "reset"),
        (["0.6,0.4", "--states", "100000"], "fewer states"),
    ],
)
def test_mistakes_are_one_line(words, told, capsys):
    code, said = call([*words, "--evaluations", "2", "--seeds", "1"], capsys)
    assert code == 2
    assert told in said.err
    assert len(said.err.strip().splitlines()) == 1
