"""A folder of ``.npy`` files, read as an archive of arrays with these names: x.npy, y.npy, x_test.npy …"""

from __future__ import annotations

from pathlib import Path

from priorscope.data.formats._array_names import assign_roles
from priorscope.data.formats._format import Contents, Format, ReadOptions
from priorscope.data.formats._npy import read_header, read_npy

__all__: list[str] = []


def _files(folder: Path) -> dict[str, Path]:
    return {f.stem: f for f in sorted(folder.glob("*.npy")) if f.is_file() and not f.name.startswith(".")}


def _read(folder: Path, options: ReadOptions) -> Contents:
    files = _files(folder)

    def shape(name: str) -> tuple[int, ...]:
        with files[name].open("rb") as stream:
            return read_header(stream, files[name].name)[0]

    target = options.target.removesuffix(".npy") if isinstance(options.target, str) else options.target
    roles = assign_roles(list(files), shape, folder.name, target)
    test = None if roles.test is None else (read_npy(files[roles.test[0]]), read_npy(files[roles.test[1]]))
    return Contents(read_npy(files[roles.x]), read_npy(files[roles.y]), test, notes=roles.notes)


def _knows(path: Path) -> bool:
    return path.is_dir() and bool(_files(path))


NPY_FOLDER = Format("npy folder", "a folder with x.npy and y.npy", _read, knows=_knows)
