"""Rules of the house: which way imports point, what a public name carries, what stays out of the files."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

import priorscope
from priorscope import papers
from priorscope.lab import SCALES, VERDICTS

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "priorscope"
SPINE = {"data", "models", "inference", "system", "probes"}
ALLOWED = {
    "checks": set(),
    "contracts": set(),
    "loading": set(),
    "machine": set(),
    "statistics": set(),
    "data": set(),
    "models": set(),
    "inference": set(),
    "lab": set(),
    "memory": set(),
    "system": {"data", "models", "inference"},
    "probes": SPINE,
    "report": {"lab"},
    "profiles": {*SPINE, "report", "sklearn"},
    "papers": {*SPINE, "lab", "memory", "report", "profiles"},
    "validation": {*SPINE, "lab", "report", "profiles", "papers", "sklearn"},
    "serve": {"lab", "papers", "report"},
    "sklearn": SPINE,
    "testing": SPINE,
    "cli": {*SPINE, "lab", "memory", "papers", "validation", "report", "profiles", "serve", "sklearn", "testing"},
}


def parts() -> list[str]:
    """The packages and modules at the top of the library."""
    names = [p.name if p.is_dir() else p.stem for p in SOURCE.iterdir() if p.is_dir() or p.suffix == ".py"]
    return sorted(name for name in names if not name.startswith("_"))


def imported_parts(tree: ast.AST, module: str) -> set[str]:
    """The parts of priorscope that a module imports anywhere in it, but for imports that only type checkers see."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for other in node.orelse:
                visit(other)
            return
        if isinstance(node, ast.Import):
            found.update(a.name.split(".")[1] for a in node.names if a.name.startswith("priorscope."))
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:  # relative: resolve against the module's own place
                origin = ".".join([*module.split(".")[: -node.level], *([node.module] if node.module else [])])
            if origin == "priorscope":
                found.update(a.name for a in node.names if not a.name.startswith("__"))
            elif origin.startswith("priorscope."):
                found.add(origin.split(".")[1])
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(tree)
    return found


@pytest.mark.parametrize("part", parts())
def test_imports_point_one_way(part):
    assert part in ALLOWED, f"say in ALLOWED what {part} may import"
    files = [SOURCE / f"{part}.py"] if (SOURCE / f"{part}.py").exists() else sorted((SOURCE / part).rglob("*.py"))
    for file in files:
        module = ".".join(("priorscope", *file.relative_to(SOURCE).with_suffix("").parts))
        wrong = (
            imported_parts(ast.parse(file.read_text()), module)
            - ALLOWED[part]
            - {part, "statistics", "contracts", "machine", "loading", "checks"}
        )
        assert not wrong, f"{file.relative_to(ROOT)} imports {sorted(wrong)}; {part} may import {sorted(ALLOWED[part])}"


def test_the_import_rule_can_fail():
    code = "def f():\n    from priorscope.data import digits\nimport priorscope.models\nfrom priorscope import lab"
    assert imported_parts(ast.parse(code), "priorscope.x") == {"data", "models", "lab"}
    hidden = "if TYPE_CHECKING:\n    from priorscope.data import Dataset\nfrom ..probes import forecast"
    assert imported_parts(ast.parse(hidden), "priorscope.lab._x") == {"probes"}


def learning_inside(tree: ast.AST) -> list[str]:
    """Networks and training loops that a module defines: subclasses of Module, optimisers, gradients taken in a loop."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base).split(".")[-1] == "Module" for base in node.bases):
            found.append(f"line {node.lineno}: class {node.name} is a network")
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []
        names += [ast.unparse(node)] if isinstance(node, ast.Attribute) else []
        if any(name.split(".")[:2] == ["torch", "optim"] for name in names):
            found.append(f"line {node.lineno}: torch.optim")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
            found.append(f"line {node.lineno}: .backward()")
        if isinstance(node, ast.For | ast.While) and "autograd.grad(" in ast.unparse(node):
            found.append(f"line {node.lineno}: gradients in a loop")
    return found


@pytest.mark.parametrize("part", ["papers", "validation"])
def test_papers_measure_and_leave_networks_and_training_to_their_rooms(part):
    files = sorted((SOURCE / part).rglob("*.py"))
    found = [
        f"{file.relative_to(ROOT)}, {what}" for file in files for what in learning_inside(ast.parse(file.read_text()))
    ]
    assert not found, "networks live in models, training loops in inference:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("class Net(torch.nn.Module):\n    pass", "class Net is a network"),
        ("class Net(nn.Module):\n    pass", "class Net is a network"),
        ("from torch import optim", "torch.optim"),
        ("from torch.optim import SGD", "torch.optim"),
        ("steps = torch.optim.SGD(p, 0.1)", "torch.optim"),
        ("loss(net(x)).backward()", ".backward()"),
        ("for _ in range(9):\n    p = p - torch.autograd.grad(loss(p), p)[0]", "gradients in a loop"),
    ],
)
def test_the_rule_on_networks_and_training_can_fail(code, wanted):
    assert any(what.endswith(wanted) for what in learning_inside(ast.parse(code)))
    assert not learning_inside(
        ast.parse("found = GradientDescent(steps=9).fit(network, data)\nclass Run(Paper):\n    pass")
    )


def private_imports(tree: ast.AST, part: str) -> list[str]:
    """Modules and names with an underscore that a module imports from another part of the library."""
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    others = [name for name in names if name.startswith("priorscope.") and name.split(".")[1] != part]
    return [name for name in others if any(word.startswith("_") for word in name.split(".")[1:])]


@pytest.mark.parametrize("part", ["papers", "validation"])
def test_papers_use_the_public_names_of_other_parts(part):
    for file in sorted((SOURCE / part).rglob("*.py")):
        found = private_imports(ast.parse(file.read_text()), part)
        assert not found, f"{file.relative_to(ROOT)} imports {found}"


def test_the_rule_on_public_names_can_fail():
    code = "from priorscope.probes.x._y import z\nimport priorscope.lab\nfrom priorscope.papers._a import b"
    assert private_imports(ast.parse(code), "papers") == ["priorscope.probes.x._y.z"]
    assert private_imports(ast.parse("from priorscope.data import _x"), "papers") == ["priorscope.data._x"]


def test_the_top_level_offers_what_it_lists():
    missing = []
    for name in priorscope.__all__:
        try:
            getattr(priorscope, name)
        except (AttributeError, ImportError) as error:
            missing.append(f"{name}: {error}")
    assert not missing
    with pytest.raises(AttributeError, match="priorscope has no name 'nothing'; it offers"):
        _ = priorscope.nothing


def text_files():
    kinds = {".py", ".md", ".toml", ".yml", ".txt", ".json", ".js", ".css", ".html", ""}
    for folder in ("src", "tests", "docs", "benchmarks", "tools", "examples", "claims", ".ci"):
        for file in (ROOT / folder).rglob("*"):
            generated = any(p == "__pycache__" or p.endswith(".egg-info") for p in file.parts)
            if file.is_file() and file.suffix in kinds and not generated:
                yield file
    yield from (f for f in ROOT.iterdir() if f.is_file() and f.suffix in kinds and f.name not in (".git",))


def test_no_paths_of_a_machine():
    places = re.compile(r"/(?:[w]ork|[f]arm|[r]oot|[h]ome)/|/[t]mp/[a-z]|\b(?:10|192\.168)\.\d+\.\d+\.\d+\b")
    found = []
    for file in text_files():
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if places.search(line):
                found.append(f"{file.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert not found, "\n".join(found)


def test_nothing_is_unpickled():
    calls = re.compile(r"pickle\.loads?\(|allow_pickle=True|weights_only=False|joblib\.load\(")
    found = [str(f.relative_to(ROOT)) for f in SOURCE.rglob("*.py") if calls.search(f.read_text())]
    assert not found


def test_the_package_is_typed_and_its_version_stands_once():
    assert (SOURCE / "py.typed").exists()
    assert f'version = "{priorscope.__version__}"' in (ROOT / "pyproject.toml").read_text()


def test_changelog_speaks_of_this_version():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert f"## [{priorscope.__version__}]" in text
    assert "Numbers that moved" in text


# -- papers and claims -------------------------------------------------------------------------------------------------


def test_every_paper_loads_under_its_name_with_grids_of_every_scale():
    for name in papers.REGISTRY:
        paper = papers.load(name)
        assert paper.name == name
        sizes = [len(paper.points(scale)) for scale in SCALES]
        assert sizes[0] >= 1, name
        assert sizes[1] >= sizes[0], name
        assert paper.claims, f"{name} has no claims"


def test_claim_ids_are_unique_and_the_ledger_lists_the_same():
    loaded = papers.load_all()
    ids = [claim.id for paper in loaded for claim in paper.claims]
    assert len(ids) == len(set(ids)), sorted({i for i in ids if ids.count(i) > 1})
    ledger = json.loads((ROOT / "claims" / "ledger.json").read_text())
    assert {line["id"] for line in ledger} == set(ids), "refresh it with `make ledger`"
    assert len(ledger) == len(ids)
    for line in ledger:
        assert line["verdict"] in VERDICTS
        assert line["scale"] in ((None,) if line["verdict"] == "not run" else ("small", "paper")), line["id"]
