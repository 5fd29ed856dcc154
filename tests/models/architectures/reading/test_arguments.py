"""Calls with arguments away from their defaults: read for what they do (the reading compares itself with the module), or refused.

Where the comparison could not tell, the layers that were read are looked up.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from priorscope.models import AvgPool, Dropout, Flatten, GeneralAvgPool, Scale, ZeroPad, from_module

FLAT, LINE, IMAGE = (4,), (2, 8), (2, 6, 8)


class Fn(nn.Module):
    """A dense or convolutional layer, the call, and a readout of as many numbers as are left."""

    def __init__(self, call: Callable[[Tensor], Tensor], shape: tuple[int, ...]) -> None:
        super().__init__()
        torch.manual_seed(0)
        kinds = {1: lambda: nn.Linear(4, 8), 2: lambda: nn.Conv1d(2, 3, 3), 3: lambda: nn.Conv2d(2, 3, 3)}
        self.first = kinds[len(shape)]()
        self.call = call
        with torch.no_grad():
            size = call(self.first(torch.zeros(2, *shape))).flatten(1).shape[1]
        self.last = nn.Linear(size, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.call(self.first(x)).flatten(1))


READ = {
    "gelu by tanh": (lambda h: F.gelu(h, approximate="tanh"), FLAT),
    "softplus, steep and early": (lambda h: F.softplus(h, 2.0, 0.5), FLAT),
    "softplus, early": (lambda h: F.softplus(h, threshold=0.1), FLAT),
    "elu": (lambda h: F.elu(h, 0.3), FLAT),
    "celu": (lambda h: F.celu(h, 0.3), FLAT),
    "hardtanh": (lambda h: F.hardtanh(h, -0.3, 0.2), FLAT),
    "leaky relu": (lambda h: F.leaky_relu(h, 0.3), FLAT),
    "square": (torch.square, FLAT),
    "third power": (lambda h: h**3, FLAT),
    "first power": (lambda h: F.relu(h) ** 1, FLAT),
    "clamp from below": (lambda h: h.clamp(min=0), FLAT),
    "negative": (lambda h: -F.relu(h), FLAT),
    "a constant added with alpha": (lambda h: torch.add(h, 0.5, alpha=3), FLAT),
    "a constant minus": (lambda h: 0.7 - h, FLAT),
    "division": (lambda h: F.relu(h) / 4, FLAT),
    "padded line": (lambda h: F.pad(h, (1, 2)), LINE),
    "padded image, one axis": (lambda h: F.pad(h, (1, 2)), IMAGE),
    "padded image": (lambda h: F.pad(h, (1, 0, 2, 1)), IMAGE),
    "flatten by negative axes": (lambda h: h.flatten(-3, -1), IMAGE),
    "flatten of pixels": (lambda h: h.flatten(2).mean(2), IMAGE),
    "view to rows": (lambda h: h.view(h.shape[0], -1), LINE),
    "view by numbers": (lambda h: h.view(-1, 18), LINE),
    "reshape by a tuple": (lambda h: h.reshape((h.shape[0], 18)), LINE),
    "reshape to itself": (lambda h: F.relu(h.reshape(h.shape[0], 3, 6)), LINE),
    "reshape to itself by minus one": (lambda h: F.relu(torch.reshape(h, (-1, 3, 6))), LINE),
    "squeeze of what is left": (lambda h: F.adaptive_avg_pool1d(h, 1).squeeze(), LINE),
    "squeeze of one axis": (lambda h: F.adaptive_avg_pool1d(h, 1).squeeze(-1), LINE),
    "squeeze of nothing": (lambda h: F.relu(h.squeeze(-1)), LINE),
    "mean over pixels by a list": (lambda h: h.mean([2, 3]), IMAGE),
    "sum over pixels": (lambda h: h.sum((-1, -2)), IMAGE),
    "pool": (lambda h: F.avg_pool2d(h, 2), IMAGE),
    "pool with a stride": (lambda h: F.avg_pool2d(h, 2, 1), IMAGE),
    "pool of unlike sides": (lambda h: F.avg_pool2d(h, (2, 3), (1, 2)), IMAGE),
    "pool of unlike steps": (lambda h: F.avg_pool2d(h, 2, (1, 2)), IMAGE),
    "pool with edges": (lambda h: F.avg_pool2d(h, 3, 2, 1), IMAGE),
    "pool with edges not counted": (lambda h: F.avg_pool2d(h, 3, 2, 1, count_include_pad=False), IMAGE),
    "pool divided by five": (lambda h: F.avg_pool2d(h, 2, divisor_override=5), IMAGE),
    "pool with edges divided by five": (
        lambda h: F.avg_pool2d(h, 3, 2, 1, count_include_pad=False, divisor_override=5),
        IMAGE,
    ),
    "pool by a list of one": (lambda h: F.avg_pool1d(h, (2,), (2,)), LINE),
    "concatenated": (lambda h: torch.cat([F.relu(h), h], 1), FLAT),
    "concatenated by a negative axis": (lambda h: torch.cat([F.relu(h), h], -1), FLAT),
}


@pytest.mark.parametrize("name", READ)
def test_read_for_what_it_does(name: str) -> None:
    call, shape = READ[name]
    module = Fn(call, shape).double()
    assert from_module(
        module, shape
    ).layers  # outputs and gradients of what was read are those of the module, or it raises


def test_what_the_comparison_cannot_tell():
    """Dropout is switched off while outputs are compared; pools of one size are told by their layer."""

    def layers(call, shape):
        return from_module(Fn(call, shape), shape).layers

    def of(kind, found):
        return [layer for layer in found if isinstance(layer, kind)]

    for training, p, there in ((True, 0.3, 1), (False, 0.3, 0), (True, 0.0, 0)):
        for call, shape, whole in ((F.dropout, FLAT, False), (F.dropout2d, IMAGE, True), (F.dropout1d, LINE, True)):
            found = of(Dropout, layers(lambda h: call(h, p, training), shape))  # noqa: B023
            assert len(found) == there
            assert [(d.rate, d.whole_channels) for d in found] == [(0.3, whole)] * there
    assert of(AvgPool, layers(lambda h: F.avg_pool2d(h, 2, 1), IMAGE)) == [AvgPool(2, 1)]
    assert len(of(GeneralAvgPool, layers(lambda h: F.avg_pool2d(h, (2, 3)), IMAGE))) == 1
    assert of(ZeroPad, layers(lambda h: F.pad(h, (1, 2)), IMAGE)) == [ZeroPad(((0, 0), (1, 2)))]
    assert not of(Scale, layers(lambda h: F.avg_pool2d(h, 2), IMAGE))
    assert len(of(Flatten, layers(lambda h: h.view(h.shape[0], -1), LINE))) >= 1


REFUSED = {
    "a root": (lambda h: h**0.5, FLAT, "the power 0.5"),
    "an inverse": (lambda h: h**-1, FLAT, "the power -1"),
    "a power between": (lambda h: h**2.5, FLAT, "the power 2.5"),
    "a constant": (lambda h: h**0, FLAT, "the power 0"),
    "a cut": (lambda h: F.pad(h, (-1, 1)), LINE, "not cutting"),
    "ones around": (lambda h: F.pad(h, (1, 1), value=1.0), LINE, "only with zeros"),
    "mirrors around": (lambda h: F.pad(h, (1, 1), mode="reflect"), LINE, "only with zeros"),
    "padded features": (lambda h: F.pad(h, (1, 1)), FLAT, "only of pixels"),
    "padded channels": (lambda h: F.pad(h, (1, 1, 1, 1)), LINE, "only of pixels"),
    "flatten of some": (lambda h: h.flatten(1, 2), IMAGE, "flatten from axis 1 to 2"),
    "division by zero": (lambda h: h / 0, FLAT, "a division by zero"),
    "division of a constant": (lambda h: 1 / h, FLAT, "not by a constant"),
    "along the batch": (lambda h: torch.cat([h, h], 0)[:2], FLAT, "along axis 0"),
    "a grid left": (lambda h: F.adaptive_avg_pool2d(h, 2), IMAGE, "only to 1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(name: str) -> None:
    call, shape, message = REFUSED[name]
    with pytest.raises((NotImplementedError, ValueError), match=message):
        from_module(Fn(call, shape), shape)


class Two(nn.Module):
    """Two layers of one input, joined by a call, with a table of numbers that is not trained."""

    def __init__(self, call: Callable[..., Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.last = nn.Linear(4, 8), nn.Linear(4, 8), nn.Linear(8, 1)
        self.register_buffer("even", torch.full((8,), 0.7))
        self.register_buffer("table", torch.arange(8.0))
        self.call = call

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.call(self, F.relu(self.a(x)), self.b(x)))


@pytest.mark.parametrize(
    "call",
    [
        lambda s, f, g: torch.add(f, g, alpha=0.5),
        lambda s, f, g: torch.add(g, f, alpha=2),
        lambda s, f, g: torch.sub(f, g, alpha=0.5),
        lambda s, f, g: f - g,
        lambda s, f, g: f * s.even,
        lambda s, f, g: s.even * f,
        lambda s, f, g: f * g,
    ],
)
def test_two_branches_joined(call) -> None:
    assert from_module(Two(call), FLAT).layers


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, f, g: f * s.table, "a tensor whose numbers differ"),
        (lambda s, f, g: f / g, "not by a constant"),
        (lambda s, f, g: f * s.last.weight[0], "parameter|the operation"),
        (lambda s, f, g: torch.cat([f, g], 0)[:2], "along axis 0"),
    ],
)
def test_two_branches_that_cannot_be_joined(call, message) -> None:
    with pytest.raises((NotImplementedError, ValueError), match=message):
        from_module(Two(call), FLAT)
