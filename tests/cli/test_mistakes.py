"""Mistakes of a newcomer at every command: one clear line, an exit code, never a traceback."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from priorscope import cli
from priorscope.cli import main

MISTAKES = [
    ("profile nothing.csv", "neither a known data set"),
    ("profile empty.csv", "is empty"),
    ("profile one.csv", "at least 2 training samples"),
    ("profile table.csv --pilot -5", "whole number pilot >= 8, or None; got -5"),
    ("profile table.csv --pilot many", "--pilot"),
    ("profile table.csv --seed -1", "whole number seed >= 0; got -1"),
    ("profile table.csv --error nan", "--error must be above 0"),
    ("profile table.csv --target z", "no column 'z'"),
    ("profile table.csv --resize 0", "--resize must be at least 2"),
    ("profile table.csv --only-models", "name a model of yours with --model"),
    ("profile table.csv --model numpy:zeros --only-models", "the factory zeros wants shape"),
    ("profile table.csv --model lenet --only-models", "lenet"),
    ("profile table.csv --out file", "--out wants a folder; file is a file"),
    ("profile table.csv --out file/below", "cannot use 'file/below'"),
    ("forecast", "Missing argument"),
    ("forecast table.csv --depth 0", "whole number depth >= 1; got 0"),
    ("forecast table.csv --depth 2.5", "--depth"),
    ("forecast table.csv --to 1", "--to must be at least 2"),
    ("forecast table.csv --to 1000000000", "--to reaches at most 1000 times the pilot of 60"),
    ("forecast table.csv --ridge nan", "--ridge must be a number"),
    ("forecast table.csv --time nan", "finite time > 0"),
    ("forecast table.csv --error -1", "--error above 0"),
    ("forecast table.csv --pilot 2", "at least 10 samples"),
    ("forecast table.csv --kind x", "kind must be 'ntk' or 'nngp'"),
    ("forecast table.csv --arch gap", "needs inputs with positions"),
    ("forecast table.csv --arch x", "--arch must be one of"),
    ("forecast table.csv --out file/x.png", "cannot use"),
    ("geometry --model gap", "Missing option"),
    ("geometry --model gap --shape 1x5x5 --models -3", "n_models >= 2; got -3"),
    ("geometry --model gap --shape 1x5x5 --precision 2", "0 < precision < 1"),
    ("geometry --model gap --shape 1x5x5 --probe-std nan", "finite probe_std > 0"),
    ("geometry --model gap --shape 0x3", "a shape looks like"),
    ("geometry --model gap --shape 9999x9999", "are free; use smaller images"),
    ("geometry --model gap --shape 5", "Conv needs inputs"),
    ("geometry --model gap --shape 1x4x4 --models 4 --chart x.bmp", "a chart ends in"),
    ("geometry --model gap --shape 1x4x4 --models 4 --chart file/x.svg", "cannot use"),
    ("geometry --model table.csv:x --shape 4", "cannot import 'table.csv'"),
    ("geometry --model numpy:zeros --shape 4", "it gave a ndarray"),
    ("kernel --arch x", "--arch must be one of"),
    ("kernel --n 1000000", "training samples; got n = 1000000"),
    ("kernel --n 20 --kind z", "kinds must be some of"),
    ("kernel --n 20 --activation q", "no nonlinearity is called 'q'"),
    ("kernel --n 20 --weight-variance -1", "Pass a variance"),
    ("kernel --n 20 --bias-variance nan", "Pass a variance"),
    ("kernel --n 20 --block -1", "block must be a positive"),
    ("kernel --n 20 --out x.txt", "ends in .npy or .zarr"),
    ("kernel --data table.csv --arch gap --n 20", "Conv needs inputs"),
    ("serve --port 99999999", "--port"),
    ("serve --store nothing.sqlite", "there is no store nothing.sqlite"),
    ("profil", "Did you mean 'profile'"),
    ("nothing", "There are: profile"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("newcomer")
    rows = np.random.default_rng(0).random((60, 3))
    (place / "table.csv").write_text("a,b,y\n" + "\n".join(",".join(map(str, row)) for row in rows) + "\n")
    (place / "one.csv").write_text("a,b,y\n1,2,3\n")
    (place / "empty.csv").write_text("")
    (place / "file").write_text("")
    return place


@pytest.mark.parametrize(("words", "said"), MISTAKES, ids=[words for words, _ in MISTAKES])
def test_one_line(
    words: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as left:
        main(words.split())
    assert left.value.code == 2
    text = capsys.readouterr().err
    assert said in text
    assert "Traceback" not in text
    if text.startswith("error:"):  # what the parser of options says comes with its usage
        assert text.count("\n") == 1


def test_a_mistake_leaves_no_folder_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit):
        main(["profile", "table.csv", "--model", "no_such_module:net", "--out", "report/today"])
    assert "no_such_module" in capsys.readouterr().err
    assert not (folder / "report").exists()


def test_faults_of_ours_are_told_as_such(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(cli, "command_line", broken)
    with pytest.raises(SystemExit) as left:
        main(["profile"])
    assert left.value.code == 70
    assert "ZeroDivisionError: division by zero (a fault of priorscope" in capsys.readouterr().err
    with pytest.raises(ZeroDivisionError):
        main(["profile", "--debug"])
