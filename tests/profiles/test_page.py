"""The page in a real browser: the answer on the first screen, charts, legend, copying, silence on the network, hostile names."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from priorscope.profiles import Profile, _page_mistakes
from priorscope.profiles._contenders import others, shown
from priorscope.profiles._export import _safe, as_csv
from priorscope.profiles._glossary import GLOSSARY, Linker, anchor
from priorscope.profiles._text import as_text

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
    assert page.locator("h1").inner_text().replace("\xa0", " ") == small_profile.verdict()[0]
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
    # the table sorts by what is measured and shows one kind
    names = "[...document.querySelectorAll('.race tbody tr:not([hidden]) td:nth-child(2)')].map(t => t.dataset.value)"
    assert page.evaluate(names) == [row.name for row in small_profile.rows]
    page.locator(".race th button", has_text="measured").first.click()
    by_error = sorted(small_profile.rows, key=lambda row: row.now[1].value)
    values = "[...document.querySelectorAll('.race tbody tr')].map(t => Number(t.cells[3].dataset.value))"
    assert page.evaluate(values) == pytest.approx([row.now[1].value for row in by_error], rel=1e-4)
    assert page.locator(".race th[aria-sort=ascending]").count() == 1
    page.locator(".race th button", has_text="measured").first.click()
    assert page.locator(".race th[aria-sort=descending]").count() == 1
    page.locator(".race select.kind").select_option("classical")
    assert sorted(page.evaluate(names)) == ["linear", "random trees"]
    assert page.locator(".race output").inner_text() == f"2 of {len(small_profile.rows)}"
    with page.expect_download() as download:
        page.locator(".race a[download]").click()
    assert download.value.path().read_text().count("\n") == 1 + sum(
        len(folds) for record in small_profile.race.records.values() for folds in record.trials.values()
    )
    for section in page.locator("#more > details").all():
        section.locator("summary").first.click()
    page.wait_for_function(
        "document.querySelectorAll('.chart').length == document.querySelectorAll('.chart svg.marks').length"
    )
    charts = page.locator(".chart svg.marks")
    assert charts.count() >= 1
    assert all(charts.nth(i).bounding_box()["width"] > 150 for i in range(charts.count()))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = "[...document.querySelectorAll('table.fit')].filter(t => t.getBoundingClientRect().right > innerWidth + 1).length"
    assert page.evaluate(wide) == 0
    # nothing about the library's own validity stands beside the answer
    assert "claim" not in page.locator("body").inner_text().lower()
    # words for those who cannot see the chart
    assert "Errors by training rows" in page.locator("#chart-answer").get_attribute("aria-label")
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
    assert tail.count("</script>") == 5  # the data, the page's own two, the library, the drawing
    assert "<img" not in small_profile._repr_html_()


def test_every_term_has_its_place_and_every_link_leads_somewhere(small_profile: Profile) -> None:
    text = small_profile.to_html()
    links = set(re.findall(r'class="term" href="#([^"]+)"', text))
    assert {anchor("kernel machine"), anchor("interval"), anchor("forecast")} <= links
    places = set(re.findall(r'<dt id="(term-[^"]+)"', text))
    assert links <= places == {anchor(term) for term in GLOSSARY}
    assert 'class="term"' not in str(Linker(["ridge"])("ridge"))  # a predictor of that name is no term
    assert 'class="term"' in str(Linker()("ridge"))
    for word in ("fold", "mode", "visibility", "lazy", "kernel machine", "level"):
        assert word in GLOSSARY


def test_the_pick_the_users_own_and_the_best_of_each_kind_are_shown_and_the_others_are_grey(
    small_profile: Profile,
) -> None:
    found = shown(small_profile)
    names = [one.row.name for one in found]
    assert small_profile.best.name in names
    assert names == [row.name for row in small_profile.rows if row.name in names]
    for row in small_profile.rows:
        if row.offered or (row is small_profile.best_of(row.kind) and row.kind.value != "average"):
            assert row.name in names
    assert len(found) + len(others(small_profile)) == len(small_profile.rows)
    assert len({one.colour for one in found}) == len(found)


def test_the_picture_has_every_measured_point_of_the_pick_with_its_interval(small_profile: Profile) -> None:
    spec = small_profile.charts()["curves"].to_dict()
    sets = [rows for rows in spec["datasets"].values() if rows and {"n", "low", "high", "told"} <= set(rows[0])]
    drawn = [
        row
        for rows in sets
        for row in rows
        if row["model"] == small_profile.best.name and "forecast" not in row["told"]
    ]
    curve = small_profile.best.curve
    for n, value, low, high in zip(curve.sizes, curve.measured, curve.low, curve.high, strict=True):
        (point, *_) = [row for row in drawn if row["told"].endswith(f"at {n:,} rows")]
        least = 0.5 / small_profile.n_train
        assert [point["error"], point["low"], point["high"]] == pytest.approx(
            [max(v, least) for v in (value, low, high)], rel=1e-3
        )
    ahead = [
        row for rows in sets for row in rows if row["model"] == small_profile.best.name and "forecast" in row["told"]
    ]
    assert max(row["n"] for row in ahead) == pytest.approx(10 * small_profile.to, rel=0.01)


def test_the_mistakes_are_those_of_the_tested_rows(small_profile: Profile) -> None:
    row = next(r for r in small_profile.rows if _page_mistakes.tested(small_profile, r) is not None)
    found = _page_mistakes.mistakes(small_profile)
    index, outputs = _page_mistakes.tested(small_profile, row)  # type: ignore[misc]
    truth = small_profile.race.problem.y[index]
    wrong = int((outputs.values != truth).sum())
    assert found is not None
    assert f"{wrong} of {len(index)} wrong" in found.text
    counts = np.array([[int(v.replace("·", "0")) for v in line[1:-1]] for line in found.classes])
    assert counts.sum() == len(index)
    assert counts.sum() - counts.trace() == wrong
    assert {int(line[0]) for line in found.rows} <= set(index[outputs.values != truth].tolist())


def test_a_profile_prints_about_25_lines_of_92_columns_and_80_on_request(small_profile: Profile) -> None:
    lines = str(small_profile).splitlines()
    assert 12 <= len(lines) <= 32
    assert max(map(len, lines)) <= 92
    assert small_profile.best.name in str(small_profile)
    assert "LogisticRegression" in str(small_profile)  # what the user brought is always shown
    assert "rep.build()" in " ".join(lines[-2:])
    assert repr(small_profile).startswith("Profile(")
    narrow = as_text(small_profile, 80, len(small_profile.rows)).splitlines()
    assert max(map(len, narrow)) <= 80
    for row in small_profile.rows:  # intervals are on one line
        assert any(small_profile.metric.span(row.estimate) in line for line in narrow)


def test_json_has_every_trial_and_csv_too(small_profile: Profile) -> None:
    found = json.loads(small_profile.to_json())
    assert [row["name"] for row in found["rows"]] == [row.name for row in small_profile.rows]
    for row in found["rows"]:
        record = small_profile.race.records[row["name"]]
        trials = {(t["rung"], t["fold"]): t for t in row["trials"]}
        for rung, by_fold in record.trials.items():
            for fold, trial in by_fold.items():
                told = trials.pop((small_profile.race.ladder.sizes[rung], fold))
                assert told["error"] == trial.measured.value
                assert told["test_rows"] == len(trial.measured.influence)
                assert told["seconds"] == trial.seconds
        assert trials == {}
    lines = pd.read_csv(io.StringIO(as_csv(small_profile)))
    assert len(lines) == sum(len(row["trials"]) for row in found["rows"])
    assert _safe("=cmd()") == "'=cmd()"
    assert not lines["predictor"].str.startswith("=").any()
