"""A fitted kernel machine in one .npz file: arrays and a JSON text, no pickle, every part checked when it is read."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from priorscope.writing import write_whole

__all__ = ["MachineFile", "read_machine", "write_machine"]

FORMAT = "priorscope kernel machine"
VERSION = 1
_TEXT = "description"

MachineFile: TypeAlias = tuple[dict[str, Any], dict[str, NDArray[np.generic]]]  # what JSON holds, and the arrays


def write_machine(path: Path, text: Mapping[str, Any], arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Write a description and arrays; the file appears only when it is whole."""
    plain = {name: _plain(name, array) for name, array in arrays.items()}
    said = json.dumps({"format": FORMAT, "version": VERSION, **text}, allow_nan=False)
    write_whole(path, lambda file: np.savez_compressed(file, allow_pickle=False, **{_TEXT: np.array(said)}, **plain))


def _plain(name: str, array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Objects as words where they are words; nothing that would need pickle."""
    if array.dtype.kind != "O":
        return array
    if all(isinstance(one, str) for one in array.ravel().tolist()):
        return array.astype(str)
    raise ValueError(f"{name} holds Python objects, which are not saved; use numbers or words as classes.")


def read_machine(path: Path) -> MachineFile:
    """The description and the arrays of a file, or one line on what is wrong with it."""
    if not path.exists():
        raise FileNotFoundError(f"no file {path}; a kernel machine is saved by save(path) or priorscope fit.")
    with path.open("rb") as file:
        begins = file.read(2)
    if begins != b"PK":
        raise ValueError(f"{path.name} is not a saved kernel machine: it is no .npz archive.")
    try:
        with np.load(path, allow_pickle=False) as archive:
            if _TEXT not in archive.files:
                raise ValueError(f"{path.name} is not a saved kernel machine: it has no {_TEXT}.")
            arrays = {name: archive[name] for name in archive.files}
    except (zipfile.BadZipFile, OSError, EOFError, KeyError, zipfile.error) as error:
        raise ValueError(f"{path.name} cannot be read as a saved kernel machine ({error}). Is it whole?") from error
    except ValueError as error:
        if str(error).startswith(path.name):
            raise
        raise ValueError(f"{path.name} is not a saved kernel machine: {error}") from error
    except Exception as error:  # zlib, struct: whatever a damaged archive raises
        raise ValueError(f"{path.name} cannot be read as a saved kernel machine ({error}). Is it whole?") from error
    return _checked(path.name, arrays)


def _checked(name: str, arrays: dict[str, NDArray[np.generic]]) -> MachineFile:
    try:
        text = json.loads(str(arrays.pop(_TEXT)))
    except json.JSONDecodeError as error:
        raise ValueError(f"{name} is a damaged kernel machine: its description is no JSON ({error}).") from error
    if not isinstance(text, dict) or text.get("format") != FORMAT:
        raise ValueError(f"{name} is not a saved kernel machine.")
    if text.get("version") != VERSION:
        raise ValueError(
            f"{name} is a kernel machine of layout {text.get('version')!r}; this version of priorscope reads layout {VERSION}."
        )
    for key, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} is a damaged kernel machine: {key} holds NaN or infinity.")
    return text, arrays
