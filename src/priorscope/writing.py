"""Files that are written whole or not at all: what stood there before stays until the new one is complete."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike[str], content: str | bytes | Callable[[BinaryIO], object]) -> Path:
    """Write a text (as UTF-8), bytes, or what a function writes into a stream; folders are made as needed.

    The content goes into a file beside the named one, which takes its place in one step when all of it is on the disk: a
    full disk, an error or a kill on the way leaves the old file as it was. A device or a pipe is written to directly.

    Example:
        >>> import tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> write_whole(folder / "new" / "page.html", "<p>ä</p>").read_text(encoding="utf-8")
        '<p>ä</p>'
        >>> [file.name for file in (folder / "new").iterdir()]
        ['page.html']
    """
    named = Path(path)
    if named.exists() and not (named.is_file() or named.is_dir()):  # /dev/stdout, a named pipe
        with named.open("wb") as stream:
            _fill(stream, content)
        return named
    target = named.resolve()  # of a link: the file it points to
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            _fill(stream, content)
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            shutil.copymode(target, part)
        else:
            part.chmod(0o666 & ~_umask())
        os.replace(part, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            part.unlink()
    return named


def _fill(stream: BinaryIO, content: str | bytes | Callable[[BinaryIO], object]) -> None:
    if callable(content):
        content(stream)
    else:
        stream.write(content.encode("utf-8") if isinstance(content, str) else content)


def _umask() -> int:
    """The permissions that new files of this process do not get; the system tells only when it is set."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
