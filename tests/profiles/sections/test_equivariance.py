"""How outputs change under moves: the probe's numbers, in the words, the JSON and the table of symmetries."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope.data.groups import Move
from priorscope.probes import equivariance
from priorscope.profiles.sections import MovedOutputs


class Pooled(nn.Module):
    """Circular convolutions and the mean over pixels: invariant to shifts; a filter of its own knows left from right."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(1, 6, 3, padding=1, padding_mode="circular")
        self.head = nn.Linear(6, 1)

    def forward(self, x):
        return self.head(self.conv(x).relu().mean((2, 3)))


@pytest.fixture(scope="module")
def profile():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(80, 1, 8, 8, generator=generator)
    y = (x * x.roll(1, -1)).mean((1, 2, 3)) > 0  # invariant to shifts
    return ps.profile(x, y.long(), candidates=["gap-1", "fcn-1", "laplace", Pooled()], budget=30)


def test_the_users_module_is_asked_as_it_came(profile):
    found = profile.findings["equivariance"]
    assert isinstance(found, MovedOutputs)
    one = next(model for model in found.models if model.draws == 0)
    assert {"shift by 1", "shift by 1 down", "shift by a quarter"} <= set(one.blind)
    assert "mirror" not in one.blind
    assert "quarter turn" not in one.blind


def test_errors_are_the_definition_on_the_same_samples():
    from priorscope.profiles._user_model import user_candidate
    from priorscope.profiles.sections._equivariance import moved_outputs

    x = torch.randn(7, 1, 8, 8, generator=torch.Generator().manual_seed(3))
    net = Pooled().double()
    one = moved_outputs(user_candidate(Pooled(), "mine", (1, 8, 8), 1, x), x, [Move.MIRROR, Move.SHIFT], 1, 0)
    plain, moved = (net(z.double()).detach() for z in (x, x.flip(-1)))
    gap = plain - moved
    wanted = float(gap.std(correction=0) + gap.mean().abs()) / float(plain.std())
    assert one.errors[Move.MIRROR] == pytest.approx(wanted, rel=1e-6)
    assert wanted > 0.01
    assert one.errors[Move.SHIFT] < 1e-10


def test_named_architectures_have_the_symmetries_of_their_layers(profile):
    errors = {model.name: model.errors for model in profile.findings["equivariance"].models}
    gap = next(errors[name] for name in errors if name.startswith("gap"))
    fcn = next(errors[name] for name in errors if name.startswith("fcn"))
    assert gap[Move.SHIFT] < 1e-10
    assert fcn[Move.SHIFT] > 0.1
    assert gap[Move.MIRROR] > 0.01  # a network of finite width knows left from right
    assert not any(name.startswith(("laplace", "gaussian")) for name in errors)  # they have no networks


def test_words_agree_with_the_figures(profile):
    found = profile.findings["equivariance"]
    for model in found.models:
        said = model.sentence(found.n)
        assert f"{found.n} samples" in said
        seen = {move: error for move, error in model.errors.items() if error > 1e-10}
        worst = max(seen, key=seen.get)
        assert f"{worst} (Δ = {seen[worst]:.2g})" in said
        assert all(move in said for move in model.blind)
    mine = next(model for model in found.models if model.draws == 0)
    assert mine.sentence(found.n) in found.own
    assert "Equivariance error Δ of the outputs" in found.table().caption
    assert found.plain()["samples"] == found.n


def test_a_single_move_is_a_question_of_the_probe():
    x = torch.randn(6, 1, 8, 8, generator=torch.Generator().manual_seed(2))
    net = Pooled()
    assert equivariance(net, Move.SHIFT, x, dtypes=("float64",)).equivariant
    assert not equivariance(net, Move.MIRROR, x, dtypes=("float64",)).equivariant
    assert equivariance(nn.ReLU(), Move.QUARTER_TURN, x, dtypes=("float64",)).error == 0.0
    with pytest.raises(ValueError, match="does not fit inputs of shape"):
        equivariance(net, Move.QUARTER_TURN, x[..., :6])
    with pytest.raises(ValueError, match="cannot be known"):
        equivariance(nn.MaxPool2d(2), Move.SHIFT, x)
