"""``priorscope data``: list, show, get, and their exit codes."""

import json

from typer.testing import CliRunner

from priorscope.cli._data import app

run = CliRunner().invoke


def test_show_reads_a_table(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,b,y\n" + "".join(f"{i},{i % 3},{'yes' if i % 2 else 'no'}\n" for i in range(20)))
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
    assert rows == {"digits": True, "mnist": False, "fashion_mnist": False, "cifar10": False}
    assert "absent" in run(app, ["list"]).output
    assert run(app, ["get", "imagenet"]).exit_code == 2
    assert run(app, ["get", "digits"]).exit_code == 0
    monkeypatch.setenv("PATH", str(tmp_path))
    lost = run(app, ["get", "mnist"])
    assert lost.exit_code == 1
    assert "is not installed" in lost.output
