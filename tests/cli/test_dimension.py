"""``priorscope dimension`` as a newcomer calls it, and wrongly."""

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
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 300)
    rows = np.stack([np.cos(angle), np.sin(angle), 2 * np.cos(angle), np.sin(3 * angle)], 1)
    file = tmp_path / "circle.csv"
    np.savetxt(file, rows, delimiter=",", header="a,b,c,y", comments="")
    return file


def test_a_circle_in_a_table(table, tmp_path, capsys):
    code, out, _ = call(
        capsys, "dimension", str(table), "--target", "y", "--model", "laplace", "-o", str(tmp_path / "d.csv")
    )
    assert code == 0
    assert out.startswith("The data look 1-dimensional (of 3 numbers per input)")
    assert "laplace: the error should fall" in out
    assert (tmp_path / "d.csv").read_text().startswith("n,distance")
    _, out, _ = call(capsys, "dimension", str(table), "--target", "y", "--json")
    assert 0.9 < json.loads(out)["dimension"] < 1.2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--out", "x.doc"], "--out must end in"),
        (["--model", "lenet"], "must have a kernel of its own"),
        (["--model", "laplac"], "Did you mean"),
    ],
)
def test_mistakes_are_one_line(table, capsys, words, told):
    code, _, err = call(capsys, "dimension", str(table), "--target", "y", *words)
    assert code == 2
    assert told in err.replace("\n", " ")
