"""One loader: names, modules of the working folder, files anywhere, timm, and what it says of mistakes."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope.cli import main
from priorscope.models import NAMED, from_factory, load

OWN = """
from torch import nn
from own_parts_of_{name} import width

def make(input_shape, outputs):
    from own_late_of_{name} import bias
    return nn.Sequential(nn.Flatten(), nn.Linear(64, width), nn.Tanh(), nn.Linear(width, outputs, bias=bias))

architecture = __import__("priorscope").models.gap(depth=1)
number = 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a model that imports its neighbours, some of them late; the path of Python is put back."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    name = "loaded_model"
    (tmp_path / "sub").mkdir()
    for place, module in ((tmp_path, name), (tmp_path / "sub", f"{name}_below")):
        (place / f"{module}.py").write_text(OWN.format(name=module))
        (place / f"own_parts_of_{module}.py").write_text("width = 7")
        (place / f"own_late_of_{module}.py").write_text("bias = False")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for module in [m for m in sys.modules if name in m]:
        del sys.modules[module]


@pytest.mark.parametrize("name", sorted(NAMED))
def test_names(name):
    model = load(name)
    assert isinstance(model, ps.models.Architecture | ps.models.FiniteModel | ps.models.RadialKernel)
    assert model.name.partition("-")[0] == name
    assert type(model) is type(getattr(ps.models, name)())


@pytest.mark.parametrize(
    "text", ["loaded_model:make", "loaded_model.py:make", "sub/loaded_model_below.py:make", "{}/loaded_model.py:make"]
)
def test_modules_and_files(folder, text):
    net = from_factory(load(text.format(folder)), (1, 8, 8), 3)
    assert net(torch.zeros(2, 1, 8, 8)).shape == (2, 3)
    assert net[1].out_features == 7
    assert net[3].bias is None
    assert load("loaded_model:architecture").name == "gap"


def test_the_working_folder_comes_before_what_is_installed_and_hides_nothing_later(folder):
    (folder / "colorsys.py").write_text("def make():\n    return 'mine'\n")
    sys.modules.pop("colorsys", None)
    assert load("colorsys:make")() == "mine"
    sys.modules.pop("colorsys", None)
    import colorsys

    assert not hasattr(colorsys, "make")  # the standard library's again


def test_files_of_one_name_are_told_apart(folder):
    for place, said in (("a", 1), ("b", 2)):
        (folder / place).mkdir()
        (folder / place / "net.py").write_text(f"def make():\n    return {said}\n")
    assert [load(f"{place}/net.py:make")() for place in ("a", "b", "a")] == [1, 2, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gpa", "there is no model 'gpa'. Did you mean 'gap'"),
        ("", "there is no model ''"),
        (":make", "there is no model ':make'"),
        ("loaded_model:", "there is no model 'loaded_model:'"),
        ("nowhere.at.all:make", "cannot import 'nowhere.at.all'.*looked for in .*give the path of its file"),
        ("nowhere.py:make", "there is no file 'nowhere.py'"),
        ("loaded_model:other", "has no 'other'; it has make"),
        ("loaded_model:number", "is a int; a model is an Architecture"),
        ("broken.py:make", "cannot import 'broken.py:make': SyntaxError"),
        ("broken:make", "cannot import 'broken:make': SyntaxError"),
        ("raises:make", r"cannot import 'raises:make': ZeroDivisionError: division by zero \(.*raises.py, line 2\)"),
        ("needs:make", "cannot import 'needs:make': ModuleNotFoundError: No module named 'not_there_at_all'"),
    ],
)
def test_mistakes_are_named(folder, text, words):
    (folder / "broken.py").write_text("def make(:\n")
    (folder / "raises.py").write_text("x = 1\ny = x / 0\n")
    (folder / "needs.py").write_text("import not_there_at_all\n")
    with pytest.raises(ValueError, match=words):
        load(text)
    with pytest.raises(ValueError, match="depth can be set for named models only"):
        load("loaded_model:make", depth=2)


def test_every_command_reads_the_working_folder(folder, capsys):
    for words in (
        ["geometry", "--model", "loaded_model:make", "--shape", "1x8x8", "--models", "4"],
        ["profile", "digits", "--model", "loaded_model:make", "--only-models", "--pilot", "40", "--no-trials"],
        ["profile", "digits", "-m", "sub/loaded_model_below.py:make", "--only-models", "--pilot", "40", "--no-trials"],
    ):
        with pytest.raises(SystemExit) as left:
            main(words)
        assert left.value.code == 0, capsys.readouterr().err


def test_from_factory_leaves_the_random_state_alone():
    before = torch.get_rng_state()
    a, b, c = (from_factory(lambda in_features: nn.Linear(in_features, 2), (3,), seed=s) for s in (0, 0, 1))
    assert torch.equal(a.weight, b.weight)
    assert not torch.equal(a.weight, c.weight)
    assert torch.equal(torch.get_rng_state(), before)
