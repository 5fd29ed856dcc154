"""A section's finding reaches the warnings, the JSON and the page; one that fails becomes a note, one that does not fit waits."""

from __future__ import annotations

import json

import pytest
import torch

import priorscope as ps
from priorscope.profiles import Finding, Folded, Section, register_section


class Seen(Finding):
    def __init__(self, scene):
        self.n, self.first, self.left = len(scene.pilot), scene.rows[0].name, scene.seconds

    def sentences(self):
        return [f"Looked at {self.n} samples."]

    def warnings(self):
        return ["eyes may tire"]

    def plain(self):
        return {"n": self.n, "first": self.first}

    def page(self, figure):
        return Folded("seen", "What was seen", self.sentences())


def refuse(scene):
    raise KeyError("colours")


@pytest.fixture(scope="module")
def report():
    forget = [
        register_section(Section("seen", Seen, work=0.01)),
        register_section(Section("grey", refuse, work=0.01)),
        register_section(Section("endless", Seen, work=1e6)),
        register_section(Section("nothing_here", Seen, fits=lambda scene: False)),
    ]
    x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
    try:
        yield ps.profile(x, x[:, 0] * x[:, 1], candidates=["fcn-1"], budget=20)
    finally:
        for one in forget:
            one()


def test_a_finding_is_told(report):
    assert report.findings["seen"].n == 80
    assert report.findings["seen"].left > 0
    assert "eyes may tire" in report.warnings
    assert "What was seen" in report.to_html()
    assert json.dumps({"n": 80, "first": "fcn-1"})[1:-1] in json.dumps(json.loads(report.to_json()))


def test_what_fails_or_takes_too_long_is_told_and_nothing_else_is_lost(report):
    assert "grey: not measured ('colours')" in report.notes
    assert any("left out for want of time" in note and "endless" in note for note in report.notes)
    assert not {"grey", "endless", "nothing_here"} & set(report.findings)
    assert not any("nothing here" in note for note in report.notes)
    assert {"features", "equivariance"} <= set(report.findings)
    assert report.candidates[0].name == "fcn-1"
    assert report.candidates[0].regime is not None


def test_nothing_of_it_without_deep():
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    rep = ps.profile(x, x[:, 0], candidates=["fcn-1"], budget=2, deep=False)
    assert (rep.findings, rep.candidates, rep.data_symmetries) == ({}, (), ())


def test_two_sections_of_one_name_are_refused():
    with pytest.raises(ValueError, match="there is a section named 'exponents' already"):
        register_section(Section("exponents", Seen))
