"""A symmetry is broken by any one element, whichever comes last."""

import pytest
import torch

import priorscope as ps
from priorscope.data import groups
from priorscope.probes.symmetries import _symmetry

SHAPE = (1, 4, 4)


def system(inference):
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(24, *s, generator=generator) for s in (SHAPE, (1,)))
    data = ps.data.Dataset(ps.data.Split(x[:16], y[:16]), ps.data.Split(x[16:], y[16:]), name="noise")
    return ps.System(data, ps.models.gap(depth=1), inference, width=4)


@pytest.mark.parametrize("breaker_first", [True, False])
@pytest.mark.parametrize("test", ["coupling", "kernel"])
def test_the_largest_change_of_all_elements_counts(monkeypatch, breaker_first, test):
    descent = ps.inference.GradientDescent(learning_rate=0.5, steps=20)
    one = system(descent if test == "coupling" else ps.inference.KernelRegression())
    group = groups.permutation(SHAPE)
    breaker, fine = group.sample_haar(0), groups.translations(SHAPE).sample_haar(1)
    assert not torch.equal(fine(one.data.inputs), one.data.inputs)  # the same to circular convolutions that are pooled

    def found(elements):
        monkeypatch.setattr(_symmetry, "moving_elements", lambda *_: elements)
        return ps.probes.symmetry(one, group, test=test, n_elements=len(elements))

    alone, harmless = found([breaker]), found([fine])
    assert harmless.change < 1e-6 < 1e-3 < alone.change
    both = found([breaker, fine] if breaker_first else [fine, breaker])
    assert both.change == pytest.approx(alone.change, rel=1e-9)
    assert not both.invariant
    assert both.n_elements == 2
