"""``priorscope margin`` on a network of the user's, trained here or before, and on what has no margin."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from priorscope.cli import main

FILE = """
import torch
from torch import nn

def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 16, bias=False), nn.ReLU(), nn.Linear(16, 1, bias=False))

def biased():
    return nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
"""


def call(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    told = capsys.readouterr()
    return left.value.code, told.out, told.err


@pytest.fixture
def place(tmp_path):
    """Two clusters on both sides of the origin, and a file with two networks."""
    rng = np.random.default_rng(0)
    side = np.arange(40) % 2
    x = rng.normal(size=(40, 3)) + 3 * (2 * side[:, None] - 1)
    rows = [f"{a},{b},{c},{k}" for (a, b, c), k in zip(x, side, strict=True)]
    (tmp_path / "sides.csv").write_text("a,b,c,side\n" + "\n".join(rows) + "\n")
    (tmp_path / "mine.py").write_text(FILE)
    return tmp_path


def told(place, name):
    """Words that name the table, its labels and one of the networks."""
    return [
        str(place / "sides.csv"),
        "--target",
        "side",
        "--classes",
        "parity",
        "--model",
        f"{place / 'mine.py'}:{name}",
    ]


def test_training_brings_a_network_near_its_largest_margin(place, capsys):
    words = [*told(place, "network"), "--json"]
    ratios = []
    for steps in ("30", "1000"):
        code, out, err = call(capsys, "margin", *words, "--train", steps, "-o", str(place / "all.csv"))
        assert code == 0, err
        found = json.loads(out)
        assert found["degree"] == 2
        assert found["samples"] == 40
        ratios.append(found["ratio"])
    assert ratios[0] < ratios[1]
    assert ratios[1] > 0.95
    assert len((place / "all.csv").read_text().splitlines()) == 41


def test_stored_weights_are_used(place, capsys):
    net = torch.nn.Sequential(torch.nn.Linear(3, 16, bias=False), torch.nn.ReLU(), torch.nn.Linear(16, 1, bias=False))
    with torch.no_grad():  # f = -(x1 + x2 + x3) by two of the sixteen
        net[0].weight.zero_()
        net[0].weight[0], net[0].weight[1] = 1.0, -1.0
        net[2].weight.zero_()
        net[2].weight[0, 0], net[2].weight[0, 1] = -1.0, 1.0
    torch.save(net.state_dict(), place / "net.pt")
    words = told(place, "network")
    code, out, err = call(capsys, "margin", *words, "--weights", str(place / "net.pt"), "--json")
    assert code == 0, err
    assert json.loads(out)["weight_norm"] == pytest.approx(8**0.5)


def test_mistakes_are_told(place, capsys):
    table = str(place / "sides.csv")
    words = [
        table,
        "--target",
        "side",
        "--classes",
        "parity",
        "--model",
        f"{place / 'mine.py'}:biased",
        "--train",
        "200",
    ]
    code, _, err = call(capsys, "margin", *words)
    assert code == 2
    assert "homogeneous in its last layer" in err
    code, out, _ = call(capsys, "margin", *words, "--parameters", "2")
    assert code == 0
    assert "are held" in out
    code, _, err = call(capsys, "margin", table, "--target", "a")
    assert code == 2
    assert "needs classes" in err
    code, _, err = call(capsys, "margin", table, "--target", "side", "-o", "x.doc")
    assert code == 2
    assert "--out must end in" in err
