"""Directions of the input space as small images."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pandas as pd
from torch import Tensor

if TYPE_CHECKING:
    import altair as alt

__all__ = ["modes_picture"]


def modes_picture(modes: Tensor, input_shape: tuple[int, ...], ranks: Iterable[int], columns: int) -> alt.FacetChart:
    """Columns of ``modes`` (D, k) at these ranks as images, each scaled by its own largest entry; channels averaged."""
    import altair as alt

    if len(input_shape) != 3:
        raise ValueError(f"modes_picture needs image inputs (channels, height, width); got {input_shape}.")
    rows = []
    for k in ranks:
        image = modes[:, k].reshape(input_shape).mean(0)
        image = image / image.abs().max().clamp(min=1e-30)
        for i, row in enumerate(image.tolist()):
            rows += [{"mode": f"mode {k + 1}", "k": k, "i": i, "j": j, "value": v} for j, v in enumerate(row)]
    chart: alt.FacetChart = (
        alt.Chart(pd.DataFrame(rows))
        .mark_rect()
        .encode(
            x=alt.X("j:O", axis=None),
            y=alt.Y("i:O", axis=None),
            color=alt.Color("value:Q", legend=None).scale(scheme="purpleorange", domain=[-1, 1]),
            facet=alt.Facet("mode:N", columns=columns, sort=alt.EncodingSortField("k"), title=None),
        )
        .properties(width=90, height=90)
    )
    return chart
