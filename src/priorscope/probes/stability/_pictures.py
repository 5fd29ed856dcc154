"""Images side by side: as they are, moved, and with noise at the same distance."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from torch import Tensor

if TYPE_CHECKING:
    import altair as alt

__all__ = ["as_png", "pictures"]

TITLES = ("x", "moved, τx", "with noise, x + η")


def as_png(image: Tensor, low: float, high: float, side: int = 128) -> str:
    """An image (channels, height, width) as a data URI of a PNG, grey unless it has three channels."""
    from PIL import Image

    grey = image if image.shape[0] == 3 else image.mean(0, keepdim=True)
    levels = ((grey - low) / max(high - low, 1e-12)).clamp(0, 1).mul(255).byte().permute(1, 2, 0).numpy()
    drawn = Image.fromarray(levels[:, :, 0] if levels.shape[2] == 1 else np.ascontiguousarray(levels))
    factor = max(1, side // max(drawn.size))
    drawn = drawn.resize((drawn.width * factor, drawn.height * factor), Image.Resampling.NEAREST)
    stream = io.BytesIO()
    drawn.save(stream, format="PNG")
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode()


def pictures(examples: Tensor, radius: float) -> alt.TopLevelMixin:
    """One row per example, three columns: x, τx and x + η; grey levels are shared in a row, and noise may leave them.

    Petrini et al. (2021), Fig. 2.
    """
    import altair as alt

    rows = []
    for k, triple in enumerate(examples):
        low, high = float(triple[0].min()), float(triple[0].max())
        for title, image in zip(TITLES, triple):
            rows.append({"row": k, "column": title, "picture": as_png(image, low, high)})
    axis = alt.Axis(orient="top", labelAngle=0, domain=False, ticks=False)
    drawn: alt.TopLevelMixin = (
        alt.Chart(pd.DataFrame(rows), title=f"noise at the average distance of the moved images, {radius:.3g}")
        .mark_image(width=96, height=96)
        .encode(
            alt.X("column:N", title=None, sort=list(TITLES), axis=axis),
            alt.Y("row:O", axis=None),
            alt.Url("picture:N"),
        )
        .properties(width=330, height=104 * len(examples))
    )
    return drawn
