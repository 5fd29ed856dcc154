"""A section's finding reaches the sentences, the warnings, the JSON and the page; one that refuses becomes a note."""

from __future__ import annotations

import json

import pytest
import torch

import priorscope as ps
from priorscope.profiles import Finding, Folded, Section, register_section


class Seen(Finding):
    def __init__(self, scene):
        self.n, self.first = len(scene.view.pilot), scene.rows[0].name

    def sentences(self):
        return [f"Looked at {self.n} samples."]

    def spoken(self):
        return self.sentences()

    def warnings(self):
        return ["eyes may tire"]

    def plain(self):
        return {"n": self.n, "first": self.first}

    def page(self, figure):
        return Folded("seen", "What was seen", self.sentences())


def refuse(scene):
    raise ValueError("needs colours; got grey. Give colours")


@pytest.fixture(scope="module")
def report():
    forget = [
        register_section(Section("seen", Seen)),
        register_section(Section("grey", refuse)),
        register_section(Section("far-down", Seen, deep=True)),
    ]
    x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
    try:
        return ps.profile(x, x[:, 0] * x[:, 1], deep=False, trials=False, classical=False)
    finally:
        for one in forget:
            one()


def test_a_finding_is_told_everywhere(report):
    assert report.verdict()[-1] == "Looked at 80 samples."
    assert "eyes may tire" in report.warnings
    assert json.loads(report.to_json())["sections"]["seen"] == {"n": 80, "first": report.best.name}
    page = report.to_html()
    assert "What was seen" in page
    assert "eyes may tire" in page


def test_what_refuses_is_told_and_deep_sections_wait(report):
    assert "grey: not measured (needs colours; got grey. Give colours)" in report.notes
    assert "seen" in report.findings
    assert not {"grey", "far-down"} & set(report.findings)


def test_two_sections_of_one_name_are_refused():
    with pytest.raises(ValueError, match="there is a section named 'exponents' already"):
        register_section(Section("exponents", Seen))
