"""The page in a real browser: the answer on the first screen, charts, legend, copying, silence on the network, hostile names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from priorscope.profiles import Profile
from priorscope.profiles._contenders import contenders, others
from priorscope.profiles._glossary import GLOSSARY, Linker, anchor

EVIL = "<img src=x onerror=alert(1)>"


class Visit:
    """A page opened in the browser, with what it complained of and asked for."""

    def __init__(self, browser: Any, file: Path, width: int, scheme: str) -> None:
        self.trouble: list[str] = []
        self.asked: list[str] = []
        self.context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            permissions=["clipboard-read", "clipboard-write"],
        )
        self.page = self.context.new_page()
        self.page.on("console", lambda m: self.trouble.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.trouble.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("html[data-drawn=yes]", timeout=30000)


@pytest.mark.parametrize("width, scheme", [(1200, "light"), (390, "dark")])
def test_page_in_a_browser(small_profile: Profile, tmp_path: Path, browser: Any, width: int, scheme: str) -> None:
    file = tmp_path / "index.html"
    small_profile.to_html(file)
    visit = Visit(browser, file, width, scheme)
    page = visit.page
    # the first screen: the sentence, the chart and, where there is room, the code
    assert page.locator("h1").inner_text().replace("\xa0", " ") == small_profile.verdict()[0].split(". ")[0] + "."
    assert page.locator("h1").bounding_box()["y"] < 200
    if width > 1000:
        assert page.locator("#code").bounding_box()["y"] < 700
        assert page.locator("#chart-answer svg.marks").bounding_box()["y"] < 700
    # hostile names are text
    assert page.locator("img").count() == 0
    assert EVIL in page.locator(".kicker").inner_text()
    # the code is copied
    page.locator("button.copy").click()
    page.wait_for_selector("button.copy:has-text('Copied')", timeout=5000)
    assert page.evaluate("navigator.clipboard.readText()") == small_profile.code()
    # folded charts are drawn when they are opened; nothing is ever wider than the page
    assert page.locator("#kernels svg.marks").count() == 0
    for section in page.locator("#more > details").all():
        section.locator("summary").first.click()
    page.wait_for_function(
        "document.querySelectorAll('.chart').length == document.querySelectorAll('.chart svg.marks').length"
    )
    charts = page.locator(".chart svg.marks")
    assert charts.count() >= 4
    assert all(charts.nth(i).bounding_box()["width"] > 150 for i in range(charts.count()))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = (
        "[...document.querySelectorAll('table')].filter(t => t.getBoundingClientRect().right > innerWidth + 1).length"
    )
    assert page.evaluate(wide) == 0
    # the claims a section rests on
    first = page.locator("#predictors details", has_text="Published claims").first
    first.locator("summary").click()
    assert "V.2" in first.inner_text()
    # words for those who cannot see the chart
    assert "Learning curves" in page.locator("#chart-answer").get_attribute("aria-label")
    assert visit.trouble == []
    assert [url for url in visit.asked if not url.startswith(("file:", "data:", "blob:"))] == []
    visit.context.close()


def test_a_term_leads_to_its_meaning_and_a_name_in_the_legend_brings_a_line_out(
    small_profile: Profile, tmp_path: Path, browser: Any
) -> None:
    file = tmp_path / "index.html"
    small_profile.to_html(file)
    visit = Visit(browser, file, 1200, "light")
    page = visit.page
    link = page.locator("main a.term").first
    place = link.get_attribute("href")
    link.click()
    page.wait_for_function("document.getElementById('glossary').open")
    assert page.locator(place).is_visible()
    lines = "[...document.querySelectorAll('#chart-answer .mark-line path')]"
    thick = f"{lines}.filter(p => p.getAttribute('stroke') == '#b82989').length"
    assert page.evaluate(thick) == 0
    label = page.locator("#chart-answer .role-legend-label text").first
    label.click()
    page.wait_for_function(f"{thick} == 1", timeout=10000)
    label.click()
    page.wait_for_function(f"{thick} == 0", timeout=10000)
    assert visit.trouble == []
    visit.context.close()


def test_page_is_one_file_with_everything_escaped(small_profile: Profile) -> None:
    text = small_profile.to_html()
    head, _, tail = text.partition('<script type="application/json"')
    data = tail.partition("</script>")[0]
    assert "<img" not in head
    assert "<" not in data.partition(">")[2]
    assert "onerror" in head  # shown, as text
    assert "connect-src 'none'" in head
    assert "src=http" not in text
    assert tail.count("</script>") == 4  # the data, the page's own, the library, the drawing
    assert "<img" not in small_profile._repr_html_()


def test_every_term_has_its_place_and_every_link_leads_somewhere(small_profile: Profile) -> None:
    text = small_profile.to_html()
    links = set(re.findall(r'class="term" href="#([^"]+)"', text))
    assert {anchor("kernel machine"), anchor("interval"), anchor("forecast"), anchor("mode")} <= links
    places = set(re.findall(r'<dt id="(term-[^"]+)"', text))
    assert links <= places == {anchor(term) for term in GLOSSARY}
    assert 'class="term"' not in str(Linker(["ridge"])("ridge"))  # a predictor of that name is no term
    assert 'class="term"' in str(Linker()("ridge"))
    for word in ("pilot", "mode", "visibility", "lazy", "kernel machine", "level"):
        assert word in GLOSSARY


def test_the_pick_and_the_best_of_each_kind_are_shown_and_the_others_are_grey(small_profile: Profile) -> None:
    shown = contenders(small_profile)
    assert shown[0].row is small_profile.best
    for row in small_profile.rows:
        if row is small_profile.best_of(row.kind):
            assert row in [c.row for c in shown]
    assert len(shown) + len(others(small_profile)) == len(small_profile.rows)
    assert len({c.colour for c in shown}) == len(shown)


def test_a_profile_prints_about_twenty_lines(small_profile: Profile) -> None:
    lines = str(small_profile).splitlines()
    assert 12 <= len(lines) <= 26
    assert max(map(len, lines)) <= 190
    assert small_profile.best.name in str(small_profile)
    assert "rep.build()" in lines[-1]
    assert repr(small_profile).startswith("Profile(")
