"""Draw the charts of papers from the committed tables of runs: ``python tools/paper_images.py [NAME ...]``.

A chart that needs arrays which the table leaves out is taken from the picture that ``reproduce`` wrote: ``NAME=FILE.png``.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import vl_convert
from PIL import Image

from priorscope.lab import read_evidence, runs_folder
from priorscope.papers import load

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "images" / "papers"
LARGEST = 50_000  # bytes
WIDTHS = (1400, 1100, 900)  # pixels
COLOURS = (128, 64, 32)


def small_png(data: bytes) -> bytes:
    """The same picture with a palette, as wide and of as many colours as fit into LARGEST bytes."""
    whole = Image.open(io.BytesIO(data)).convert("RGB")
    for widest in WIDTHS:
        image = whole
        if whole.width > widest:
            image = whole.resize((widest, round(whole.height * widest / whole.width)), Image.Resampling.LANCZOS)
        for colours in COLOURS:
            out = io.BytesIO()
            # the colours of thin lines too: by how often a colour is there, orange and red become one
            reduced = image.quantize(colours, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
            reduced.save(out, "PNG", optimize=True)
            if out.tell() < LARGEST:
                return out.getvalue()
    raise ValueError(f"a picture of {whole.width} × {whole.height} has {out.tell()} bytes when it is smallest.")


def draw(name: str) -> Path | None:
    """Write the chart of a paper; None where it has no table of runs or no chart."""
    name, _, given = name.partition("=")
    if given:
        return _write(name, Path(given).read_bytes())
    paper, found = load(name), read_evidence(name, runs_folder())
    if paper.chart is None or found is None:
        return None
    return _write(name, vl_convert.vegalite_to_png(paper.chart(found.table).to_json(), scale=1.5))


def _write(name: str, picture: bytes) -> Path:
    file = FOLDER / f"{name}.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(small_png(picture))
    return file


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(file.stem for file in runs_folder().glob("*.jsonl")):
        print(draw(name))
