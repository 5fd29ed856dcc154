"""Programs of the fused path are kept for the next kernel of the same architecture, where nothing in it can change."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import torch
from torch import nn

from priorscope import models
from priorscope.models import Activation, Architecture, Dense, Quadrature, Scale, fcn, gap, vec
from priorscope.models.kernels import _plan
from priorscope.models.kernels._plan import plan_or_reason


@pytest.mark.parametrize("make", [fcn, vec, gap])
def test_the_program_of_an_equal_architecture_and_shape_is_kept(make):
    shape = (3,) if make is fcn else (2, 4, 4)
    kept = plan_or_reason(make(depth=2), shape)
    assert plan_or_reason(make(depth=2), shape) is kept
    others = [make(depth=3), make(depth=2, weight_variance=1.5), make(depth=2, activation="erf")]
    assert all(plan_or_reason(other, shape) is not kept for other in others)
    assert plan_or_reason(make(depth=2), (4,) if make is fcn else (2, 5, 5)) is not kept


def test_every_named_architecture_is_made_of_values():
    assert all(_plan._of_values(models.NAMED[name]()) for name in ("fcn", "lcn", "vec", "lap", "gap"))


def test_a_kernel_follows_a_module_that_changes():
    bend = nn.PReLU(init=0.1).double()
    arch = Architecture("own", (Dense(), Activation(Quadrature(bend, tolerance=0.05)), Dense()))
    assert not _plan._of_values(arch)
    x = torch.eye(3, dtype=torch.float64)
    before = arch.kernel(x).nngp
    with torch.no_grad():
        bend.weight.fill_(0.9)
    after = arch.kernel(x).nngp  # E[phi^2] = (1 + a^2) / 2 at unit variance
    torch.testing.assert_close(
        (after / before).diagonal(), torch.full((3,), 1.81 / 1.01, dtype=torch.float64), rtol=1e-3, atol=0
    )


def test_what_may_change_is_not_kept():
    class Derived(Scale):
        """More than a record: its attributes are not among the fields."""

    @dataclass
    class Loose:
        value: float = 1.0
        __hash__ = object.__hash__

    assert _plan._of_values(Scale(2.0))
    assert not _plan._of_values(Derived(2.0))
    assert not _plan._of_values(Loose())
    assert not _plan._of_values((1, torch.tanh))


def test_a_layer_that_cannot_be_hashed_has_its_kernel():
    @dataclass(frozen=True)
    class Listed(Scale):
        """A layer with a list among its fields."""

        notes: list[str] = field(default_factory=list)

    with pytest.raises(TypeError, match="unhashable"):
        hash(Listed(2.0))
    x = torch.eye(3)
    found = Architecture("listed", (Dense(), Listed(2.0), Dense())).kernel(x)
    torch.testing.assert_close(found.ntk, Architecture("plain", (Dense(), Scale(2.0), Dense())).kernel(x).ntk)
