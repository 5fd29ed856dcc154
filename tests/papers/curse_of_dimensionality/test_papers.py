"""Width, data efficiency and rotated pixels at tiny scale; made-up tables show that each claim can be decided both ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from priorscope.lab import Verdict, judge_claim
from priorscope.papers import load
from priorscope.papers.curse_of_dimensionality._systems import images


@pytest.mark.parametrize("name", ["symmetry-width", "symmetry-path", "symmetry-interventions", "dide", "rotated-sota"])
def test_tiny_grid_runs_and_draws(name: str, as_recorded) -> None:
    paper = load(name)
    points = paper.points("tiny")
    table = pd.DataFrame([{**point, **paper.run(point)} for point in points])
    as_recorded(paper, table)
    for claim in paper.claims:
        assert [check.name for check in judge_claim(claim, table).checks] == [check.name for check in claim.checks]
    assert paper.chart is not None
    assert paper.chart(table).to_dict()
    assert len(paper.points("small")) >= len(points) - 12


def _table(name: str, **metrics: Any) -> pd.DataFrame:
    points = load(name).points("small")
    return pd.DataFrame([{**p, **{k: f(p, i) for k, f in metrics.items()}} for i, p in enumerate(points)])


def _judged(name: str, claim: str, table: pd.DataFrame) -> Verdict:
    return judge_claim(next(c for c in load(name).claims if c.id == claim), table)


@pytest.mark.parametrize(
    ("power", "bound", "wanted"),
    [
        (-0.5, -0.6, "holds"),
        (-0.45, -0.6, "holds with changes"),
        (-0.2, -0.6, "fails"),
        (-0.8, -0.6, "fails"),
        (-0.5, -0.3, "fails"),
    ],
)
def test_rates_in_the_width(power: float, bound: float, wanted: str) -> None:
    table = _table(
        "symmetry-width",
        kernel_error=lambda p, i: p["width"] ** power * (1 + 0.01 * (i % 3)),
        mean_distance=lambda p, i: p["width"] ** bound * (1 + 0.01 * (i % 3)),
    )
    assert _judged("symmetry-width", "S0.7", table).verdict == wanted


def _path(sign: int, ahead: float) -> pd.DataFrame:
    return _table(
        "symmetry-path",
        accuracy=lambda p, i: 0.5 - sign * (p["time"] + np.log(p["width"])) / 50,
        to_gap=lambda p, i: p["time"] + p["width"],
        to_limit=lambda p, i: 9 - p["time"] - np.log(p["width"]),
        gap_accuracy=lambda p, i: 0.5 + ahead,
        limit_accuracy=lambda p, i: 0.5,
    )


@pytest.mark.parametrize(("sign", "ahead", "wanted"), [(1, 0.1, "holds"), (-1, 0.1, "fails"), (-1, -0.1, "not shown")])
def test_trends_along_the_path(sign: int, ahead: float, wanted: str) -> None:
    verdict = _judged("symmetry-path", "S0.6", _path(sign, ahead))
    assert verdict.verdict == wanted
    assert len(verdict.checks) == 12  # three columns, two axes, two sets of images
    if ahead < 0:
        assert "GAP is not ahead of VEC_∞ (-0.100)" in verdict.note


def test_a_correlation_of_a_half_up_to_rounding_is_decided() -> None:
    # the mean of 0.8, 0.4, 0.4 and 0.4 is 0.49999999999999994: on the wrong side of nothing, the trend is upwards
    table = _path(1, 0.1)
    orders = {4: (1, 2, 4, 3), 8: (1, 4, 2, 3), 16: (2, 1, 4, 3), 32: (1, 4, 3, 2)}  # Spearman 0.8, 0.4, 0.6, 0.4
    times = sorted(set(table.time))
    along = [orders.get(w, (1, 2, 3, 4))[times.index(t)] for w, t in zip(table.width, table.time)]
    verdict = _judged("symmetry-path", "S0.6", table.assign(to_limit=along))
    by_name = {check.name: check for check in verdict.checks}
    assert by_name["distance to VEC_∞ with rotation, CIFAR-10"].verdict == "fails"
    assert by_name["distance to E GAP_n with rotation, CIFAR-10"].verdict == "holds"
    assert verdict.verdict == "fails"


def test_data_efficiency() -> None:
    def error(p: dict[str, Any], i: int, late: dict[str, float]) -> float:
        m, knee = p["m"], 512  # the middle of the sizes
        noise = 0.9 + 0.004 * (7 * i * i % 11)
        return float((min(m, knee) / 64) ** -0.2 * max(m / knee, 1) ** -late.get(p["system"], 0.1) * noise)

    for late, wanted in (
        ({"VEC_n": 0.4}, "holds"),  # the others' exponents fall
        ({"VEC_n": 0.4, "LCN_n": 0.4}, "fails"),  # not VEC alone
        ({"VEC_n": 0.4, "LCN_n": 0.2}, "not shown"),  # LCN's does neither
        ({}, "fails"),
    ):
        table = _table("dide", error=lambda p, i, late=late: error(p, i, late))
        assert _judged("dide", "S0.8", table).verdict == wanted, late


def test_rotated_pixels(as_recorded) -> None:
    def table(gap: float, closes: bool) -> pd.DataFrame:
        share = lambda m: gap * (500 / m if closes else m / 50000)  # noqa: E731
        return _table(
            "rotated-sota",
            accuracy=lambda p, i: 0.6 - share(p["m"]) * (p["group"] != "identity") + 1e-3 * (p["seed"] - 0.5),
        )

    assert _judged("rotated-sota", "S0.10", table(0.1, True)).verdict == "holds"
    as_recorded(load("rotated-sota"), table(0.1, True), made_up=True)
    opening = _judged("rotated-sota", "S0.10", table(0.05, False))
    assert [check.verdict for check in opening.checks] == ["holds", "fails"]
    assert [check.verdict for check in _judged("rotated-sota", "S0.10", table(0.3, False)).checks] == ["fails", "fails"]
    one = table(0.1, True).query("seed == 0")
    assert _judged("rotated-sota", "S0.10", one).verdict == "not shown"  # one draw has no interval


OWN = """
from torch import nn

def linear(input_shape, width, outputs):
    size = input_shape[0] * input_shape[1] * input_shape[2]
    return nn.Sequential(nn.Flatten(), nn.Linear(size, width), nn.ReLU(), nn.Linear(width, outputs))
"""


def test_rotated_pixels_of_a_folder_of_images_and_of_any_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    for name, colour in (("blue", 2), ("red", 0)):
        (tmp_path / "images" / name).mkdir(parents=True)
        for k in range(24):
            pixels = rng.integers(0, 120, size=(12, 12, 3), dtype=np.uint8)
            pixels[..., colour] += 120
            Image.fromarray(pixels).save(tmp_path / "images" / name / f"{k}.png")
    (tmp_path / "own_models.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    paper = load("rotated-sota")
    point = {**paper.points("tiny")[0], "data": f"folder:{tmp_path / 'images'}", "size": 6, "m": 32, "n_test": 9}
    own = {**point, "model": "own_models:linear", "width": 16, "least_steps": 60}
    assert images(point["data"], 6, 32, 9, 0).input_shape == (3, 6, 6)  # resized
    assert paper.run(own)["accuracy"] == 1.0  # two colours are easy
    assert paper.run({**own, "group": "O(c)^d"})["accuracy"] >= 0.7  # as easy for a fully connected network
    assert 0 <= paper.run({**point, "size": 8})["accuracy"] <= 1  # ResNet18
    with pytest.raises(ValueError, match="no model 'resnet99'"):
        paper.run({**point, "model": "resnet99"})
