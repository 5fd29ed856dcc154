"""Python, the command line and the profile give one forecast of one architecture on one data set."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.cli import main
from priorscope.probes.curves.forecast import standard_model

HORIZON = 4 * 60


def asked(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    with pytest.raises(SystemExit) as left:
        main(words)
    out = capsys.readouterr()
    assert left.value.code == 0, out.err
    found: dict[str, object] = json.loads(out.out)
    return found


def by_command(file: Path, arch: str, seed: int, capsys: pytest.CaptureFixture[str]) -> list[float]:
    words = [
        "forecast",
        str(file),
        "--arch",
        arch,
        "--pilot",
        "60",
        "--to",
        str(HORIZON),
        "--seed",
        str(seed),
        "--json",
    ]
    row = asked(words, capsys)["forecast"][-1]
    assert row["n"] == HORIZON
    return [row["error"], row["low"], row["high"]]


@pytest.fixture
def rows() -> np.ndarray:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((150, 3)) * [1.0, 30.0, 0.02] + [0.0, 5.0, 100.0]  # no column has mean 0 or variance 1
    y = 7 + 3 * np.tanh(x[:, 0]) * (x[:, 1] - 5) / 30
    return np.column_stack([x, y]).astype(np.float32)


@pytest.mark.parametrize("seed", [0, 3])
def test_a_table(rows: np.ndarray, seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "table.csv"
    lines = [",".join(repr(float(v)) for v in row) for row in rows]
    file.write_text("a,b,c,y\n" + "\n".join(lines) + "\n")
    X, y = rows[:, :3], rows[:, 3]
    python = ps.forecast(X, y, HORIZON, pilot=60, seed=seed)
    ours = [python.error[0], python.low[0], python.high[0]]
    assert ours == pytest.approx(by_command(file, "fcn", seed, capsys), rel=1e-9)
    other = ps.forecast(X, y, HORIZON, pilot=60, seed=seed, standardise=False)  # control: the data as they are
    assert other.error[0] != pytest.approx(ours[0], rel=0.05)
    assert ps.forecast(X, y, HORIZON, pilot=60, seed=seed + 1).error[0] != pytest.approx(ours[0], rel=1e-3)


@pytest.mark.parametrize("arch", ["gap", "lap"])
def test_images(arch: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ps.data.digits("parity")
    file = tmp_path / "digits.npz"
    np.savez(file, x=data.inputs[:200].numpy(), y=data.targets[:200, 0].numpy())
    small = ps.data.from_arrays(data.inputs[:200], data.targets[:200], test_fraction=0.0)
    model = standard_model(arch, 3, (1, 8, 8))
    python = ps.forecast(small, model, HORIZON, pilot=60)
    ours = [python.error[0], python.low[0], python.high[0]]
    assert ours == pytest.approx(by_command(file, arch, 0, capsys), rel=1e-9)


def test_arrays_and_models_are_told_apart() -> None:
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    with pytest.raises(TypeError, match=r"needs inputs and targets, forecast\(X, y\)"):
        ps.forecast(x)
    data = ps.data.from_arrays(x, x[:, 0], test_fraction=0.0)
    with pytest.raises(TypeError, match="one model; got two"):
        ps.forecast(data, ps.models.fcn(1), model=ps.models.fcn(1))
    one, two = ps.forecast(data, ps.models.fcn(1)), ps.forecast(x, x[:, 0], model=ps.models.fcn(1))
    assert one.error[0] == two.error[0]
    assert one.n.tolist() == [160]
