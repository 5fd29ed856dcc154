"""``priorscope data``: list, show, get, and their exit codes."""

import gzip
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from priorscope.cli import main
from priorscope.cli._data import app

run = CliRunner().invoke


def test_show_reads_a_table(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,b,y\n" + "".join(f"{i * i % 7},{i % 3},{'yes' if i % 2 else 'no'}\n" for i in range(20)))
    facts = json.loads(run(app, ["show", str(file), "--json"]).output)
    assert (facts["task"], facts["input_shape"], facts["classes"], facts["train"]) == (
        "classification",
        [2],
        ["no", "yes"],
        16,
    )
    assert "task         classification" in run(app, ["show", str(file), "--target", "1"]).output
    bad = run(app, ["show", str(tmp_path / "absent.npz")])
    assert bad.exit_code == 2
    assert "no file or folder" in bad.output


def test_list_and_get(tmp_path, monkeypatch):
    monkeypatch.setenv("PRIORSCOPE_CACHE", str(tmp_path))
    rows = {r["name"]: r["here"] for r in json.loads(run(app, ["list", "--json"]).output)}
    assert rows == {"digits": True, "mnist": False, "fashion_mnist": False, "cifar10": False, "g2": False}
    assert "absent" in run(app, ["list"]).output
    assert run(app, ["get", "imagenet"]).exit_code == 2
    assert run(app, ["get", "digits"]).exit_code == 0
    monkeypatch.setenv("PATH", str(tmp_path))
    lost = run(app, ["get", "mnist"])
    assert lost.exit_code == 1
    assert "is not installed" in lost.output


def shown(capsys, *words):
    """Exit code, what was printed, and the lines of the error, by the entry point itself."""
    with pytest.raises(SystemExit) as end:
        main(["data", "show", *map(str, words)])
    told = capsys.readouterr()
    return end.value.code, told.out, told.err.strip().splitlines()


@pytest.mark.parametrize("kind", ["npz", "npy", "csv.gz", "idx", "bomb", "huge", "words"])
def test_damaged_files_end_in_one_line(tmp_path, capsys, kind):
    x = np.random.default_rng(0).normal(size=(20, 3))
    if kind == "npz":
        file = tmp_path / "a.npz"
        np.savez_compressed(file, x=x, y=x[:, 0])
        file.write_bytes(file.read_bytes()[:-60])
    elif kind == "npy":
        file = tmp_path / "a.npy"
        np.save(file, x)
        file.write_bytes(file.read_bytes()[:-7])
    elif kind == "csv.gz":  # once a bare "Aborted."
        file = tmp_path / "a.csv.gz"
        file.write_bytes(gzip.compress(b"a,y\n" + b"1,2\n" * 500)[:-12])
    elif kind == "idx":
        file = tmp_path / "train-images-idx3-ubyte"
        file.write_bytes(bytes([0, 0, 8, 3]) + b"\xff" * 12 + bytes(5))
        (tmp_path / "train-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 0]))
    elif kind == "bomb":
        file = tmp_path / "a.npy"
        file.write_bytes(
            b"\x93NUMPY\x01\x00v\x00"
            + b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 999), }".ljust(117)
            + b"\n"
        )
    elif kind == "huge":
        file = tmp_path / "a.csv"
        file.write_text("a,y\n" + f"{10**400},1\n2,0\n3,1\n")
    else:
        file = tmp_path / "a.csv"
        file.write_bytes(bytes(range(256)) * 9)
    code, out, err = shown(capsys, file)
    assert (code, out, len(err)) == (2, "", 1)
    assert err[0].startswith("error: ")
    assert file.name in err[0]


def test_what_was_decided_is_shown_and_can_be_settled(tmp_path, capsys):
    file = tmp_path / "t.csv"
    file.write_text("2019;2020;2021\n" + "".join(f"{i};1,{i}00;{i % 2}\n" for i in range(1, 9)))
    code, out, err = shown(capsys, file)
    assert (code, len(err)) == (2, 1)
    assert "Pass decimal=" in err[0]
    code, out, _ = shown(capsys, file, "--decimal", ",", "--target", "2020")
    assert code == 0
    assert "note         target: column '2020'" in out
    assert "note         columns are separated by ';'" in out
    assert shown(capsys, file, "--decimal", ",", "--target", "0")[0] == 0
    assert "channels_last" in shown(capsys, file, "--decimal", ",", "--layout", "NHWC")[2][0]
    code, out, _ = shown(capsys, file, "--decimal", ",", "--no-header", "--json")
    assert json.loads(out)["train"] + json.loads(out)["test"] == 9
