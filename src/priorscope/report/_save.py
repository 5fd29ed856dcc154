"""A chart as a file: interactive HTML that needs no network, or PNG, SVG and PDF."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from priorscope.report._page._document import chart_page, vega_lite_version
from priorscope.report._theme import styled
from priorscope.writing import write_whole

if TYPE_CHECKING:
    import altair as alt

__all__ = ["save_chart"]


def save_chart(
    chart: alt.TopLevelMixin, path: str | os.PathLike[str], *, mode: str | None = None, scale: float = 2.0
) -> Path:
    """Write an Altair chart; the ending of ``path`` says how: .html, .png, .svg, .pdf or .json.

    HTML carries its scripts inside, loads nothing, shows whatever text the data hold as text, and follows the reader's choice
    of light or dark; the others are drawn on white unless ``mode`` says otherwise.

    Example:
        >>> import altair as alt, pandas as pd, tempfile, pathlib
        >>> chart = alt.Chart(pd.DataFrame({"x": [1, 2]})).mark_point().encode(x="x:Q")
        >>> save_chart(chart, pathlib.Path(tempfile.mkdtemp()) / "chart.svg").stat().st_size > 500
        True
    """
    file = Path(path)
    kind = file.suffix.lower().lstrip(".")
    if kind not in ("html", "png", "svg", "pdf", "json"):
        raise ValueError(f"a chart can be saved as .html, .png, .svg, .pdf or .json; got {file.name!r}.")
    import vl_convert as vlc

    if kind == "html":
        return write_whole(file, chart_page(chart, title=file.stem, mode=mode or "both"))
    spec = styled(chart, mode or ("both" if kind == "json" else "light"))
    version = vega_lite_version()
    if kind == "json":
        return write_whole(file, json.dumps(spec, indent=1) + "\n")
    if kind == "svg":
        return write_whole(file, vlc.vegalite_to_svg(spec, vl_version=version))
    if kind == "png":
        return write_whole(file, vlc.vegalite_to_png(spec, vl_version=version, scale=scale))
    return write_whole(file, vlc.vegalite_to_pdf(spec, vl_version=version))
