"""The tutorials run and say what they promise."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
PROMISES = {
    "profile_your_data.py": "measured on all 160 rows in 5 folds",
    "forecast_a_curve.py": "measured at 600",
    "own_network.py": "infinite width",
}


@pytest.mark.parametrize("name", sorted(PROMISES))
def test_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(FOLDER / name), run_name="__main__")
    assert PROMISES[name] in capsys.readouterr().out


def test_every_example_is_tested() -> None:
    assert {f.name for f in FOLDER.glob("*.py")} >= set(PROMISES)
