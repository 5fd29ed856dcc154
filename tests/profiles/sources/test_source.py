"""Sources add rows to the table: models with a kernel and estimators alike, measured, built and written as all others."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from sklearn.kernel_ridge import KernelRidge

import priorscope as ps
from priorscope.profiles import Candidate, EstimatorOffer, Kind, Source, register_source
from priorscope.profiles.sources import SOURCES

asked = []


class Product:
    """The kernel of the target itself, x0 x1: no other can do as well."""

    def kernel(self, x1, x2=None, *, kinds=("ntk",)):
        x2 = x1 if x2 is None else x2
        rough = torch.exp(-torch.cdist(x1, x2))  # a little of it keeps the matrix invertible
        return ps.models.Kernel(ntk=torch.outer(x1[:, 0] * x1[:, 1], x2[:, 0] * x2[:, 1]) + 1e-4 * rough)


def offer(scene):
    asked.append(scene)
    own = Candidate("product", Product(), "product", "the product of two inputs", code="Product()")
    return [
        own,
        EstimatorOffer("quadratic", "squares", (KernelRidge(kernel="poly", degree=2),), like=scene.leading.name),
    ]


@pytest.fixture(scope="module")
def report():
    forget = register_source(Source("own", offer))
    x = torch.randn(120, 3, generator=torch.Generator().manual_seed(0))
    try:
        yield ps.profile(x, x[:, 0] * x[:, 1], deep=False, trials=False, classical=False), x
    finally:
        forget()


def test_offered_rows_stand_in_the_table(report):
    rep, _ = report
    assert rep.best.name == "product"
    assert rep.best.estimate.value < 0.5 * rep.rows[1].estimate.value
    added = next(row for row in rep.rows if row.name == "quadratic")
    assert added.kind is Kind.KERNEL
    assert added.architecture in {c.name for c in rep.candidates}
    names = {row["name"] for row in json.loads(rep.to_json())["rows"]}
    assert {"product", "quadratic"} <= names


def test_a_source_sees_what_was_measured_before_it(report):
    rep, _ = report
    scene = asked[0]
    assert scene.leading is not None
    assert any(row.name == f"{scene.leading.candidate.family}-1-erf" or "-erf" in row.name for row in scene.rows)
    assert [row.estimate.value for row in scene.rows] == sorted(row.estimate.value for row in scene.rows)
    assert scene.to == rep.to


def test_offered_rows_are_built_and_written(report):
    rep, x = report
    assert "ps.KernelMachine(Product()" in rep.code()
    model = rep.build("kernel").fit(x, x[:, 0] * x[:, 1])
    assert np.abs(model.predict(x[:5]) - (x[:5, 0] * x[:5, 1]).numpy()).max() < 0.05


def test_named_candidates_ask_no_source(report):
    _, x = report
    before = len(asked)
    rep = ps.profile(x, x[:, 0], candidates=[ps.models.fcn(1)], deep=False, trials=False)
    assert len(asked) == before
    assert len(rep.rows) == 1


def test_two_sources_of_one_name_are_refused():
    with pytest.raises(ValueError, match="there is a source named 'nonlinearities' already"):
        register_source(Source("nonlinearities", offer))
    assert "own" not in SOURCES or SOURCES["own"].offer is offer
