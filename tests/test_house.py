"""Rules of the house: which way imports point, what a public name carries, what stays out of the files."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import tokenize
import tomllib
import types
from pathlib import Path

import pytest

import priorscope
from priorscope import papers
from priorscope.lab import SCALES, VERDICTS

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "priorscope"
SPINE = {"curves", "data", "models", "inference", "system", "probes"}
ALLOWED = {
    "checks": set(),
    "contracts": set(),
    "curves": set(),
    "judge": set(),
    "threads": set(),
    "loading": set(),
    "machine": set(),
    "printing": set(),
    "writing": set(),
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
            - {
                part,
                "statistics",
                "contracts",
                "machine",
                "loading",
                "checks",
                "printing",
                "writing",
                "judge",
                "threads",
            }
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


@pytest.mark.parametrize("part", ["papers", "profiles", "sklearn", "validation"])
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
    return [name for name in others if any(w.startswith("_") and not w.startswith("__") for w in name.split(".")[1:])]


def source_files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def inside(file: Path) -> str:
    """A source file's place inside the package."""
    return file.relative_to(SOURCE).as_posix()


@pytest.mark.parametrize("part", parts())
def test_no_private_name_crosses_a_package(part):
    files = [SOURCE / f"{part}.py"] if (SOURCE / f"{part}.py").exists() else sorted((SOURCE / part).rglob("*.py"))
    for file in files:
        found = {name.rsplit(".", 1)[0] for name in private_imports(ast.parse(file.read_text()), part)}
        assert not found, f"{inside(file)} imports {sorted(found)}; export what it needs"


def test_the_rule_on_public_names_can_fail():
    code = "from priorscope.probes.x._y import z\nimport priorscope.lab\nfrom priorscope.papers._a import b"
    assert private_imports(ast.parse(code), "papers") == ["priorscope.probes.x._y.z"]
    assert private_imports(ast.parse("from priorscope.data import _x"), "papers") == ["priorscope.data._x"]
    assert private_imports(ast.parse("from priorscope import __version__"), "lab") == []


# -- contracts in place of guesses -------------------------------------------------------------------------------------

MAY_ASK = {  # hasattr on what is neither a model, nor data, nor an inference
    "contracts/_door.py": 1,  # the one place where classes of the user's are checked
    "lab/_executors.py": 1,  # whether this system can say which processors are ours
}


def calls_of(tree: ast.AST, name: str) -> list[ast.Call]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == name]


def test_attributes_are_asked_for_in_the_contracts_alone():
    counts = {inside(file): len(calls_of(ast.parse(file.read_text()), "hasattr")) for file in source_files()}
    found = {file: count for file, count in counts.items() if count > MAY_ASK.get(file, 0)}
    assert not found, (
        f"hasattr in {found}: say what is needed by a protocol of contracts and ask with missing or require"
    )


NAMES_OF_CLASSES = ("__name__", "__qualname__", "__module__", "__class__")
MAY_NAME = {
    "__main__.py": 1,  # run as a program
    "profiles/_code.py": 1,  # writes the import of a class
    "probes/tangent/_layerwise.py": 2,  # code of torch and of ours whose layers are known to act by their own calls alone
}


def decided_by_name(tree: ast.AST) -> list[str]:
    """Comparisons and tests that look at the name of a class or of its module: meaning guessed, not said."""
    found = []
    for node in ast.walk(tree):
        text = ast.unparse(node) if isinstance(node, ast.Compare | ast.Call) else ""
        compared = isinstance(node, ast.Compare) and any(name in text for name in NAMES_OF_CLASSES)
        asked = (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("startswith", "endswith", "removeprefix", "split")
            and any(name in ast.unparse(node.func.value) for name in NAMES_OF_CLASSES)
        )
        if compared or asked:
            found.append(f"line {node.lineno}: {text}")
    return found


def test_nothing_is_decided_by_the_name_of_a_class():
    found = {inside(file): decided_by_name(ast.parse(file.read_text())) for file in source_files()}
    wrong = {file: what for file, what in found.items() if len(what) > MAY_NAME.get(file, 0)}
    assert not wrong, wrong


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("if type(x).__name__ == 'Linear':\n    pass", 1),
        ("if type(x).__module__.startswith('torch'):\n    pass", 1),
        ("if 'Conv' in x.__class__.__name__:\n    pass", 1),
        ("raise ValueError(f'got {type(x).__name__}')", 0),
        ("if isinstance(x, Linear):\n    pass", 0),
    ],
)
def test_the_rule_on_names_of_classes_can_fail(code, count):
    assert len(decided_by_name(ast.parse(code))) == count


SENTENCES = {"note", "notes", "sentence", "words", "message", "verdict", "summary", "says", "headline", "reason"}


def read_for_words(tree: ast.AST) -> list[str]:
    """Tests for a text of letters inside something that is named like a sentence: a state that should be an enum."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            left, right = node.left, node.comparators[0]
            if isinstance(right, ast.Call) and isinstance(right.func, ast.Attribute):
                right = right.func.value  # text.lower()
            name = right.attr if isinstance(right, ast.Attribute) else getattr(right, "id", "")
            word = isinstance(left, ast.Constant) and isinstance(left.value, str) and left.value.strip().isalpha()
            if word and name in SENTENCES:
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


def test_no_state_is_read_out_of_a_sentence():
    found = {inside(file): read_for_words(ast.parse(file.read_text())) for file in source_files()}
    assert not any(found.values()), {file: what for file, what in found.items() if what}


def test_the_rule_on_sentences_can_fail():
    assert read_for_words(ast.parse("if 'blind' in result.note.lower():\n    pass"))
    assert not read_for_words(ast.parse("if Caution.BLIND in result.cautions:\n    pass"))


MAY_INTERPOLATE = {
    "statistics.py",  # the one way between measured sizes
    "probes/curves/forecast/_spectral.py",  # continued beyond its last knot
    "profiles/_standings.py",  # quantiles of a law, at probabilities drawn
    "papers/early_stopping/_stopping_measures.py",  # logarithms over time
    "papers/spectral_bias/_claims.py",  # over time
}


def test_curves_are_interpolated_in_one_way():
    found = {inside(file) for file in source_files() if "np.interp(" in file.read_text()}
    assert found <= MAY_INTERPOLATE, f"take interpolate_over_log or log_interpolate: {sorted(found - MAY_INTERPOLATE)}"


MOST_ANY = 2.5  # per thousand lines, imports counted


def test_types_are_said():
    count = lines = 0
    for file in source_files():
        lines += len(file.read_text().splitlines())
        with file.open("rb") as stream:
            count += sum(t.type == tokenize.NAME and t.string == "Any" for t in tokenize.tokenize(stream.readline))
    assert 1000 * count / lines < MOST_ANY, f"{count} times Any in {lines} lines; name the type, or take object"


def test_types_are_checked_strictly_but_for_the_compiled_kernels():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert settings["strict"] is True
    loosened = {
        module: set(override) - {"module", "ignore_missing_imports"}
        for override in settings["overrides"]
        for module in ([override["module"]] if isinstance(override["module"], str) else override["module"])
    }
    loosened = {module: what for module, what in loosened.items() if what}
    assert set(loosened) <= {"priorscope.models.kernels.fused.*"}


# -- rooms -------------------------------------------------------------------------------------------------------------


def test_probes_stand_in_folders_and_no_folder_hides_a_public_function():
    """A folder named like a function of the same package would replace it when it is imported: hence plural names."""
    from priorscope import probes

    assert [file.name for file in (SOURCE / "probes").glob("*.py")] == ["__init__.py"]
    for package in (SOURCE / part for part in parts() if (SOURCE / part).is_dir()):
        folders = {folder.name for folder in package.iterdir() if (folder / "__init__.py").exists()}
        module = importlib.import_module(f"priorscope.{package.name}")
        names = getattr(module, "__all__", [])
        functions = {name for name in names if not isinstance(getattr(module, name), types.ModuleType)}
        assert folders & functions <= {"stability"}, (
            f"{package.name}: {sorted(folders & functions)}"
        )  # it has no plural
    assert callable(probes.spectrum)


ENGINES = {"_descent.py", "_flow_integration.py", "_fourth_order.py", "_stiff_flow.py"}
ONE_AFTER_ANOTHER = {"_by_loop", "step"}  # over networks, not over steps


def stepping_loops(tree: ast.AST) -> list[str]:
    """Functions with a loop that takes gradients or steps: training loops."""
    found = []
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.For | ast.While):
                calls = [c.func for c in ast.walk(node) if isinstance(c, ast.Call)]
                names = {c.attr if isinstance(c, ast.Attribute) else getattr(c, "id", "") for c in calls}
                if names & {"gradient", "grad", "backward", "update", "advance", "_step", "step"}:
                    found.append(function.name)
    return found


def test_training_has_four_engines():
    found = {
        file.name: set(stepping_loops(ast.parse(file.read_text()))) - ONE_AFTER_ANOTHER
        for file in (SOURCE / "inference" / "networks").glob("*.py")
    }
    assert {name for name, loops in found.items() if loops} == ENGINES


def test_the_rule_on_engines_can_fail():
    assert stepping_loops(ast.parse("def train():\n    for _ in range(9):\n        w -= gradient(w)")) == ["train"]
    assert stepping_loops(ast.parse("def sum_up():\n    for g in gradients:\n        total += g")) == []


def test_layers_are_one_file_each_with_all_their_forms():
    from priorscope import models

    layers = [getattr(models, name) for name in models.__all__ if inspect.isclass(getattr(models, name))]
    layers = [cls for cls in layers if issubclass(cls, models.Layer) and cls is not models.Layer]
    assert len(layers) > 20
    for cls in layers:
        assert cls.__module__.startswith("priorscope.models.layers._"), cls
        assert not inspect.isabstract(cls), cls
    with_weights = {models.Dense, models.Conv, models.LocallyConnected}  # their finite modules say tangent forms too
    for cls in with_weights:
        text = Path(inspect.getfile(cls)).read_text()
        assert all(f"def {method}(" in text for method in ("module", "propagate", "lower", "tangent_forms")), cls


WITHOUT_SOURCE = {
    "benchmarks",
    "examples",
    "fuzz",
    "personas",
    "tools",
    "recorded",
    "relations",
    "models",
}  # models: what concerns all its rooms


def folders_with_code(root: Path) -> set[str]:
    found = {file.parent.relative_to(root).as_posix() for file in root.rglob("*.py") if file.name != "__init__.py"}
    return {f for f in found if f != "." and not any(part.startswith(("_", ".")) for part in f.split("/"))}


def test_tests_mirror_the_tree():
    source, tests = folders_with_code(SOURCE), folders_with_code(ROOT / "tests")
    assert tests - source - WITHOUT_SOURCE == set(), "tests without a room in the source"
    bare = {folder for folder in source if not any(f"{other}/".startswith(f"{folder}/") for other in tests)}
    assert bare == set(), "rooms without tests"


# -- words -------------------------------------------------------------------------------------------------------------

LONG = 16  # lines from which on a function says what it does


def test_longer_functions_say_what_they_do():
    silent = [
        f"{inside(file)}: {node.name}"
        for file in source_files()
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno + 1 >= LONG
        and not ast.get_docstring(node)
    ]
    assert not silent, "\n".join(silent)


SOURCES = re.compile(r"\b(?:1[89]|20)\d\d\b|source|paper|definition|derived|by hand|our own|theorem", re.IGNORECASE)


def test_displayed_formulas_say_where_they_come_from():
    bare = [
        f"{inside(file)}: {getattr(node, 'name', 'module')}"
        for file in source_files()
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module)
        and ".. math::" in (ast.get_docstring(node) or "")
        and not SOURCES.search(ast.get_docstring(node) or "")
    ]
    assert not bare, "name the source, or say that the formula is a definition or derived here:\n" + "\n".join(bare)


THINGS = (
    "row|line|file|page|paper|sample|mode|point|seed|member|feature|probe|class|column|network|block|pixel|claim|layer|kind|command"
    "|set|pair|input|fold|batch|epoch"
)
DISTRIBUTIVE = re.compile(  # "one row a mode" for "one row per mode"
    rf"\b(?:once|twice) an? (?:{THINGS})\b|"
    r"\b(?:one|two|three|four|[0-9]+|an?) (?:[a-z-]+ )?(?:row|line|file|page|number|score|target|label|gradient|array|feature|"
    rf"question|folder|image|value|seed|test|column|network|entry)s? (?:a|an) (?:[a-z]+ )?(?:{THINGS})\b",
    re.IGNORECASE,
)


def test_per_and_not_the_distributive_article():
    found = []
    for file in text_files():
        if file.suffix not in (".py", ".md") or "tests" in file.relative_to(ROOT).parts:
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if DISTRIBUTIVE.search(line):
                found.append(f"{file.relative_to(ROOT)}:{number}: {line.strip()[:120]}")
    assert not found, "\n".join(found)


def test_the_rule_on_per_can_fail():
    assert DISTRIBUTIVE.search("One row a mode")
    assert DISTRIBUTIVE.search("two pages a paper")
    assert DISTRIBUTIVE.search("computed once a pair")
    assert DISTRIBUTIVE.search("one finite value a set")
    assert not DISTRIBUTIVE.search("one row per mode, a page of its own")


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
        sizes = [len(paper.points(scale)) for scale in paper.scales]
        assert set(paper.scales) <= set(SCALES), name
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
