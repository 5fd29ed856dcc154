"""The commands profile and forecast, and what they say about bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from priorscope.cli import main


def _run(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = 0
    try:
        main(words)
    except SystemExit as stop:
        code = int(stop.code or 0)
    out = capsys.readouterr()
    return code, out.out, " ".join(out.err.split())


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((80, 3))
    rows = [f"{a},{b},{c},{a * b}" for a, b, c in x]
    file = tmp_path / "table.csv"
    file.write_text("a,b,c,y\n" + "\n".join(rows) + "\n")
    return file


def test_profile_of_a_table(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report"
    words = ["profile", str(table), "--target", "y", "--out", str(out), "--static", "svg", "--json", "--budget", "4 s"]
    code, text, _ = _run(words, capsys)
    assert code == 0
    found = json.loads(text)
    assert found["task"] == "regression"
    assert {row["name"] for row in found["rows"]} > {"fcn-1", "fcn-3", "linear"}
    assert {f.name for f in out.iterdir()} >= {"index.html", "profile.json", "curves.svg"}


def test_profile_prints_sentences_and_the_whole_table_in_80_columns(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text, _ = _run(
        ["profile", str(table), "--budget", "15", "--no-trials", "--metric", "neg_mean_absolute_error"], capsys
    )
    assert code == 0
    assert text.splitlines()[2].startswith(("Use ", "Nothing seen"))
    assert "in the mean on new rows" in " ".join(text.split())
    assert max(len(line) for line in text.splitlines()) <= 80
    for name in ("fcn-1", "laplace", "gaussian", "linear", "SVM"):
        assert any(line.startswith(name) for line in text.splitlines())


def test_groups_are_a_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},p{i // 4},{a + 0.1 * b:.3f}" for i, (a, b) in enumerate(rng.standard_normal((80, 2)))]
    file = tmp_path / "people.csv"
    file.write_text("a,person,y\n" + "\n".join(rows) + "\n")
    words = [
        "profile",
        str(file),
        "--groups",
        "person",
        "--only-models",
        "--model",
        "linear",
        "--budget",
        "2",
        "--json",
    ]
    code, text, err = _run(words, capsys)
    assert code == 0, err
    found = json.loads(text)
    assert found["about"] == "new groups"
    assert "on new groups" in found["verdict"][0]


def test_ctrl_c_prints_the_answer_so_far(
    table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from priorscope.profiles._race import Race

    before, calls = Race._try, []

    def stopped(self: Race, *arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) > 3:
            raise KeyboardInterrupt
        before(self, *arguments)

    monkeypatch.setattr(Race, "_try", stopped)
    code, text, _ = _run(["profile", str(table), "--no-trials"], capsys)
    assert code == 0
    assert "this is the answer so far, all that was measured is kept" in " ".join(text.split())
    monkeypatch.setattr(Race, "_try", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    code, _, err = _run(["profile", str(table), "--no-trials"], capsys)
    assert code == 130
    assert "stopped before there was an answer" in err


def test_forecast_prints_json_and_writes_files(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "curve.csv"
    code, text, _ = _run(
        ["forecast", str(table), "--to", "600", "--error", "0.01", "--out", str(out), "--json"], capsys
    )
    assert code == 0
    found = json.loads(text)
    assert found["forecast"][-1]["n"] == 600
    assert found["samples_needed"]["error"] == 0.01
    assert out.read_text().startswith("n,error,low,high")
    code, text, _ = _run(["forecast", str(table), "--to", "200", "--error", "0.3"], capsys)
    assert code == 0
    assert "samples" in text


@pytest.mark.parametrize(
    "words, message",
    [
        (["forecast", "digits", "--out", "curve.xyz"], "--out must end in"),
        (["forecast", "digits", "--arch", "mlp"], "--arch must be one of"),
        (["forecast", "digits", "--to", "1"], "--to must be at least 2"),
        (["profile", "digit"], "Did you mean 'digits'"),
        (["profile", "digits", "--target", "y"], "target names a column"),
        (["profile", "digits", "--out", "page.html"], "--out wants a folder"),
        (["profile", "digits", "--static", "png"], "give --out FOLDER"),
        (["profile", "digits", "--out", "somewhere", "--static", "gif"], "--static takes"),
        (["profile", "digits", "--pilot", "3"], "pilot"),
        (["profile", "digits", "--budget", "soon"], "budget must be processor seconds"),
        (["profile", "digits", "--error", "0"], "--error must be above 0"),
        (["profile", "digits", "--resize", "1"], "--resize must be at least 2"),
        (["profile", "digits", "--model", "nothing"], "package.module:factory"),
        (["profile", "digits", "--model", "no_such_module:f"], "give the path of its file"),
    ],
)
def test_messages(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = _run(words, capsys)
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    "rows, message",
    [
        (["1,2,nan", "2,3,1"] * 8, "(?i)nan|missing|empty"),
        (["1,2,5", "2,3,5"] * 8, "(?i)constant|same|varied|one"),
        (["1,2,3"], "(?i)at least|samples|rows"),
        (["1,1,0.5", "1,1,1.5", "1,1,2.5"] * 8, "(?i)ignores its input|same|constant"),
    ],
)
def test_bad_tables(rows: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import re

    file = tmp_path / "bad.csv"
    file.write_text("a,b,y\n" + "\n".join(rows) + "\n")
    code, _, err = _run(["profile", str(file)], capsys)
    assert code == 2
    assert re.search(message, err), err


def test_gaps_are_filled_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.random.default_rng(0).standard_normal((20, 3))
    x[4, 0] = np.nan
    np.savez(tmp_path / "gaps.npz", x=x, y=np.arange(20) % 2)
    code, out, err = _run(
        ["profile", str(tmp_path / "gaps.npz"), "--out", str(tmp_path / "page"), "--no-trials"], capsys
    )
    assert code == 0, err
    assert "1 missing value in 1 of 20 rows" in " ".join((out + err).split())


@pytest.mark.parametrize(
    "arrays, message",
    [
        ({"x": (20, 3), "y": 19}, "as many rows as each other"),
        ({"x": (20,), "y": 20}, "at least two axes"),
        ({"x": (20, 3), "y": 20, "break": np.inf}, "1 of 20 rows hold NaN or infinity"),
        ({"x": (20, 3), "y": 20, "classes": 1}, "at least 2 classes"),
        ({"x": (1, 3), "y": 1}, "at least 2 training samples"),
        ({"x": (3, 3), "y": 3}, "at least 4 rows"),
        ({"x": (20, 3), "y": 20, "same": True}, "all 20 training inputs are the same"),
        ({"x": (20, 1, 3, 3, 3), "y": 20}, "Flatten them, or put one axis into the channels"),
    ],
)
def test_bad_arrays(arrays: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.random.default_rng(0).standard_normal(arrays["x"])
    if "break" in arrays:
        x[4, 0] = arrays["break"]
    if "same" in arrays:
        x[:] = x[0]
    np.savez(tmp_path / "bad.npz", x=x, y=np.arange(arrays["y"]) % arrays.get("classes", 2))
    code, _, err = _run(["profile", str(tmp_path / "bad.npz")], capsys)
    assert code == 2
    assert message in err


def test_a_model_that_ignores_its_input(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deaf_model.py").write_text(
        "import torch\n\n\nclass Deaf(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.w = torch.nn.Parameter(torch.ones(1))\n\n    def forward(self, x):\n"
        "        return self.w.expand(len(x), 1)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    code, text, _ = _run(
        ["profile", str(table), "--only-models", "--model", "deaf_model:Deaf", "--budget", "6"], capsys
    )
    said = " ".join(text.split())
    assert code == 0  # measured like any other
    assert "would have shown" in said  # nothing is seen, with the gain that these rows would have shown
    assert "Use your model" not in said


def test_a_full_disk_and_an_interrupt_end_with_a_code(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    words = ["profile", str(table), "--only-models", "--model", "priorscope.models:fcn", "--out", str(tmp_path / "o")]
    monkeypatch.setattr("priorscope.profiles._result.write_whole", full)
    code, text, err = _run(words, capsys)
    assert code == 2
    assert "No space left on device" in err
    assert "Use your model fcn" in " ".join(text.split())  # what was found is on the screen all the same

    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("priorscope.profiles._race.Race.run", stop)
    code, _, _ = _run(words, capsys)
    assert code == 130


def test_a_folder_may_have_a_dot_in_its_name(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "v1.0"
    words = [
        "profile",
        str(table),
        "--target",
        "y",
        "--only-models",
        "--model",
        "fcn",
        "--no-trials",
        "--out",
        str(out),
    ]
    code, _, err = _run(words, capsys)
    assert code == 0, err
    assert (out / "index.html").exists()
