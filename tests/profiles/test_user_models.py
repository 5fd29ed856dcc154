"""Networks of the user: how they are built, made to fit the data, and what a profile says of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope.models import UserNetwork, load
from priorscope.profiles._candidates import default_candidates, named_candidate, variations
from priorscope.profiles._network import network_symmetries
from priorscope.profiles._user_model import user_candidate


def _images(n: int = 6, side: int = 8, channels: int = 1) -> torch.Tensor:
    return torch.randn(n, channels, side, side, generator=torch.Generator().manual_seed(0))


def test_linear_network_is_the_linear_kernel() -> None:
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    data = ps.data.from_arrays(x, x[:, 0] * x[:, 1], test_fraction=0.0)
    found = ps.profile(data, candidates=[lambda input_shape, outputs: nn.Linear(*input_shape, outputs)], budget=20)
    mine = found.candidates[0]
    standard = (x - x.mean(0)) / x.std(0, correction=0)
    K = (standard @ standard.T + 1).double().numpy()  # d f/d w = x, d f/d b = 1
    wanted = np.linalg.eigvalsh(K)[::-1][:4]
    np.testing.assert_allclose(
        mine.spectrum.eigenvalues[:4] / mine.spectrum.eigenvalues[0], wanted / wanted[0], rtol=1e-4
    )
    assert mine.regime is not None
    assert mine.regime.change < 1e-6  # linear in its weights: the kernel never moves, nor does it depend on them
    assert mine.regime.spread < 1e-6
    assert mine.blind is not None
    assert mine.symmetries == {"sign flip": "equivariant"}  # K(-x, -y) = K(x, y), while K(-x, y) differs
    bent = lambda: nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))  # noqa: E731
    other = ps.profile(data, candidates=[bent], budget=20).candidates[0]
    assert other.regime is not None
    assert other.regime.change > 1e-3
    assert other.regime.spread > 1e-2


def test_batch_normalisation_keeps_the_statistics_of_the_samples() -> None:
    x = 3 + 2 * _images(32, channels=2)
    net = nn.Sequential(nn.BatchNorm2d(2, affine=False), nn.Flatten(), nn.Linear(128, 1))
    fitted = UserNetwork.fit(net, x, 1)
    seen = fitted.module[0](x)
    torch.testing.assert_close(seen.mean((0, 2, 3)), torch.zeros(2), atol=1e-4, rtol=0)
    torch.testing.assert_close(seen.std((0, 2, 3)), torch.ones(2), atol=1e-2, rtol=0)
    assert float(net.eval()[0](x).detach().mean()) > 2  # the network handed over is left as it was
    assert "batch normalisation is frozen" in " ".join(fitted.notes)
    fresh = fitted.redraw(1)
    assert not fresh.training
    assert not torch.equal(fresh.module[2].weight, fitted.module[2].weight)
    torch.testing.assert_close(fresh.module[0].running_mean, fitted.module[0].running_mean)


def test_networks_are_given_what_they_take() -> None:
    lenet = lambda: nn.Sequential(  # noqa: E731
        nn.Conv2d(3, 4, 5), nn.MaxPool2d(4), nn.Conv2d(4, 4, 5), nn.Flatten(), nn.Linear(36, 1000)
    )
    fitted = UserNetwork.fit(lenet(), _images(), 10, name="lenet")
    assert fitted.way.side == 32
    assert fitted.way.colour
    assert fitted(_images()).shape == (6, 10)
    text = " ".join(fitted.notes)
    for words in ("enlarged to side 32", "three colour channels", "has 1000 outputs; the first 10 are used"):
        assert words in text
    assert UserNetwork.fit(nn.Linear(64, 2), _images(), 10).way.flat
    assert "2 outputs where the targets have 10" in " ".join(UserNetwork.fit(nn.Linear(64, 2), _images(), 10).notes)
    plain = UserNetwork.fit(nn.Sequential(nn.Flatten(), nn.Linear(64, 1)), _images(), 1)
    assert [note.partition(": ")[2] for note in plain.notes] == [
        "a finished network, drawn again by the initial law of its parts, which its present weights do not contradict"
    ]
    factory = lambda seed: nn.Sequential(nn.Flatten(), nn.Linear(64, 1))  # noqa: E731
    assert UserNetwork.fit(factory(0), _images(), 1, build=factory).notes == ()
    with pytest.raises(ValueError, match="does not take inputs of shape 1×8×8, nor enlarged or flattened"):
        UserNetwork.fit(nn.Linear(7, 1), _images(), 1)
    with pytest.raises(ValueError, match="no parameters that require gradients"):
        UserNetwork.fit(nn.Flatten(), _images(), 1)


def test_symmetries_of_a_network() -> None:
    def net(padding: str) -> UserNetwork:
        torch.manual_seed(0)
        layers = [nn.Conv2d(1, 4, 3, padding=1, padding_mode=padding), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        return UserNetwork.fit(nn.Sequential(*layers, nn.Linear(4, 1)), _images(), 1)

    assert network_symmetries(net("circular"), _images(), None)["shift by 1"] == "invariant"
    assert network_symmetries(net("zeros"), _images(), None)["shift by 1"] != "invariant"


def test_factories_are_called_with_what_they_ask_for() -> None:
    class Net(nn.Module):
        def __init__(self, in_channels: int, num_classes: int = 7) -> None:
            super().__init__()
            self.layer = nn.Linear(16 * in_channels, num_classes)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x.flatten(1))

    made = user_candidate(Net, None, (2, 4, 4), 3)
    assert made.name == "Net"
    assert made.model(torch.zeros(1, 2, 4, 4)).shape == (1, 3)
    hidden = user_candidate(lambda **kwargs: nn.Linear(4, kwargs["num_classes"]), "hidden", (4,), 3)
    assert hidden.model(torch.zeros(1, 4)).shape == (1, 3)
    assert user_candidate(ps.models.lenet(), None, (1, 28, 28), 10).model(torch.zeros(2, 1, 28, 28)).shape == (2, 10)
    with pytest.raises(ValueError, match="wants depth, which is not known here"):
        user_candidate(lambda depth: nn.Linear(4, depth), None, (4,), 1)
    pair = user_candidate(lambda: _Pair(), None, (4,), 1).model
    assert pair(torch.zeros(3, 4)).shape == (3, 1)
    assert "gives a tuple of 2; number 1 is taken" in " ".join(pair.notes)


class _Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.layer(x), x


def test_finished_network_without_reset_has_no_spread_but_a_forecast() -> None:
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.randn(3, 1, generator=torch.Generator().manual_seed(0)))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ self.w

    x = torch.randn(30, 3, generator=torch.Generator().manual_seed(0))
    found = ps.profile(ps.data.from_arrays(x, x[:, 0], test_fraction=0.0), candidates=[Own()], budget=20)
    assert found.candidates[0].regime is not None
    assert found.candidates[0].regime.spread is None
    assert found.candidates[0].blind is None
    assert "Pass a factory seed -> Module instead" in " ".join(found.notes)


def test_a_network_of_another_law_is_not_drawn_by_torchs() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 40), nn.Tanh(), nn.Linear(40, 1))
    nn.init.normal_(net[0].weight, std=3.0)
    fitted = UserNetwork.fit(net, torch.randn(4, 8), 1)
    with pytest.raises(ValueError, match=r"'0.weight' has mean square .*by the law of Linear 0\.0417"):
        fitted.redraw(0)
    assert "its spread is not known" in fitted.notes[-1]
    library = UserNetwork.fit(ps.models.fcn(1).network((8,), width=40), torch.randn(4, 8), 1)
    assert 0.7 < float(library.redraw(1).module[1].weight.detach().square().mean()) < 1.3  # N(0, 1): ± 0.08
    assert "by the law it states" in library.notes[-1]


def test_timm_models_where_timm_is_installed() -> None:
    pytest.importorskip("timm")
    made = user_candidate(load("timm:resnet10t"), None, (1, 8, 8), 10)
    assert made.model(_images()).shape == (6, 10)
    with pytest.raises(ValueError, match="timm has no model 'resnet_18'"):
        user_candidate(load("timm:resnet_18"), None, (1, 8, 8), 10)
    with pytest.raises(ValueError, match="timm models take images"):
        user_candidate(load("timm:resnet18"), None, (8,), 10)


def test_names_of_the_table_are_candidates() -> None:
    """What a profile calls fcn-2 or vec-1-erf can be asked for by that name, and is the same model."""
    shape = (1, 8, 8)
    for name in ("fcn-1", "fcn-3", "vec-3", "lap-3", "gap-1", "laplace", "gaussian"):
        wanted = next(c for c in default_candidates(shape)[0] if c.name == name)
        assert named_candidate(name, shape) == wanted
    for wanted in variations(default_candidates(shape)[0][1]):
        assert named_candidate(wanted.name, shape) == wanted
    assert named_candidate("fcn-2", shape).model == ps.models.fcn(2, bias_variance=0.1)
    assert named_candidate("fcn-3-relu", shape).name == "fcn-3"
    for other in ("fcn-0", "fcn", "fcn-3-sin", "cnn-3", "fcn-3 ", "laplace-1"):
        assert named_candidate(other, shape) is None
    rep = ps.profile(ps.data.digits("parity").subset(60, seed=0), candidates=["fcn-1-erf"], deep=False, budget=2)
    assert [row.name for row in rep.rows] == ["fcn-1-erf"]


def test_a_convolution_needs_positions() -> None:
    with pytest.raises(ValueError, match="gap-3 needs inputs with positions"):
        named_candidate("gap-3", (5,))
    with pytest.raises(ValueError, match="no model 'fcn-three'"):
        ps.profile(ps.data.digits("parity").subset(60, seed=0), candidates=["fcn-three"], deep=False, budget=2)
