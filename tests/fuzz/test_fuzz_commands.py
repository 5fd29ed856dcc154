"""Random arguments to every command: an answer, or an error that a user can read; never a traceback, never without end.

The options are asked of the commands themselves, so that a new one takes part by being there.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import re
import signal
import socket
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from priorscope.cli import COMMANDS, command_line, main
from priorscope.lab import Store, sweep

BLOCK, SECONDS = 20, 60
NONSENSE = [
    "",
    " ",
    "-1",
    "0",
    "1",
    "2",
    "1.5",
    "nan",
    "inf",
    "-inf",
    "1e308",
    "abc",
    "💥",
    "None",
    "[]",
    "a,b",
    "1,2",
    "x" * 300,
]
NONSENSE += [
    "../..",
    "-",
    "--",
    "missing.csv",
    "folder",
    "garbage.csv",
    "tiny.csv:0",
    "'; drop table",
    "<b>",
    "%s",
    "{}",
    "\\",
    "true",
]
FILES = [
    "tiny.csv",
    "numbers.csv",
    "empty.csv",
    "header.csv",
    "garbage.csv",
    "holes.csv",
    "same.csv",
    "one.csv",
    "tiny.npz",
]
FILES += ["folder", "missing.csv", "ragged.csv", "text.csv", "scalar.npy"]

# The values of each option that make sense and end soon; options not named here get nonsense only.
SMALL = {
    "--depth": ["1", "2"],
    "--to": ["40", "60,80"],
    "--pilot": ["12", "20"],
    "--n": ["5", "8"],
    "--arch": ["fcn", "gap"],
    "--kind": ["ntk", "nngp", "both"],
    "--activation": ["relu", "erf"],
    "--weight-variance": ["2.0"],
    "--bias-variance": ["0.1"],
    "--ridge": ["0.1", "tuned"],
    "--target": ["label", "y"],
    "--seed": ["1"],
    "--scale": ["tiny"],
    "--models": ["8"],
    "--shape": ["3", "1,4,4"],
    "--precision": ["0.5"],
    "--model": ["models.py:small"],
    "--block": ["3"],
    "--json": [],
    "--estimate": [],
    "--long": [],
    "--record": [],
    "--out": ["out", "out.npy", "out/page.html"],
    "--store": ["store.sqlite", "runs.sqlite", "runs.sqlite"],
    "--ledger": ["ledger.json"],
    "--jobs": ["1"],
    "--error": ["0.1"],
    "--resize": ["4"],
    "--chart": ["chart.html"],
}
ALWAYS = {  # what keeps a command short, and away from the network: never left out, the port is taken already
    "profile": ["--pilot", "20"],
    "forecast": ["--pilot", "20"],
    "serve": ["--port", "{port}"],
    "kernel": ["--n", "6", "--depth", "1", "--block", "4"],
    "geometry": ["--models", "8"],
}
NEVER = {"--cluster", "--help", "-h", "--port", "--retries", "--debug"}  # a cluster that is not there is waited for
NAMES = ["no-paper", "nowhere:PAPER", "", "💥", "S0.1", "X.1", "toys:PAPER", "toys:NOTHING", "lazy-feature-x"]
TOYS = """
from priorscope.lab import Claim, Paper, at_least
from priorscope.statistics import Interval


def grid(scale):
    return [{"x": x, "seed": 0} for x in range(2)]


def run(point):
    return {"square": point["x"] ** 2}


def measure(table):
    return Interval(table["square"].mean(), table["square"].min(), table["square"].max())


CLAIM = Claim("X.1", "Sec. 1", "squares [grow] <b>", measure=measure, expect=at_least(0))
PAPER = Paper("toys", "A toy", "nowhere", 1, grid, run, (CLAIM,))
"""


def files(folder: Path) -> None:
    """A small world of good and bad files."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((40, 3)), rng.integers(0, 2, 40)

    def table(rows, header="a,b,c,label"):
        return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"

    good = [[*map(float, a), int(b)] for a, b in zip(x, y)]
    texts = {
        "tiny.csv": table(good),
        "numbers.csv": table([[*row[:3], row[0] - row[1] ** 2] for row in good], "a,b,c,y"),
        "empty.csv": "",
        "header.csv": "a,b,c,label\n",
        "garbage.csv": "\x01\x02\xff,,,\n;;;\n\n'\"",
        "holes.csv": table([[row[0], "", row[2], row[3]] for row in good]),
        "same.csv": table([[1.0, 2.0, 3.0, 1]] * 12),
        "one.csv": table(good[:1]),
        "ragged.csv": table([row[: 1 + i % 4] for i, row in enumerate(good)]),
        "text.csv": table([["red", "blue", "green", "yes"]] * 9),
        "models.py": "import torch\n\ndef small(seed=0):\n    torch.manual_seed(seed)\n    return torch.nn.Sequential("
        "torch.nn.Flatten(), torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))\n",
        "ledger.json": "[]",
        "toys.py": TOYS,
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    np.savez(folder / "tiny.npz", x=x, y=y)
    np.save(folder / "scalar.npy", np.float64(3.0))
    (folder / "folder").mkdir()
    (folder / "store.sqlite").write_bytes(b"not a database, but long enough to be looked at" * 40)


def leaves(command, path=()):
    """Every command with its words: ``data show`` too."""
    below = getattr(command, "commands", None)
    if below:
        for name, inner in below.items():
            yield from leaves(inner, (*path, name))
    else:
        yield path, command


def commands():
    root = command_line()
    return [found for name in COMMANDS for found in leaves(root.get_command(None, name), (name,))]


def arguments(rng: np.random.Generator, path: tuple[str, ...], command, port: int) -> list[str]:
    """Words for one call: a few options, each with a sensible or a silly value."""

    def pick(values):
        return str(values[int(rng.integers(len(values)))])

    words = list(path)
    options, places = [], 0
    for parameter in command.params:
        opts = list(parameter.opts)
        if not opts[0].startswith("-"):
            places += 1
        elif not set(opts) & NEVER:
            options.append((max(opts, key=len), bool(getattr(parameter, "is_flag", False))))
    wild = 0.5 if rng.random() < 0.6 else 0.0  # some calls are sensible throughout
    for _ in range(places if rng.random() < 0.9 else int(rng.integers(0, 3))):
        if path[0] in ("reproduce", "claims"):
            words.append(pick(NAMES))
        elif path == ("data", "get"):
            words.append(pick(NONSENSE))  # a published set would be fetched
        else:
            words.append(pick(NONSENSE) if rng.random() < wild else pick(FILES))
    for position in rng.permutation(len(options))[: int(rng.integers(0, 5))]:
        name, flag = options[position]
        words.append(name)
        if flag:
            continue
        sensible = [*FILES] if name == "--data" else SMALL.get(name)
        if name == "--data" and rng.random() < wild:
            words.append("tiny.csv")
        else:
            words.append(pick(NONSENSE) if not sensible or rng.random() < wild else pick(sensible))
    if path[0] == "kernel":
        words += ["--data", pick(FILES) if wild else "tiny.csv", *(["--arch", "fcn"] if not wild else [])]
    if path[0] in ("report", "claims") and not wild:
        words += ["--store", "runs.sqlite"]
    if path[0] == "geometry":
        words += [
            "--model",
            pick(["models.py:small", "models.py:none", "none.py:x", "fcn"]),
            "--shape",
            pick(["3", "1,4,4"]),
        ]
    if path == ("reproduce",) and rng.random() < 0.5:
        words += ["--scale", "tiny"]
    return words + [word.format(port=port) for word in ALWAYS.get(path[0], [])]


@contextlib.contextmanager
def within(seconds: int, note: str):
    """An alarm that goes off when a command does not end."""

    def late(*_):
        raise TimeoutError(f"{note} has not ended after {seconds} s")

    old = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} in what should be strict JSON")


def call(words: list[str], capsys) -> int:
    """Run one command and judge what it said."""
    note = "priorscope " + " ".join(repr(w) if not re.fullmatch(r"[\w.,:/-]+", w) else w for w in words)
    code: object = 0
    with within(SECONDS, note):
        try:
            main(words)
        except SystemExit as end:
            code = end.code
        except BaseException as error:
            raise AssertionError(f"{note}: {type(error).__name__} got through: {error}") from error
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err, f"{note}: {said.err[-600:]}"
    code = 0 if code is None else code
    assert isinstance(code, int), f"{note}: exit code {code!r}"
    if code == 0:
        if "--json" in words and said.out.strip():
            json.loads(said.out, parse_constant=refuse_constant)
    else:
        lines = [line for line in said.err.splitlines() if line.startswith("error:")]
        usage = "Usage:" in said.err
        assert usage or len(lines) == 1, f"{note}: exit code {code} and said {said.err[-600:]!r} {said.out[-300:]!r}"
        if lines:
            assert len(lines[0].split()) >= 4, f"{note}: says no more than {lines[0]!r}"
    return code


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A folder of files, a port that is taken, no store of anybody's."""
    files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "toys", raising=False)
    toy = importlib.import_module("toys").PAPER
    with Store(tmp_path / "runs.sqlite") as store:
        sweep(toy, "small", store, jobs=1, progress=False)
    monkeypatch.setenv("PRIORSCOPE_STORE", str(tmp_path / "runs" / "store.sqlite"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def run(block: int, port: int, capsys) -> list[int]:
    torch.manual_seed(0)
    every, codes = commands(), []
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        rng = np.random.default_rng([29, seed])
        path, command = every[seed % len(every)]
        codes.append(call(arguments(rng, path, command, port), capsys))
    return codes


@pytest.mark.filterwarnings("ignore")
def test_a_few_random_commands_answer_or_say_why_not(world, capsys):
    codes = run(5, world, capsys)  # none of these trains anything
    assert any(codes)  # the control: nonsense is not taken for sense,
    assert 0 in codes  # nor sense for nonsense


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("block", [block for block in range(36) if block != 5])
def test_random_commands_answer_or_say_why_not(block, world, capsys):
    run(block, world, capsys)


def test_every_command_takes_part():
    paths = [path for path, _ in commands()]
    assert {path[0] for path in paths} == set(COMMANDS)
    assert all(len(command.params) > 0 for _, command in commands())
