"""A layer's own tangent forms against automatic differentiation of its module, and who may say them."""

from __future__ import annotations

import pytest
import torch

from priorscope.contracts import own
from priorscope.models import Build, Conv, Dense, LocallyConnected
from priorscope.probes.tangent._layers import differentiated, layer_forms

CASES = [
    (Dense(2.0, 0.3), (5,)),
    (Dense(2.0, 0.3), (3, 4, 4)),
    (Conv(3, 2, "zeros", 2.0, 0.3), (3, 7)),
    (Conv(3, 1, "circular", 2.0, 0.3), (2, 4, 4)),
    (Conv(2, 1, "valid", 2.0, 0.0), (2, 4, 4)),
    (LocallyConnected(3, 2, "zeros", 2.0, 0.3), (3, 7)),
    (LocallyConnected(3, 1, "circular", 2.0, 0.3), (2, 4, 4)),
]


def build() -> Build:
    return Build(torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize(("layer", "shape"), CASES, ids=lambda v: repr(v)[:40])
@pytest.mark.parametrize("outputs", ["sum", "full", "logit"])
def test_a_layer_says_the_gradient_that_differentiation_finds(layer, shape, outputs):
    module = layer.module(shape, 4, build())
    assert own(module, "tangent_forms")
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(3, *shape, generator=generator, dtype=torch.float64)
    deltas = torch.randn(3, 2, *module(x).shape[1:], generator=generator, dtype=torch.float64)
    names = tuple(name for name, _ in module.named_parameters())
    said, found = layer_forms(module, x, deltas, names), differentiated(module, x, deltas, names)
    for name in names:
        left, right = said[name].gram(said[name], outputs), found[name].gram(found[name], outputs)
        torch.testing.assert_close(left, right, rtol=1e-12, atol=1e-12)
        written = said[name].explicit().gram(said[name].explicit(), outputs)  # the factors multiplied out
        torch.testing.assert_close(left, written, rtol=1e-12, atol=1e-12)
    assert not torch.allclose(said[names[0]].gram(said[names[0]], outputs), 2 * left)


def test_a_subclass_does_not_inherit_the_word_of_its_parent():
    dense = Dense().module((3,), 2, build())

    class Doubled(type(dense)):
        def forward(self, x):
            return 2 * super().forward(x)

    doubled = Doubled(3, 2, Dense(), build())
    assert not own(doubled, "tangent_forms")
    x, deltas = torch.eye(3, dtype=torch.float64), torch.ones(3, 1, 2, dtype=torch.float64)
    one, two = (layer_forms(m, x, deltas, ("weight",))["weight"] for m in (dense, doubled))
    torch.testing.assert_close(two.gram(two, "sum"), 4 * one.gram(one, "sum"))
