"""The profile tells the dimension of the data and the exponent of each kernel machine, in words, numbers and on the page."""

from __future__ import annotations

import pytest
import torch

import priorscope as ps
from priorscope.profiles._architecture import measure_architecture
from priorscope.profiles._scene import Scene
from priorscope.profiles.sections._exponents import EXPONENTS


def scene_of(n):
    x = ps.data.sphere(n, 3, seed=0)
    wide = torch.cat([x, x @ torch.randn(3, 4, generator=torch.Generator().manual_seed(1))], 1)
    rep = ps.profile(wide, (3 * x[:, 0]).sin(), candidates=["fcn-1", "laplace"], deep=False, budget=3)
    plain = Scene.of(rep.race, rep.rows, 300, None)
    candidates = [rep.race.records[name].contender.candidate for name in ("fcn-1", "laplace")]
    grams = {c.name: measure_architecture(c, plain, 5.0)[1] for c in candidates}
    return Scene.of(rep.race, rep.rows, 300, None), grams


def test_the_dimension_and_one_sentence_per_kernel_machine():
    from dataclasses import replace

    plain, grams = scene_of(150)
    assert EXPONENTS.measure(plain) is None  # no kernels, nothing to say
    found = EXPONENTS.measure(replace(plain, grams=grams))
    first, *rest = found.sentences()
    assert first.startswith("The data look 2-dimensional (of 7 numbers per input)")
    assert {line.partition(":")[0] for line in rest} == {"fcn-1", "laplace"}
    assert all("the error should fall about like n^-" in line for line in rest)
    told = found.plain()
    assert told["dimension"] == pytest.approx(2, rel=0.15)
    assert len(told["exponents"]) == 2
    assert "its smoothness would allow" in found.page(None).tables[0].columns


def test_few_samples_say_nothing():
    x = torch.randn(60, 3, generator=torch.Generator().manual_seed(0))
    rep = ps.profile(x, x[:, 0], candidates=["fcn-1"], deep=False, budget=2)
    assert not EXPONENTS.fits(Scene.of(rep.race, rep.rows, 300, None))
