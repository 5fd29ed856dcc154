"""Charts as HTML in a real browser: they draw, ask nobody for anything, and no text of the data runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
import pytest

from priorscope.cli import main
from priorscope.report import save_chart
from priorscope.report._page._document import document, specification

EVIL = [
    "</script><script>window.hit = 1; alert(1)</script>",
    "<img src=x onerror='window.hit = 1'>",
    "<!--<script>",
    "javascript:window.hit=1",
    "]]>\u2028'\"`${window.hit=1}",
    "http://example.invalid/x.png",
]


def evil_chart() -> Any:
    table = pd.DataFrame({"x": range(len(EVIL)), "name</script>": EVIL})
    return (
        alt.Chart(table, title=EVIL[0])
        .mark_point()
        .encode(x="x:Q", y="name</script>:N", color="name</script>:N", tooltip=["name</script>:N"])
    )


class Visit:
    """A page opened in the browser, with what it complained of and asked for."""

    def __init__(self, browser: Any, file: Path, **context: Any) -> None:
        self.trouble: list[str] = []
        self.asked: list[str] = []
        self.page = browser.new_context(viewport={"width": 900, "height": 700}, **context).new_page()
        self.page.on("console", lambda m: self.trouble.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.trouble.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())

    def drawn(self) -> None:
        self.page.wait_for_selector("html[data-drawn=yes]", timeout=30000)
        box = self.page.locator("svg.marks").bounding_box()
        assert box["width"] > 150
        assert box["height"] > 50

    def outside(self) -> list[str]:
        return [url for url in self.asked if not url.startswith(("file:", "data:", "blob:"))]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_evil_chart_draws_and_does_nothing_else(tmp_path: Path, browser: Any, scheme: str) -> None:
    visit = Visit(browser, save_chart(evil_chart(), tmp_path / "chart.html"), color_scheme=scheme)
    visit.drawn()
    assert visit.page.evaluate("window.hit") is None
    assert visit.page.locator("img").count() == 0
    assert visit.page.locator("script").count() == 3
    assert visit.page.locator(".mark-symbol path").count() >= len(EVIL)
    assert EVIL[0][:20] in visit.page.locator("svg.marks").text_content()  # shown, as text
    point = visit.page.locator(".mark-symbol path").first
    point.hover()
    visit.page.wait_for_selector("#vg-tooltip-element.visible", timeout=10000)
    assert visit.page.locator("#vg-tooltip-element img, #vg-tooltip-element script").count() == 0
    assert visit.page.evaluate("window.hit") is None
    assert visit.trouble == []
    assert visit.outside() == []


def test_a_script_that_is_not_ours_is_stopped(tmp_path: Path, browser: Any) -> None:
    """The second line of defence: markup that got into the body does not run, text is not evaluated, nothing is fetched."""
    chart = specification(alt.Chart(pd.DataFrame({"x": [1]})).mark_point().encode(x="x:Q"))
    body = (
        '<div class="chart" id="chart"></div><script>window.hit = 1</script><b onclick="window.hit = 1">b</b>'
        '<script src="http://example.invalid/x.js"></script><img src="http://example.invalid/x.png">'
    )
    file = tmp_path / "page.html"
    file.write_text(document("page", body, charts={"chart": chart}))
    visit = Visit(browser, file)
    visit.drawn()
    visit.page.locator("b").click()
    assert visit.page.evaluate("window.hit") is None
    assert len([line for line in visit.trouble if "Content Security Policy" in line]) >= 4
    assert "unsafe-eval" not in file.read_text().partition("<title>")[0]


def test_a_chart_that_names_data_elsewhere_fetches_nothing(tmp_path: Path, browser: Any) -> None:
    chart = alt.Chart("http://example.invalid/data.csv").mark_point().encode(x="x:Q")
    visit = Visit(browser, save_chart(chart, tmp_path / "chart.html"))
    visit.page.wait_for_timeout(1500)
    assert visit.outside() == []


def test_geometry_on_the_command_line_writes_the_same_kind_of_file(tmp_path: Path, browser: Any) -> None:
    file = tmp_path / "g.html"
    words = ["geometry", "--model", "fcn", "--shape", "1x4x4", "--models", "20", "--chart", str(file)]
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 0
    assert "Content-Security-Policy" in file.read_text()
    visit = Visit(browser, file)
    visit.drawn()
    assert visit.trouble == []
    assert visit.outside() == []


def test_a_charts_own_configuration_wins_on_a_page() -> None:
    chart = alt.Chart(pd.DataFrame({"x": [1]})).mark_point().encode(x="x:Q").configure_axis(labelFontSize=20)
    for look in specification(chart)["usermeta"].values():
        assert look["axis"]["labelFontSize"] == 20
        assert look["background"] == "transparent"
    assert specification(chart, "dark")["usermeta"]["light"]["background"] == "#14161a"
