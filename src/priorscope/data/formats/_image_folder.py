"""Folders of pictures, one subfolder per class, with or without train/ and test/ above them."""

from __future__ import annotations

import struct
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priorscope.data._memory import check_memory
from priorscope.data.formats._format import Contents, Format, ReadOptions

if TYPE_CHECKING:
    from PIL import Image

__all__: list[str] = []

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm"}
_PARTS = (("train", "training"), ("test", "testing", "val", "valid", "validation"))
_SIXTEEN_BIT = {"I", "I;16", "I;16B", "I;16L", "I;16N"}
_GREY = {"1", "L", "LA", *_SIXTEEN_BIT}
_Files = list[tuple[Path, str]]  # a picture's file and its class
_Size = tuple[int, int]  # width and height, upright


def class_folders(folder: Path) -> list[Path]:
    """Subfolders that directly hold pictures, in the order of their names."""
    found = [d for d in sorted(folder.iterdir()) if d.is_dir() and not d.name.startswith(".")]
    return [d for d in found if any(_is_picture(f) for f in d.iterdir())]


def _is_picture(file: Path) -> bool:
    return file.suffix.lower() in SUFFIXES and not file.name.startswith(".") and file.is_file()


def _parts(folder: Path) -> tuple[Path, Path | None]:
    """The folder of the training part and that of the test part, which may be missing."""
    below = {d.name.lower(): d for d in folder.iterdir() if d.is_dir()}
    train, test = (next((below[n] for n in names if n in below), None) for names in _PARTS)
    return (folder, None) if train is None else (train, test)


def _read(folder: Path, options: ReadOptions) -> Contents:
    """Read one class per folder, all pictures at one size, grey where all of them are."""
    size, channels = options.size, options.channels
    if channels not in (None, 1, 3):
        raise ValueError(f"channels must be 1 (grey) or 3 (colour); got {channels}.")
    told: Counter[str] = Counter()
    train, test = (None if part is None else _files(part, told) for part in _parts(folder))
    assert train is not None
    heads = {file: _head(file) for file, _ in [*train, *(test or ())]}
    note = ""
    if size == "common":
        size, note = _common_size([heads[file][0] for file, _ in train], [found for found, _ in heads.values()])
    grey = channels == 1 or (channels is None and all(grey for _, grey in heads.values()))
    wanted = _one_size(size, {found for found, _ in heads.values()})
    check_memory(len(heads) * wanted[0] * wanted[1] * (1 if grey else 3), f"{folder.name} at {wanted[0]}×{wanted[1]}")
    x, y = _stacked(train, wanted, "L" if grey else "RGB", told)
    rest = None if test is None else _stacked(test, wanted, "L" if grey else "RGB", told)
    notes = (*(f"{n} {words}" for words, n in told.items()), *([note] if note else []))
    return Contents(x, y, rest, layout="channels_first", notes=notes)


def _common_size(train: list[_Size], both: list[_Size]) -> tuple[tuple[int, int], str]:
    """The median height and width of the training pictures, with a note where any picture has another size."""
    width, height = (int(np.median(side)) for side in zip(*train, strict=True))
    if set(both) == {(width, height)}:
        return (height, width), ""
    return (height, width), f"images of {len(set(both))} sizes were resized to {height}×{width}, the median"


def _one_size(size: int | tuple[int, int] | None, found: set[_Size]) -> tuple[int, int]:
    """Height and width of all pictures: as asked for, or what they have."""
    if size is not None:
        height, width = (size, size) if isinstance(size, int) else size
        if min(height, width) < 1:
            raise ValueError(f"size must be at least 1; got {size}.")
        return height, width
    if len(found) > 1:
        (w1, h1), (w2, h2) = sorted(found)[:2]
        raise ValueError(
            f"images in a folder must have one size; got {len(found)} sizes, such as {h1}×{w1} and {h2}×{w2} "
            "(height × width). Pass size= to resize them, or size='common' for the median."
        )
    ((width, height),) = found
    return height, width


def _files(folder: Path, told: Counter[str]) -> _Files:
    """All pictures below ``folder`` with their classes; ``told`` counts what was left out."""
    found: _Files = []
    for d in class_folders(folder):
        for file in sorted(d.iterdir()):
            if _is_picture(file):
                found.append((file, d.name))
            elif file.is_file() and not file.name.startswith("."):
                told["files in the folders of the classes are no pictures and were not read"] += 1
    empty = [d for d in folder.iterdir() if d.is_dir() and not d.name.startswith(".") and not _has_pictures(d)]
    if empty:
        told["folders hold no pictures and were not read"] += len(empty)
    if not found:
        raise ValueError(f"{folder.name} holds no pictures in subfolders, one per class.")
    return found


def _has_pictures(folder: Path) -> bool:
    return any(_is_picture(f) for f in folder.iterdir())


@contextmanager
def _opened(file: Path) -> Iterator[Image.Image]:
    """A picture that is not decoded yet; whatever goes wrong with it names the file."""
    from PIL import Image

    damage = (OSError, SyntaxError, ValueError, struct.error, zlib.error, EOFError, OverflowError, MemoryError)
    bombs = (Image.DecompressionBombWarning, Image.DecompressionBombError)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd metadata; what matters raises
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(file) as image:
                yield image
    except (*damage, *bombs, IndexError, TypeError) as error:
        text = " ".join(str(error).split())
        name = f"{file.parent.name}/{file.name}"
        raise ValueError(f"{name} cannot be read as an image ({text}); remove or repair it.") from error


def _head(file: Path) -> tuple[_Size, bool]:
    """Width and height of the upright picture and whether it is grey, by its header alone."""
    with _opened(file) as image:
        width, height = image.size
        turned = image.getexif().get(0x0112, 1) in (5, 6, 7, 8)
        return (height, width) if turned else (width, height), image.mode in _GREY


def _picture(file: Path, told: Counter[str]) -> Image.Image:
    """One picture in mode L or RGB, upright; 16 bits become 8, transparency and all frames but the first are dropped."""
    from PIL import Image, ImageOps

    name = f"{file.parent.name}/{file.name}"
    with _opened(file) as image:
        image.load()
        if _has_more_frames(image):
            told["pictures have several frames; the first was read"] += 1
        upright = ImageOps.exif_transpose(image)
        if upright.size != image.size or image.getexif().get(0x0112, 1) != 1:
            told["photographs were turned upright as their EXIF data say"] += 1
    if upright.mode == "F":
        raise ValueError(f"{name} holds floats, whose range is not known; save it with 8 bits, or pass arrays.")
    if upright.mode in _SIXTEEN_BIT:
        values = np.asarray(upright).astype(np.int64)
        if values.min() < 0 or values.max() > 65535:
            raise ValueError(f"{name} holds values from {values.min()} to {values.max()}; save it with 8 or 16 bits.")
        told["pictures of 16 bits were brought to 8"] += 1
        return Image.fromarray(np.rint(values / 257).astype(np.uint8))
    if upright.mode in ("RGBA", "LA", "PA") or "transparency" in upright.info:
        told["pictures lost their transparency"] += 1
    return upright.convert("L" if upright.mode in _GREY else "RGB")


def _has_more_frames(image: Image.Image) -> bool:
    try:
        image.seek(1)
    except EOFError:
        return False
    image.seek(0)
    return True


def _stacked(
    files: _Files, size: tuple[int, int], mode: str, told: Counter[str]
) -> tuple[NDArray[np.uint8], list[str]]:
    """Images (n, channels, height, width) and the class name of each; one picture is held at its full size at a time."""
    from PIL import Image

    height, width = size
    stack = np.empty((len(files), height, width, *(() if mode == "L" else (3,))), np.uint8)
    for i, (file, _) in enumerate(files):
        image = _picture(file, told).convert(mode)
        stack[i] = image if image.size == (width, height) else image.resize((width, height), Image.Resampling.BOX)
    images = stack[:, None] if mode == "L" else np.moveaxis(stack, -1, 1).copy()
    return images, [name for _, name in files]


def _knows(path: Path) -> bool:
    return path.is_dir() and bool(class_folders(_parts(path)[0]))


IMAGE_FOLDER = Format(
    "image folder",
    "a folder of images, one subfolder per class, with or without train/ and test/ above",
    _read,
    knows=_knows,
)
