"""Pictures of paper pages: named after papers, small, and shown on a page."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from priorscope.papers import REGISTRY

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("paper_images", ROOT / "tools" / "paper_images.py")
assert SPEC is not None
assert SPEC.loader is not None
paper_images = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(paper_images)


def test_every_picture_is_small_and_on_a_page() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "papers").glob("*.md"))
    pictures = sorted((ROOT / "docs" / "images" / "papers").glob("*.png"))
    assert pictures
    for picture in pictures:
        assert picture.stem in REGISTRY
        assert picture.stat().st_size < paper_images.LARGEST
        assert f"(../images/papers/{picture.name})" in pages, picture.name


def _png(pixels: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def test_a_wide_picture_is_made_smaller_and_keeps_its_proportions() -> None:
    wide = np.full((700, 2800, 3), 255, dtype=np.uint8)
    wide[100:200, 300:900] = (30, 90, 200)
    found = Image.open(io.BytesIO(paper_images.small_png(_png(wide))))
    assert found.size == (1400, 350)
    assert found.convert("RGB").getpixel((300, 75)) == pytest.approx((30, 90, 200), abs=3)


def test_what_cannot_be_made_small_is_refused() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (900, 900, 3), dtype=np.uint8)
    with pytest.raises(ValueError, match="900 × 900 has .* bytes when it is smallest"):
        paper_images.small_png(_png(noise))
