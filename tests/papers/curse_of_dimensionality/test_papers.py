"""Width, data efficiency and rotated pixels at tiny scale; made-up tables show that each judge can decide both ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from priorscope.papers import load
from priorscope.papers.curse_of_dimensionality._systems import images


@pytest.mark.parametrize("name", ["symmetry-width", "dide", "rotated-sota"])
def test_tiny_grid_runs_and_draws(name: str) -> None:
    paper = load(name)
    points = paper.points("tiny")
    table = pd.DataFrame([{**point, **paper.run(point)} for point in points])
    for claim in paper.claims:
        assert claim.judge(table).note
    assert paper.chart is not None
    assert paper.chart(table).to_dict()
    assert len(paper.points("small")) >= len(points) - 12


def _table(name: str, **metrics: Any) -> pd.DataFrame:
    points = load(name).points("small")
    return pd.DataFrame([{**p, **{k: f(p, i) for k, f in metrics.items()}} for i, p in enumerate(points)])


def _verdict(name: str, claim: str, table: pd.DataFrame) -> str:
    return next(c for c in load(name).claims if c.id == claim).judge(table).verdict


def test_judges_of_width() -> None:
    for power, wanted in ((-0.5, "holds"), (-0.2, "fails"), (-0.8, "fails")):
        table = _table(
            "symmetry-width",
            kernel_error=lambda p, i, power=power: p["width"] ** power * (1 + 0.01 * (i % 3)),
            mean_distance=lambda p, i: p["width"] ** -0.6,
        )
        assert _verdict("symmetry-width", "S0.7", table) == wanted
    for sign, ahead, wanted in ((1, 0.1, "holds"), (-1, 0.1, "fails"), (-1, -0.1, "not shown")):
        table = _table(
            "symmetry-width",
            accuracy=lambda p, i, sign=sign: 0.5 - sign * (p["time"] + np.log(p["width"])) / 50,
            to_gap=lambda p, i: p["time"] + p["width"],
            to_limit=lambda p, i: 9 - p["time"] - np.log(p["width"]),
            gap_accuracy=lambda p, i, ahead=ahead: 0.5 + ahead,
            limit_accuracy=lambda p, i: 0.5,
        )
        assert _verdict("symmetry-width", "S0.6", table) == wanted


def test_judge_of_data_efficiency() -> None:
    def error(p: dict[str, Any], i: int, bends: tuple[str, ...]) -> float:
        late = 0.4 if p["system"] in bends else 0.1
        m, knee = p["m"], 256
        return float((min(m, knee) / 64) ** -0.1 * max(m / knee, 1) ** -late * (0.9 + 0.004 * (7 * i * i % 11)))

    for bends, wanted in ((("VEC_n",), "holds"), (("VEC_n", "LCN_n"), "not shown"), ((), "not shown")):
        table = _table("dide", error=lambda p, i, bends=bends: error(p, i, bends))
        assert _verdict("dide", "S0.8", table) == wanted


def test_judge_of_rotated_pixels() -> None:
    def accuracy(p: dict[str, Any], i: int, closes: bool) -> float:
        gap = 0.1 * (500 / p["m"] if closes else p["m"] / 500)
        return 0.6 - gap * (p["group"] != "identity") + 1e-3 * (i % 2)

    assert (
        _verdict("rotated-sota", "S0.10", _table("rotated-sota", accuracy=lambda p, i: accuracy(p, i, True))) == "holds"
    )
    assert (
        _verdict("rotated-sota", "S0.10", _table("rotated-sota", accuracy=lambda p, i: accuracy(p, i, False)))
        == "fails"
    )


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
