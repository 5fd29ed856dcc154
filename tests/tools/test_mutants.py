"""The faults that are injected: each kind where it should be, none where nobody could see it, never in the checkout."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = b'''
import numpy as np
LIMIT = 3.5

def error(x, noise=0.0, *, level=0.9):
    """Twice 2 + 2."""
    if len(x) < 2:
        raise ValueError(f"needs {2 + 2} of them")
    y = np.log(x).mean(0)
    z = norm.ppf(0.5 + level / 2) * np.std(x, ddof=1)
    total = 0.0
    for part in x[1:]:
        total += part
    if noise >= 0.5:
        total = max(total, y[0])
    return -total / (len(x) - 1) + 1e-9 + g(x, noise=noise)

def chart(x):
    return 2 * x
'''


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("faults", ROOT / "tools" / "faults.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["faults"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["faults"]


@pytest.fixture(scope="module")
def runner(tool):
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "tools" / "mutants.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)  # it imports faults, which the other fixture has put there
    return module


@pytest.mark.parametrize(
    "kind, change",
    [
        ("order of log and mean", "(np.log(x.mean(0)))"),
        ("wrong axis", "(np.log(x).mean(1))"),
        ("wrong tail", "(norm.isf(0.5 + level / 2))"),
        ("changed sign", "(0.5 - level / 2)"),
        ("changed sign", "(total)"),
        ("changed sign", "total -= part"),
        ("ddof", "(np.std(x, ddof=0))"),
        ("last element only", "list(x[1:])[-1:]"),
        ("off by one", "(x[1 + 1:])"),
        ("off by one", "(len(x))"),
        ("swapped comparison", "(noise > 0.5)"),
        ("swapped comparison", "(noise <= 0.5)"),
        ("swapped min/max", "(min(total, y[0]))"),
        ("first for last", "y[-1]"),
        ("ignored argument", "(g(x))"),
        ("ignored argument", "noise = 0.0\n    "),
        ("ignored argument", "level = 0.9\n    "),
        ("skipped branch", "False"),
        ("unit factor", "(level)"),
        ("dropped factor", "(-total)"),
        ("dropped factor", "(np.std(x, ddof=1))"),
        ("changed constant", "0.75"),
    ],
)
def test_each_kind_of_slip_is_found(tool, kind, change):
    assert change in {f.new for f in tool.faults(CODE, "x.py") if f.kind == kind}


def test_texts_settings_floors_and_charts_are_left_alone(tool):
    found = tool.faults(CODE, "x.py")
    lines = CODE.decode().splitlines()
    for f in found:
        assert f.function == "error"
        assert f.old != "1e-9"
        assert not any(word in lines[f.line - 1] for word in ("needs", "Twice", "LIMIT"))
    assert len({f.kind for f in found}) >= 12


def test_the_tail_of_evenly_spaced_quantiles_is_left_alone_where_their_order_is_lost(tool):
    def tails(line: str) -> list[str]:
        source = f"def cuts(x):\n    y = f(x)\n    return {line}\n".encode()
        return [fault.new for fault in tool.faults(source, "m.py") if fault.kind == "wrong tail"]

    assert not tails("np.unique(np.quantile(y, np.linspace(0, 1, 18)[1:-1]))")
    assert not tails("np.unique(np.quantile(y, np.linspace(0, 1, 18)))")
    assert tails("np.quantile(y, np.linspace(0, 1, 18)[1:-1])")  # their order is seen
    assert tails("np.unique(np.quantile(y, np.linspace(0.1, 1, 18)))")  # not the same from the other side
    assert tails("np.unique(np.quantile(y, np.linspace(0, 1, 18)[1:]))")


def test_the_only_one_of_a_batch_and_one_more_of_many_rows_are_left_alone(tool):
    def found(line: str, kind: str) -> list[str]:
        source = f"MOST = 40\nFEW = 3\ndef rows(x):\n    y = f(x)\n    return {line}\n".encode()
        return [fault.new for fault in tool.faults(source, "m.py") if fault.kind == kind]

    for line in (
        "g(x[:1])[0]",
        "g(y, x[i : i + 1])[0]",
        "rows(g(x.unsqueeze(0)), 1)[0]",
        "g(x[None])[0]",
        "g(x[:1]).detach()[0]",
    ):
        assert not found(line, "first for last"), line
    for line in ("g(x[:2])[0]", "g(x)[0]", "g(x[i : i + 2])[0]", "x[:1].sum(0)[0]", "g(x[1:])[0]"):
        assert found(line, "first for last"), line
    assert not found("x[:256]", "off by one")
    assert not found("x[:MOST]", "off by one")
    assert (
        len(found("x[:8]", "off by one"))
        == len(found("x[:FEW]", "off by one"))
        == len(found("x[:n]", "off by one"))
        == 1
    )
    assert len(found("x[16:18]", "off by one")) == 2  # bytes of a file
    assert found("y.hexdigest()[:32]", "off by one")
    assert not found("1 if 'pandas' in sys.modules else 2", "skipped branch")


def test_settings_by_the_scale_of_a_paper_are_left_alone(tool):
    source = b"def run(point):\n    small = point['scale'] != 'paper'\n"
    source += b"    return f(0.03 if small else 0.005, 3 if point['n'] else 4)\n"
    news = [{f.new for f in tool.faults(source, f"src/priorscope/{room}/m.py")} for room in ("papers/x", "probes")]
    assert "0.06" not in news[0]
    assert {"(4)", "(3)"} <= news[0]  # what does not go by the scale
    assert {"0.06", "0.01", "(0.03)"} <= news[1]


def test_every_fault_of_the_source_is_a_program_and_another_one(tool):
    count = 0
    for file in sorted((ROOT / "src" / "priorscope" / "probes").rglob("*.py"))[::7]:
        source = file.read_bytes()
        healthy = ast.dump(ast.parse(source))
        for fault in tool.faults(source, file.name)[::3]:
            count += 1
            assert ast.dump(ast.parse(tool.inject(source, fault))) != healthy, str(fault)
    assert count > 100


def test_listing_faults_leaves_the_checkout_as_it_is():
    def marks():
        return {f: hashlib.sha256(f.read_bytes()).hexdigest() for f in (ROOT / "src").rglob("*.py")}

    before = marks()
    words = [
        sys.executable,
        str(ROOT / "tools" / "mutants.py"),
        "--list",
        "--rooms",
        "probes/limits,data",
        "--count",
        "7",
    ]
    lists = [
        subprocess.run([*words, "--seed", seed], capture_output=True, text=True, check=True).stdout.splitlines()
        for seed in "003"
    ]
    assert len(lists[0]) == 7
    assert lists[0] == lists[1] != lists[2]
    assert marks() == before


def test_every_named_fault_stands_once_in_the_source_and_is_another_program(tool, runner):
    found = runner.named(ROOT)
    assert len(found) == runner.NAMED.read_text().count("[[fault]]") >= 28  # none has been left behind by a change
    for fault in found:
        source = (ROOT / fault.file).read_bytes()
        assert ast.dump(ast.parse(tool.inject(source, fault))) != ast.dump(ast.parse(source)), fault.kind


def test_every_harmless_fault_is_one_of_the_source_and_has_its_reason(runner):
    entries = runner.tomllib.loads(runner.HARMLESS.read_text())["fault"]
    found = runner.harmless(runner.possible(ROOT, sorted({e["file"].removeprefix("src/priorscope/") for e in entries})))
    wanted = sorted((e["file"], e["old"], e["new"]) for e in entries)
    assert sorted((f.file, f.old, runner.bare(f.new)) for f in found) == wanted  # one each, and no other
    assert all(len(e["why"]) > 20 for e in entries)


def test_tests_are_chosen_by_what_they_name_and_what_they_are_known_to_enter(runner):
    fault = next(f for f in runner.named(ROOT) if f.kind.startswith("mean of logs"))
    knowledge = runner.Knowledge(fresh=True)
    likely = knowledge.likely(fault, "")
    assert likely[0] == "tests/test_statistics.py"
    file = "tests/test_system.py"
    seen = {"seconds": 0.5, "enters": [f"statistics.py::{fault.function}"]}
    knowledge.learn({"tests": {f"{file}::test_x": seen}, "failed": [], "shared": {}})
    assert knowledge.entering(fault, compiled=False) == [f"{file}::test_x"]


def test_a_function_that_ran_at_import_is_known_by_those_inside_it(tool, runner):
    source = b"def make(k):\n    def measure(t):\n        return t + k\n    return measure\n\ndef other(x):\n    return x + 2\n"
    inner = next(f for f in tool.faults(source, "m.py") if f.function == "make")
    outer = next(f for f in tool.faults(source, "m.py") if f.function == "other")
    assert runner.functions_in(source, inner) == {"make", "measure"}
    assert runner.functions_in(source, outer) == {"other"}


def test_marks_note_what_is_entered_and_change_nothing_else(runner):
    code = 'def f(x):\n    """Words."""\n    return g(x) + 1\n\nclass A:\n    def g(self): return 2\n'
    tree = runner.Marks("m.py").visit(ast.parse(code))
    entered: set[str] = set()
    space = {"__entered__": entered, "g": lambda x: x}
    exec(compile(tree, "m.py", "exec"), space)
    assert entered == set()
    assert space["f"](3) == 4
    assert space["f"].__doc__ == "Words."
    assert entered == {"m.py::f"}
    assert space["A"]().g() == 2
    assert entered == {"m.py::f", "m.py::g"}
