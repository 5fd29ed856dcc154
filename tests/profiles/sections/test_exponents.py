"""The profile tells the dimension of the data and the exponent of each kernel machine, in words, numbers and on the page."""

from __future__ import annotations

import json

import pytest
import torch

import priorscope as ps


@pytest.fixture(scope="module")
def report():
    x = ps.data.sphere(150, 3, seed=0)
    wide = torch.cat([x, x @ torch.randn(3, 4, generator=torch.Generator().manual_seed(1))], 1)
    return ps.profile(wide, (3 * x[:, 0]).sin(), deep=False, trials=False, classical=False)


def test_the_dimension_and_one_sentence_per_kernel_machine(report):
    first, *rest = report.expectations()
    assert first.startswith("The data look 2-dimensional (of 7 numbers per input)")
    assert {line.partition(":")[0] for line in rest} == {c.name for c in report.candidates}
    assert all("the error should fall about like n^-" in line for line in rest)


def test_numbers_in_json_and_on_the_page(report):
    told = json.loads(report.to_json())["sections"]["exponents"]
    assert told["dimension"] == pytest.approx(2, rel=0.15)
    assert len(told["exponents"]) == len(report.candidates)
    page = report.to_html()
    assert "The data look 2-dimensional" in page
    assert "its smoothness would allow" in page


def test_few_samples_say_nothing():
    x = torch.randn(60, 3, generator=torch.Generator().manual_seed(0))
    report = ps.profile(x, x[:, 0], deep=False, trials=False, classical=False)
    assert report.exponents is None
    assert report.expectations() == []
    assert "exponents" not in json.loads(report.to_json())["sections"]
