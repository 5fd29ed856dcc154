"""``priorscope geometry``: numbers, pictures, exit codes."""

import json

import typer
from typer.testing import CliRunner

from priorscope.cli._geometry import geometry

app = typer.Typer()
app.command()(geometry)
run = CliRunner().invoke


def test_named_model_own_factory_and_mistakes(tmp_path, monkeypatch):
    page = tmp_path / "g.html"
    out = run(app, ["--model", "gap", "--shape", "1x5x5", "--models", "20", "--json", "--chart", str(page)])
    facts = json.loads(out.output)
    assert facts["models"] == 20
    assert facts["input_shape"] == [1, 5, 5]
    assert facts["effective_rank"] < 25
    assert "vega" in page.read_text()
    (tmp_path / "own_geometry_model.py").write_text(
        "from torch import nn\ndef make(seed):\n    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))\n"
    )
    monkeypatch.chdir(tmp_path)
    own = run(app, ["--model", "own_geometry_model:make", "--shape", "4", "--models", "20"])
    assert own.exit_code == 0
    assert "integrated (8 features)" in own.output
    (tmp_path / "broken_geometry_model.py").write_text("def make(:\n")
    (tmp_path / "odd_geometry_model.py").write_text("def make():\n    return 3\ndef fails():\n    return 1 / 0\n")
    for words, message in (
        (["--model", "broken_geometry_model.py:make", "--shape", "4"], "SyntaxError"),
        (["--model", "own_geometry_model:other", "--shape", "4"], "has no 'other'; it has make"),
        (["--model", "odd_geometry_model:make", "--shape", "4"], "it gave a int"),
        (["--model", "odd_geometry_model:fails", "--shape", "4"], "the factory failed: ZeroDivisionError"),
        (["--model", "own_geometry_model:make", "--shape", "5"], "does not take inputs of shape (5,)"),
        (["--model", "gap", "--shape", "1x4x4", "--chart", "g.bmp"], "a chart ends in .html"),
        (["--model", "nothing", "--shape", "4"], "no model 'nothing'"),
        (["--model", "nowhere:f", "--shape", "4"], "cannot import 'nowhere' of 'nowhere:f'"),
        (["--model", "gap", "--shape", "1xa"], "a shape looks like 1x32x32"),
    ):
        bad = run(app, words)
        assert bad.exit_code == 2
        assert message in bad.output
