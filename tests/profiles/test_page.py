"""The page in a real browser: charts, legend, silence on the network, hostile names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from priorscope.profiles import Profile


@pytest.mark.parametrize("width, scheme", [(1200, "light"), (390, "dark")])
def test_page_in_a_browser(small_profile: Profile, tmp_path: Path, browser: Any, width: int, scheme: str) -> None:
    file = tmp_path / "index.html"
    small_profile.to_html(file)
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    trouble: list[str] = []
    page.on("console", lambda message: trouble.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("dialog", lambda dialog: (trouble.append("dialog"), dialog.dismiss()))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-drawn=yes]", timeout=30000)
    charts = page.locator(".chart svg.marks")
    assert charts.count() == page.locator(".chart").count() >= 3
    assert all(charts.nth(i).bounding_box()["width"] > 150 for i in range(charts.count()))
    # the page itself never scrolls sideways; its tables do
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # hostile names are text
    assert page.locator("img").count() == 0
    assert "<img src=x onerror=alert(1)>" in page.locator("h1").inner_text()
    # the legend shows one model alone, and all again
    lines = "[...document.querySelectorAll('#chart-forecast-curves .mark-line path')]"
    faded = f"{lines}.filter(p => Number(p.getAttribute('opacity') ?? 1) < .5).length"
    assert page.evaluate(faded) == 0
    label = page.locator("#chart-forecast-curves .role-legend-label text").first
    label.click()
    page.wait_for_function(f"{faded} > 0", timeout=10000)
    label.click()
    page.wait_for_function(f"{faded} == 0", timeout=10000)
    # the claims a section rests on are folded away, and open
    first = page.locator("#forecast details", has_text="Published claims").first
    first.locator("summary").click()
    assert "F.2" in first.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # words for those who cannot see the chart
    assert "Learning curves" in page.locator("#chart-forecast-curves").get_attribute("aria-label")
    assert trouble == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()


def test_page_is_one_file_with_everything_escaped(small_profile: Profile) -> None:
    text = small_profile.to_html()
    head, _, tail = text.partition('<script type="application/json"')
    data = tail.partition("</script>")[0]
    assert "<img" not in head
    assert "<" not in data.partition(">")[2]
    assert "onerror" in head  # shown, as text
    assert "connect-src 'none'" in head
    assert "src=http" not in text
    assert tail.count("</script>") == 3
