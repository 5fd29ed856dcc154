"""The faults that are injected: each kind where it should be, code that compiles, and a verdict in a child process."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from faults._slips import faults, inject

from faults import __main__ as mutants
from priorscope import statistics

ROOT = Path(__file__).resolve().parents[2]
CODE = b'''
LIMIT = 3.5

def error(x, noise=0.5, *, level=0.9):
    """Twice 2 + 2."""
    assert noise > 7
    if len(x) < 2:
        raise ValueError(f"needs {LIMIT} of them")
    y = np.log(x).mean(axis=0)
    total = max(y[0], noise, key=level)
    for part in x[1:]:
        total -= part
    word = "better" if total >= 0.5 else "worse"
    return -total / (len(x) - 1) + g(x, y), word, (y != 0).any()
'''


def kinds(found):
    return {fault.kind for fault in found}


def test_every_kind_of_slip_is_found_and_compiles():
    found = faults(CODE, "a.py")
    expected = {
        "changed default",
        "operator",
        "swapped operands",
        "flipped comparison",
        "boundary",
        "sign",
        "off by one",
    }
    expected |= {
        "first for last",
        "wrong axis",
        "twin function",
        "swapped arguments",
        "dropped keyword",
        "dropped function",
    }
    expected |= {"dropped path", "dropped statement", "dropped factor", "last only", "constant", "words"}
    assert kinds(found) == expected
    for fault in found:
        ast.parse(inject(CODE, fault))
        assert inject(CODE, fault) != CODE


def test_settings_docstrings_and_our_own_assertions_are_left_alone():
    lines = CODE.decode().splitlines()
    spared = {i + 1 for i, line in enumerate(lines) if line.startswith("LIMIT") or "Twice" in line or "assert" in line}
    assert not {fault.line for fault in faults(CODE, "a.py")} & spared


def test_every_named_fault_stands_where_it_can_be_injected(capsys):
    found = mutants.named()
    assert len(found) > 30
    assert capsys.readouterr().err == ""
    for fault in found:
        ast.parse(inject((ROOT / fault.file).read_bytes(), fault))


def test_the_choice_is_seeded_and_spread():
    first = mutants.choice(40, 3, ["models/layers"], [])
    assert first == mutants.choice(40, 3, ["models/layers"], [])
    assert first != mutants.choice(40, 4, ["models/layers"], [])
    assert len(kinds(first)) > 12
    assert len({fault.file for fault in first}) > 15


@pytest.mark.parametrize("kind", ["operator", "changed default", "swapped operands"])
def test_a_fault_is_in_the_child_and_nowhere_else(kind):
    """The second answer: Student's interval of three values at hand, unharmed here and otherwise in the child."""
    file = "src/priorscope/statistics.py"
    source = (ROOT / file).read_bytes()
    found = [f for f in faults(source, file) if f.kind == kind and f.function == "seed_interval"]
    assert found

    def ends():
        interval = statistics.seed_interval([1.0, 2.0, 4.0])
        return [interval.low, interval.high]

    unharmed = ends()
    told = [mutants.in_a_child(lambda fault=fault: [mutants.exchange(fault), ends()], 30) for fault in found]
    assert all(answer == "dies" or answer[0] for answer in told)
    assert any(answer == "dies" or answer[1] != unharmed for answer in told)
    assert ends() == unharmed
