"""``priorscope labels`` as a newcomer calls it, and wrongly."""

from __future__ import annotations

import json

import numpy as np
import pytest

from priorscope.cli import main


def call(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    told = capsys.readouterr()
    return left.value.code, told.out, told.err


@pytest.fixture
def table(tmp_path):
    """Two clusters in a table; rows 3 and 40 carry the label of the other."""
    rng = np.random.default_rng(0)
    kind = np.arange(90) % 2
    x = rng.normal(size=(90, 3)) + 6 * kind[:, None]
    kind[[3, 40]] = 1 - kind[[3, 40]]
    lines = [f"{a},{b},{c},{'cat' if k else 'dog'}" for (a, b, c), k in zip(x, kind, strict=True)]
    file = tmp_path / "pets.csv"
    file.write_text("a,b,c,kind\n" + "\n".join(lines) + "\n")
    return file


def test_wrong_labels_of_a_table_are_named_by_row(table, tmp_path, capsys):
    code, out, _ = call(capsys, "labels", str(table), "--target", "kind", "-o", str(tmp_path / "all.csv"))
    assert code == 0
    assert "labels looked at seem wrong" in out or "labels look right" in out
    rows = (tmp_path / "all.csv").read_text().splitlines()
    assert rows[0] == "row,label,suggested,wrong"
    assert {int(line.split(",")[0]) for line in rows[1:3]} == {3, 40}
    code, out, _ = call(capsys, "labels", str(table), "--target", "kind", "--json")
    found = json.loads(out)
    assert {s["row"] for s in found["suspects"]} == {3, 40}
    assert found["looked_at"] == 90


def test_mistakes_are_told(table, tmp_path, capsys):
    code, _, err = call(capsys, "labels", str(table), "--target", "kind", "-o", "x.doc")
    assert code == 2
    assert "--out must end in" in err
    code, _, err = call(capsys, "labels", str(table), "--target", "a")
    assert code == 2
    assert "needs classes" in err
