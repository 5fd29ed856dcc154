"""The look of charts and tables: contrast, formats, escaping."""

from __future__ import annotations

import itertools

import altair as alt
import numpy as np
import pandas as pd
import pytest

from priorscope.report import PALETTE, html_table, rich_table, save_chart, styled, theme


def luminance(colour):
    """Relative luminance of WCAG 2."""
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("page", ["#ffffff", "#14161a"])
def test_palette_and_ink_read_on_light_and_dark(page):
    assert min(contrast(colour, page) for colour in PALETTE) >= 3  # WCAG 2.1, 1.4.11: graphics
    assert contrast(theme("both")["axis"]["labelColor"], page) >= 3
    assert contrast("#ffff00", "#ffffff") < 3  # and the measure can fail


def test_colours_are_far_apart():
    rgb = [np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)]) for c in PALETTE]
    assert min(np.abs(a - b).sum() for a, b in itertools.combinations(rgb, 2)) > 40


@pytest.fixture
def chart():
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [1.0, 4.0, 9.0], "kind": ["a", "b", "a"]})
    return alt.Chart(table).mark_line(point=True).encode(x="x", y="y", color="kind")


@pytest.mark.parametrize(
    "suffix, start",
    [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<svg"), ("html", b"<!DOCTYPE html>"), ("json", b"{")],
)
def test_every_format_is_written(tmp_path, chart, suffix, start):
    written = save_chart(chart, tmp_path / "deep" / f"chart.{suffix}").read_bytes()
    assert written.lstrip().lower().startswith(start.lower())
    assert b'src="http' not in written


def test_an_unknown_format_is_named(tmp_path, chart):
    with pytest.raises(ValueError, match=r"saved as .html, .png.* got 'chart.gif'"):
        save_chart(chart, tmp_path / "chart.gif")
    with pytest.raises(ValueError, match="a theme is 'light', 'dark' or 'both'"):
        theme("sepia")


def test_a_charts_own_configuration_wins(chart):
    spec = styled(chart.configure_axis(labelFontSize=20), "light")
    assert spec["config"]["axis"]["labelFontSize"] == 20
    assert spec["config"]["axis"]["titleFontSize"] == 12
    assert spec["config"]["range"]["category"] == list(PALETTE)


def test_tables_escape_what_they_show():
    assert "&lt;script&gt;" in html_table(pd.DataFrame({"a": ["<script>"]}), caption="x < y")
    table = rich_table([{"a": "[red]x", "b": 0.123456}], title="t")
    assert table.columns[0]._cells == ["\\[red]x"]
    assert table.columns[1]._cells == ["0.1235"]
