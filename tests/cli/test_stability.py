"""``priorscope stability``: numbers, files, a module of the user's own, mistakes in one line."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from priorscope.cli import main

FEW = ["--delta", "0.7", "--cutoff", "2", "--images", "60"]


def run(capsys, *words):
    try:
        main(["stability", *words])
        code = 0
    except SystemExit as end:
        code = end.code or 0
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_named_model_before_and_after_training(capsys, tmp_path):
    table = tmp_path / "new" / "s.csv"
    code, out, _ = run(capsys, "digits", "-m", "lenet", "--train", "20", "--json", "--out", str(table), *FEW)
    found = json.loads(out)
    assert code == 0
    assert set(found) == {"as it is", "trained"}
    assert found["trained"]["layers"][0]["R"] != found["as it is"]["layers"][0]["R"]
    assert found["trained"]["images"] == 60
    assert pd.read_csv(table).when.tolist() == ["as it is", "trained"]
    page = tmp_path / "s.html"
    code, out, _ = run(capsys, "digits", "-m", "lenet", "--layers", "--seeds", "1", "--out", str(page), *FEW)
    assert code == 0
    assert "sensitive to deformations by 0.7 pixels (cutoff 2)" in " ".join(out.split())
    assert "data:image/png" in page.read_text()


def test_a_trained_module_in_a_file_of_the_users_own(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_stability.py").write_text(
        "import torch\nfrom torch import nn\ntorch.manual_seed(0)\nnet = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))\n"
        "flat = nn.Linear(5, 1)\n"
    )
    code, out, _ = run(capsys, "digits", "-m", "own_stability.py:net", "--move", "shift", "--delta", "0.5")
    assert code == 0
    assert "own_stability.py:net is" in out
    code, _, err = run(capsys, "digits", "-m", "own_stability.py:flat", *FEW)
    assert code == 2
    assert "does not take inputs of shape (1, 8, 8)" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["digits", "-m", "nonsense"], "there is no model 'nonsense'"),
        (["nothing"], "neither a known data set"),
        (["digits", "--delta", "-1"], "finite delta >= 0"),
        (["digits", "--cutoff", "40"], "cutoff 40 is too high for images of 8 × 8 pixels"),
        (["digits", "--average", "mode"], "average must be 'median' or 'mean'"),
        (["digits", "--move", "wobble"], "one of deformation, shift, turn, zoom"),
        (["digits", "--train", "-3"], "--train counts steps"),
        (["digits", "--out", "s.bmp"], "--out must end in"),
        (["digits", "-m", "laplace", *FEW], "needs a torch.nn.Module"),
    ],
)
def test_mistakes_are_one_line(capsys, words, said):
    code, _, err = run(capsys, *words)
    assert code == 2
    assert said in " ".join(err.split())
