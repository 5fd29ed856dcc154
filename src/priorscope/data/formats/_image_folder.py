"""Folders of images, one subfolder a class, with or without train/ and test/ above them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__: list[str] = []

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm"}


def class_folders(folder: Path) -> list[Path]:
    """Subfolders that directly hold images, in the order of their names."""
    found = [d for d in sorted(folder.iterdir()) if d.is_dir() and not d.name.startswith(".")]
    return [d for d in found if any(f.suffix.lower() in SUFFIXES for f in d.iterdir())]


def common_size(folder: Path) -> tuple[tuple[int, int] | None, str]:
    """The median height and width with a note, or None and no note where all images have one size."""
    from PIL import Image, UnidentifiedImageError

    sizes = []
    for d in class_folders(folder):
        for file in (f for f in d.iterdir() if f.suffix.lower() in SUFFIXES):
            try:
                with Image.open(file) as image:
                    sizes.append((image.height, image.width))
            except (UnidentifiedImageError, OSError):
                continue  # the reader names the file
    if len(set(sizes)) < 2:
        return None, ""
    height, width = (int(np.median(side)) for side in zip(*sizes, strict=True))
    return (height, width), f"images of {len(set(sizes))} sizes were resized to {height}×{width}, the median"


def read_image_folder(
    folder: Path, size: int | tuple[int, int] | None = None, channels: int | None = None
) -> tuple[NDArray[np.uint8], list[str]]:
    """Images (n, channels, height, width) and the class name of each.

    Images of unequal sizes need ``size``; ``channels`` is 1 (grey) or 3 (colour), by default 1 only if all are grey.
    """
    from PIL import Image, UnidentifiedImageError

    if channels not in (None, 1, 3):
        raise ValueError(f"channels must be 1 (grey) or 3 (colour); got {channels}.")
    images, names = [], []
    for d in class_folders(folder):
        for file in sorted(f for f in d.iterdir() if f.suffix.lower() in SUFFIXES):
            try:
                with Image.open(file) as image:
                    image.load()
                    images.append(image.copy())
            except (UnidentifiedImageError, OSError) as error:
                raise ValueError(
                    f"{d.name}/{file.name} cannot be read as an image ({error}); remove or repair it."
                ) from error
            names.append(d.name)
    grey = {"1", "L", "I", "I;16", "F"}
    mode = "L" if channels == 1 or (channels is None and all(i.mode in grey for i in images)) else "RGB"
    if size is not None:
        height, width = (size, size) if isinstance(size, int) else size
        images = [i.convert(mode).resize((width, height), Image.Resampling.BOX) for i in images]
    sizes = {i.size for i in images}
    if len(sizes) > 1:
        (w1, h1), (w2, h2) = sorted(sizes)[:2]
        raise ValueError(
            f"images in a folder must have one size; got {len(sizes)} sizes, such as {h1}×{w1} and {h2}×{w2} "
            "(height × width). Pass size= to resize them, or size='common' for the median."
        )
    stack = np.stack([np.asarray(i.convert(mode)) for i in images])
    return (stack[:, None] if mode == "L" else np.moveaxis(stack, -1, 1)).copy(), names
