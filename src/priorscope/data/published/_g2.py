"""The molecules of the G2/97 set, by way of the package ase, which is downloaded and read but never run."""

from __future__ import annotations

import ast
import os
import re
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import torch
from torch import Tensor

from priorscope.data.published._fetch import FetchError, fetched, run_with_progress
from priorscope.data.space._molecules import CHARGES, Molecule

__all__ = ["G2_FILES", "g2", "g2_folder"]

_CHECKS = {"g2_1.py": "05fbc69601742b1e08d06456ca55fe15", "g2_2.py": "9651057ee347e0d853168b850c3f1ab9"}
G2_FILES = tuple(_CHECKS)
_SYMBOL = re.compile(r"([A-Z][a-z]?)(\d*)")
_Entry = Mapping[str, object]


def _download(folder: Path) -> Path:
    """The wheel of ase 3.29.0, and out of it the two files of literals."""
    command = (sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest", str(folder), "ase==3.29.0")
    run_with_progress(command, folder, 3_014_724, "G2", dict(os.environ))
    wheels = list(folder.glob("ase-*.whl"))
    if len(wheels) != 1:
        raise FetchError(f"pip download ase left {len(wheels)} wheels; wanted one.")
    with zipfile.ZipFile(wheels[0]) as wheel:
        for name in _CHECKS:
            (folder / name).write_bytes(wheel.read(f"ase/data/{name}"))
    return folder


def _arrange(source: Path, ready: Path) -> None:
    for name in _CHECKS:
        (ready / name).write_bytes((source / name).read_bytes())


def g2_folder() -> Path:
    """The cache folder of the G2 set, fetched (3 MB) and checked where it is absent."""
    return fetched("g2", _CHECKS, (), _download, _arrange)


def g2(elements: Sequence[str] = ("H", "C", "N", "O", "S"), *, folder: str | Path | None = None) -> list[Molecule]:
    r"""Small molecules with the atomisation energies that experiments give, in kcal/mol; those of these elements alone.

    The set is G2/97 (Curtiss, Raghavachari, Redfern & Pople 1997) in the form of ASE 3.29, geometries by MP2. It is fetched once
    into the cache, or read from ``folder`` (its files ``g2_1.py`` and ``g2_2.py``); the files are parsed for literals and never
    run.

    .. math:: E = \sum_a (H_a - \Delta_a) - H + \Delta + Z

    (Curtiss et al. 1997): H is the enthalpy of formation, Δ its thermal correction, Z the energy of the zero point.

    Example:
        >>> g2(folder="nowhere")
        Traceback (most recent call last):
        FileNotFoundError: no file g2_1.py in nowhere.
    """
    unknown = [e for e in elements if e not in CHARGES]
    if unknown or not elements:
        raise ValueError(f"elements may name {', '.join(CHARGES)}; got {list(elements)!r}.")
    home = g2_folder() if folder is None else Path(folder).expanduser()
    entries: dict[str, _Entry] = {}
    for name in _CHECKS:
        if not (home / name).exists():
            raise FileNotFoundError(f"no file {name} in {home}.")
        entries |= _literals(home / name)
    found = [_molecule(name, entry, entries) for name, entry in entries.items() if len(_rows(name, entry)) > 1]
    wanted = {CHARGES[e] for e in elements}
    return [m for m in found if set(m.charges.tolist()) <= wanted]


def _literals(path: Path) -> dict[str, _Entry]:
    """The dictionary that a file assigns to ``data``, read without running the file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["data"]:
            return cast("dict[str, _Entry]", ast.literal_eval(node.value))
    raise ValueError(f"{path} assigns no dictionary to the name data; wanted the file of ASE 3.29.")


def _rows(name: str, entry: _Entry) -> list[list[float]]:
    rows = entry.get("positions")
    if not isinstance(rows, list):
        raise ValueError(f"{name} has no list of positions.")
    return cast("list[list[float]]", rows)


def _number(name: str, entry: _Entry, key: str) -> float:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} has no number for {key!r}; got {value!r}.")
    return float(value)


def _molecule(name: str, entry: _Entry, entries: Mapping[str, _Entry]) -> Molecule:
    """Charges, places and energy of an entry; the atoms it consists of are entries too."""
    parts = _SYMBOL.findall(str(entry.get("symbols")))
    atoms = [symbol for symbol, count in parts for _ in range(int(count or 1))]
    rows = _rows(name, entry)
    absent = sorted({a for a in atoms if a not in entries or a not in CHARGES})
    if absent or len(atoms) != len(rows):
        raise ValueError(f"{name} has {len(rows)} positions for {''.join(atoms)}; not known as atoms: {absent}.")
    energy = _number(name, entry, "ZPE") + _number(name, entry, "thermal correction") - _number(name, entry, "enthalpy")
    energy += sum(_number(a, entries[a], "enthalpy") - _number(a, entries[a], "thermal correction") for a in atoms)
    places: Tensor = torch.tensor(rows, dtype=torch.float64)
    return Molecule(name, torch.tensor([CHARGES[a] for a in atoms]), places, energy)
