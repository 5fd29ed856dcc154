"""Labels in a profile: rows by their own numbers, pictures of suspects, silence where nothing can be said."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.profiles.sections._labels import pictures


@pytest.fixture(scope="module")
def flipped():
    """Images of two kinds, a bright left or right half; rows 3, 10, …, 157 carry the other label."""
    rng = np.random.default_rng(0)
    kind = np.arange(160) % 2
    x = rng.normal(size=(160, 1, 6, 6))
    x[kind == 0, :, :, :3] += 1.5
    x[kind == 1, :, :, 3:] += 1.5
    wrong = np.arange(3, 160, 7)
    given = kind.copy()
    given[wrong] = 1 - kind[wrong]
    words = [("left", "right")[k] for k in given]
    candidates = ["fcn-1", "laplace"]
    rep = ps.profile(torch.from_numpy(x).float(), words, candidates=candidates, budget=20)
    return rep, wrong


def test_suspects_are_named_by_their_rows(flipped):
    rep, wrong = flipped
    found = rep.findings["labels"].found
    assert found.rate.contains(len(wrong) / 160)
    rows = found.worst()["row"].tolist()
    assert len(set(rows) & set(wrong.tolist())) >= 18
    assert len(set(rows) - set(wrong.tolist())) <= 3
    assert any("labels looked at seem wrong" in w for w in rep.warnings)


def test_json_and_page_show_them(flipped):
    rep, wrong = flipped
    told = json.loads(rep.to_json())["sections"]["labels"]
    assert len({s["row"] for s in told["suspects"]} & set(wrong.tolist())) >= 18
    page = rep.to_html()
    assert "Are the labels right?" in page
    drawn = pictures(rep.findings["labels"].pictures[:2], rep.findings["labels"].found.worst(2)).to_dict()
    titles = {panel["title"]["text"] for panel in drawn["concat"]}
    assert titles <= {"left (right?)", "right (left?)"}


def test_numbers_have_no_such_section():
    x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
    rep = ps.profile(x, x[:, 0], candidates=["fcn-1"], budget=8)
    assert "labels" not in rep.findings


def test_right_labels_are_not_warned_of():
    rng = np.random.default_rng(1)
    kind = np.arange(120) % 2
    x = rng.normal(size=(120, 4)) + 4 * kind[:, None]
    rep = ps.profile(x, [f"c{k}" for k in kind], candidates=["fcn-1"], budget=12)
    assert not rep.findings["labels"].warnings()
    assert rep.findings["labels"].sentences()[0].startswith("The labels look right")
