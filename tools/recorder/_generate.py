"""Calls of public functions made from their signatures: seeded values of each annotated kind, other options one at a time.

Values come in several types and shapes, and at their edges: one row, equal rows, zeros, 0 and 1. A call that is refused is as
good as any: its words are kept. ``python -m recorder generate ROOM…`` chooses among such calls those that take new lines.
"""

from __future__ import annotations

import importlib
import inspect
import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any, get_args

import numpy as np
import torch

import priorscope as ps
from recorder._text import Unwritable, Writer

PACKAGES = ("data", "models", "inference", "probes", "memory", "statistics", "curves", "lab", "report", "contracts")
TRIES = 14  # calls made of one function
WITHOUT = re.compile(
    r"get|load|keel|rdatasets|cifar|mnist|g2|register|cache_folder|executor|default_store|sweep|work_off"
)


def rows(n: int, d: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=(n, d))


def gram(n: int) -> np.ndarray[Any, Any]:
    x = rows(n, 3)
    return np.exp(-np.linalg.norm(x[:, None] - x, axis=-1))


def module() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).double()


def data() -> Any:
    x = rows(24, 3)
    return ps.data.from_arrays(x, np.sin(x[:, 0]), classes="real", test_fraction=0.25, dtype=torch.float64)


KINDS: dict[str, Callable[[], list[Any]]] = {
    "Tensor": lambda: [
        torch.from_numpy(rows(6, 3)),
        torch.from_numpy(gram(6)),
        torch.from_numpy(rows(5, 16)).reshape(5, 1, 4, 4).float(),
        torch.from_numpy(rows(4, 1)),
        torch.from_numpy(rows(8, 1))[:, 0],
        torch.zeros(3, 3),
        torch.eye(3, dtype=torch.float64),
        torch.ones(1, 3),
    ],
    "ArrayLike": lambda: [
        gram(8),
        rows(8, 2),
        rows(8, 1)[:, 0],
        np.geomspace(1, 0.01, 8),
        np.ones(8),
        [1.0, 2.0, 4.0],
        np.zeros(3),
    ],
    "int": lambda: [3, 2, 1, 8, 0],
    "float": lambda: [0.5, 0.1, 1.0, 2.0, 0.0, 1e-6],
    "bool": lambda: [True, False],
    "str": lambda: ["random", "sphere", "ntk", "relu"],
    "Sequence": lambda: [(4, 8, 16), (2, 3), (0.1, 1.0), ()],
    "tuple": lambda: [(3,), (1, 4, 4), (2, 2)],
    "KernelModel": lambda: [ps.models.fcn(1), ps.models.laplace(1.0)],
    "Architecture": lambda: [ps.models.fcn(1), ps.models.gap(1)],
    "RadialKernel": lambda: [ps.models.laplace(1.0), ps.models.gaussian(1.0)],
    "Module": lambda: [module()],
    "Callable": lambda: [torch.tanh, torch.relu],
    "Dataset": lambda: [data()],
    "Bandit": lambda: [ps.memory.two_hypotheses(0.6)],
    "Memory": lambda: [ps.memory.ram(2), ps.memory.memento(2)],
    "Generator": lambda: [torch.Generator().manual_seed(1)],
    "range": lambda: [range(2)],
    "None": lambda: [None],
}
SAME = {
    "Array": "ArrayLike", "NDArray": "ArrayLike", "ndarray": "ArrayLike", "Gram": "ArrayLike", "Values": "ArrayLike",
    "Iterable": "Sequence", "Shape": "tuple", "Samples": "Dataset", "LabelledData": "Dataset", "Data": "Dataset",
    "CountedSamples": "Dataset", "Drawn": "Module", "Subject": "Module", "Scalar": "Callable", "DecayingKernel": "RadialKernel",
    "Phi": "str", "FeatureKernel": "KernelModel", "object": "Dataset",
}  # fmt: skip


def values(annotation: str, default: Any, place: Any) -> list[Any]:
    """What an argument of this kind is given, the plainest first."""
    found: list[Any] = [] if default is inspect.Parameter.empty else [default]
    if "Literal" in annotation:
        named = getattr(place, annotation, None)
        found += list(get_args(named)) if named else re.findall(r"'([^']*)'|\"([^\"]*)\"", annotation)
    elif get_args(getattr(place, annotation, None)) and all(
        isinstance(v, str) for v in get_args(getattr(place, annotation))
    ):
        found += list(get_args(getattr(place, annotation)))
    for part in re.sub(r"\[.*?\]+", "", annotation).split("|"):
        name = part.strip().rpartition(".")[2]
        kind = KINDS.get(SAME.get(name, name))
        if kind is not None and not (name == "str" and found):
            found += kind()
    return found


def public(rooms: Callable[[str], bool]) -> Iterator[tuple[str, Any]]:
    """The functions that the packages export, by the names under which they are recorded."""
    seen = set()
    for package in PACKAGES:
        place = importlib.import_module(f"priorscope.{package}")
        for name in place.__all__:
            thing = getattr(place, name)
            inner = inspect.unwrap(thing) if callable(thing) else thing
            if inspect.isfunction(inner) and rooms(inner.__module__) and not WITHOUT.search(name) and inner not in seen:
                seen.add(inner)
                yield f"{inner.__module__}:{inner.__qualname__}", inner


def calls(name: str, function: Any) -> Iterator[dict[str, Any]]:
    """Rows like those that are watched, a seeded choice of them."""
    place = importlib.import_module(function.__module__)
    parameters = [
        p for p in inspect.signature(function).parameters.values() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]
    pools = [values(str(p.annotation), p.default, place) for p in parameters]
    if not all(pools):
        return
    draw = random.Random(name)
    needed = [i for i, p in enumerate(parameters) if p.default is p.empty]
    for turn in range(TRIES):
        taken = [0] * len(pools)
        for i in needed:
            taken[i] = turn % len(pools[i]) if turn < 4 else draw.randrange(len(pools[i]))
        free = [i for i in range(len(pools)) if i not in needed and len(pools[i]) > 1]
        if turn and free:
            i = draw.choice(free)
            taken[i] = draw.randrange(1, len(pools[i]))
        write = Writer()
        try:
            given = [write(pool[k]) for pool, k in zip(pools, taken)]
        except (Unwritable, RecursionError):
            continue
        positional = [v for p, v in zip(parameters, given) if p.kind is not p.KEYWORD_ONLY]
        only = {p.name: v for p, v in zip(parameters, given) if p.kind is p.KEYWORD_ONLY}
        arguments = {"positional": positional} | ({"only": only} if only else {})
        yield json.loads(json.dumps({"function": name, "arguments": arguments, "direct": True}))
