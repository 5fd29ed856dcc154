"""Profiles of data whose best architecture is known, and of awkward data."""

from __future__ import annotations

import json

import pytest
import torch

import priorscope as ps
from priorscope.probes.curves.pilot import prepare
from priorscope.profiles import Profile
from priorscope.profiles._candidates import default_candidates
from priorscope.profiles._own import own_contenders
from priorscope.profiles._problem import problem_of


def test_translation_invariant_labels_want_pooling(small_profile: Profile) -> None:
    rows = {row.architecture: row for row in small_profile.rows if row.architecture}
    pooled = next(row for name, row in rows.items() if name != "fcn-1")
    assert pooled.now[1].value < rows["fcn-1"].now[1].value
    assert small_profile.rows.index(pooled) < small_profile.rows.index(rows["fcn-1"])


def test_json_is_strict_and_whole(small_profile: Profile) -> None:
    found = json.loads(small_profile.to_json())
    assert [c["name"] for c in found["candidates"]] == [c.name for c in small_profile.candidates]
    assert [r["name"] for r in found["rows"]] == [r.name for r in small_profile.rows]
    assert {r["kind"] for r in found["rows"]} >= {"kernel machine", "classical model", "your model"}
    assert found["verdict"][0].startswith("Use the ")
    assert {"data_symmetries", "warnings", "notes", "metric", "to"} <= set(found)


def test_notebook_view_escapes(small_profile: Profile) -> None:
    text = small_profile._repr_html_()
    assert "<img" not in text
    assert "&lt;img" in text


def test_preparation_is_said() -> None:
    x = torch.randn(50, 3, 28, 28, generator=torch.Generator().manual_seed(0))
    ready = prepare(ps.data.from_arrays(x, x.mean((1, 2, 3))), 20)
    assert ready.data.input_shape == (3, 14, 14)
    assert ready.pilot == 20
    text = " ".join(ready.notes)
    for words in ("28×28 to 14×14", "standardised", "20 of 40"):
        assert words in text
    assert float(ready.data.targets.mean().abs()) < 1e-5
    with pytest.raises(ValueError, match="at least 10 samples"):
        prepare(ps.data.digits(), 3)


def test_flat_features_leave_convolutions_out_and_signals_do_not() -> None:
    names, notes = default_candidates((5,))
    assert [c.family for c in names] == ["fcn", "fcn", "laplace", "gaussian"]
    assert "left out" in notes[0]
    assert {c.family for c in default_candidates((2, 16))[0]} == {"fcn", "laplace", "gaussian", "vec", "lap", "gap"}
    assert "left out" in default_candidates((1, 2, 2))[1][0]


def test_twelve_samples_are_enough_to_answer_with_a_warning() -> None:
    x = torch.randn(12, 3, generator=torch.Generator().manual_seed(0))
    result = ps.profile(ps.data.from_arrays(x, x[:, 0], test_fraction=0.0), deep=False, budget=4, trials=False)
    assert "12 rows" in " ".join(result.warnings)
    with pytest.raises(ValueError, match="at least 4 rows"):
        ps.profile(ps.data.from_arrays(x[:3], x[:3, 0], test_fraction=0.0), deep=False)


def test_models_from_text_and_objects() -> None:
    x = torch.randn(20, 1, 6, 6, generator=torch.Generator().manual_seed(0))
    problem = problem_of(ps.data.from_arrays(x, x[:, 0, 0, 0], test_fraction=0.0), None)
    assert own_contenders("priorscope.models:gap", problem)[0].curve == "kernel"  # a factory of an architecture
    assert own_contenders(lambda outputs: torch.nn.Linear(3, outputs), problem)[0].curve == "network"
    assert own_contenders("vec-2", problem)[0].name == "vec-2"
    with pytest.raises(ValueError, match=r"package\.module:factory"):
        own_contenders("nothing", problem)
    with pytest.raises(ValueError, match="cannot import 'no_such_package_here'"):
        own_contenders("no_such_package_here:factory", problem)
    with pytest.raises(ValueError, match="has no"):
        own_contenders("priorscope.models:nothing", problem)
    with pytest.raises(TypeError, match="Architecture, an nn.Module"):
        own_contenders(3, problem)
    with pytest.raises(ValueError, match="at least one candidate"):
        ps.profile(ps.data.digits(), candidates=[])
