"""Architectures read off torch modules."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from priorscope.models import (
    Activation,
    Architecture,
    Attention,
    AvgPool,
    Concatenate,
    Conv,
    Dense,
    Dropout,
    Flatten,
    GlobalAvgPool,
    LayerNorm,
    ParallelSum,
    Product,
    Scale,
    Sequential,
    fcn,
    from_module,
    gap,
    lap,
    lcn,
)
from priorscope.models.architectures.reading._fold import folded


def test_sequential_with_torch_variances() -> None:
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, padding_mode="circular"),
        nn.ReLU(),
        nn.Sequential(nn.Conv2d(8, 8, 3, stride=2, bias=False), nn.GELU()),
        nn.AvgPool2d(2),
        nn.Dropout(0.2),
        nn.Flatten(),
        nn.Linear(8, 10),
        nn.LayerNorm(10),
        nn.Identity(),
        nn.Linear(10, 1),
    )
    third = 1 / 3
    expected = (
        Conv(3, 1, "circular", third, 1 / 81),
        Activation("relu"),
        Conv(3, 2, "valid", third, 0.0),
        Activation("gelu"),
        AvgPool(2),
        Dropout(0.2),
        Flatten(),
        Dense(third, 1 / 24),
        LayerNorm(1e-5),
        Dense(third, 1 / 30),
    )
    got = from_module(net, (3, 7, 7), variances="torch").layers
    assert [type(layer) for layer in got] == [type(layer) for layer in expected]
    assert got == expected
    assert Dropout(0.2) not in from_module(net.eval(), (3, 7, 7)).layers


def test_measured_variances_are_those_of_the_weights() -> None:
    net = nn.Sequential(nn.Linear(50, 400), nn.Tanh(), nn.Linear(400, 1, bias=False))
    nn.init.normal_(net[0].weight, std=(1.8 / 50) ** 0.5, generator=torch.Generator().manual_seed(0))
    nn.init.normal_(net[0].bias, std=0.5, generator=torch.Generator().manual_seed(1))
    first = from_module(net).layers[0]
    assert isinstance(first, Dense)
    assert first.weight_variance == pytest.approx(1.8, rel=4 * (2 / 20000) ** 0.5)  # four standard errors
    assert first.bias_variance == pytest.approx(float(net[0].bias.detach().square().mean()))


def test_kernel_is_that_of_the_ensemble_of_such_networks() -> None:
    """Default-initialised torch networks: the covariance of their outputs over seeds is the NNGP that is read off."""
    torch.manual_seed(0)
    make = lambda: nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 1))  # noqa: E731
    x = torch.randn(2, 4)
    with torch.no_grad():
        f = torch.stack([make()(x)[:, 0] for _ in range(1500)]).double()
    nngp = from_module(make(), variances="torch").kernel(x.double(), kinds="nngp").nngp
    products = f[:, :, None] * f[:, None, :]
    noise = products.std(0) / len(f) ** 0.5
    assert ((products.mean(0) - nngp).abs() < 4 * noise).all()
    assert ((products.mean(0) - 1.3 * nngp).abs() > 4 * noise).any()


class Gated(nn.Module):
    """Shortcut, gate and concatenation, with functional calls and methods."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.body, self.gate = (
            nn.Conv2d(3, 8, 3, padding=1),
            nn.Conv2d(8, 8, 3, padding="same"),
            nn.Conv2d(8, 8, 1),
        )
        self.left, self.right, self.out = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(16, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        x = x + self.body(F.relu(x))
        unused = torch.sort(x)  # noqa: F841  dead code is not looked at
        x = F.gelu(x) * self.gate(x)
        x = x.mean((2, 3))
        return self.out(torch.cat([self.left(x), torch.erf(self.right(x))], dim=1))


def test_traced_graph_with_branches() -> None:
    arch = from_module(Gated(), (3, 6, 6), variances="torch")
    conv = lambda size, fan: Conv(size, 1, "zeros", 1 / 3, 1 / (3 * fan))  # noqa: E731
    dense = lambda fan: Dense(1 / 3, 1 / (3 * fan))  # noqa: E731
    assert arch.layers == (
        conv(3, 27),
        ParallelSum((Sequential(()), Sequential((Activation("relu"), conv(3, 72))))),
        Product((Sequential((Activation("gelu"),)), Sequential((conv(1, 8),)))),
        GlobalAvgPool(),
        Concatenate((Sequential((dense(8),)), Sequential((dense(8), Activation("erf")))), (0.5, 0.5)),
        dense(16),
    )
    assert torch.isfinite(arch.kernel(torch.randn(2, 3, 6, 6)).ntk).all()


@pytest.mark.parametrize("arch", [fcn(2), gap(2), lap(1, window=2), lcn(1)], ids=lambda a: a.name)
def test_own_networks_come_back(arch: Architecture) -> None:
    for initialisation in ("gaussian", "antisymmetric"):
        network = arch.network((3, 4, 4), 5, initialisation=initialisation)
        assert from_module(network, (3, 4, 4)).layers == arch.layers


def test_own_branches_come_back() -> None:
    arch = Architecture(
        "all", (Conv(), Attention(), ParallelSum((Conv(), Conv(5))), Activation("tanh"), GlobalAvgPool(), Dense())
    )
    back = from_module(arch.network((3, 4, 4), 5))
    x = torch.randn(2, 3, 4, 4, dtype=torch.float64)
    torch.testing.assert_close(back.kernel(x).ntk, arch.kernel(x).ntk)


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(torch.relu(self.layer(x)))


class Branching(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x


class Transposed(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.fft.fft(x)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Sequential(nn.Conv2d(3, 4, 3), nn.MaxPool2d(2)), "MaxPool2d"),
        (nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), "BatchNorm1d"),
        (nn.Conv2d(4, 4, 3, groups=2), "Conv2d with groups=2"),
        (nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"), "padding_mode='reflect'"),
        (nn.Sequential(nn.Conv2d(1, 2, 3), nn.AdaptiveAvgPool2d(2)), "adaptive average pool to 2 pixels"),
        (nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(2)), "an output with its pixels in one axis"),
        (nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.LayerNorm(4)), "LayerNorm of numbers that are not Gaussian"),
        (nn.Sequential(nn.Conv1d(3, 4, 3), nn.Linear(6, 4)), "Linear on inputs with pixels"),
        (Shared(), "layer used twice with the same weights"),
        (Branching(), "Branching, which torch.fx cannot trace"),
        (Transposed(), "the operation fft_fft"),
    ],
)
def test_what_has_no_kernel_is_refused_by_name(module: nn.Module, message: str) -> None:
    with pytest.raises(NotImplementedError, match=message):
        from_module(module)


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="needs a torch.nn.Module; got int"):
        from_module(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'measured' or 'torch'"):
        from_module(nn.Linear(2, 2), variances="xavier")
    with pytest.raises(ValueError, match="Flatten"):
        from_module(nn.Conv2d(3, 4, 3), (3, 8, 8))


def test_constant_factors_go_into_the_weights_and_leave_the_kernel() -> None:
    conv, dense = Conv(3, 1, "zeros", 1.3, 0.2), Dense(0.7, 0.4)
    layers = (
        *(Scale(0.3), conv, AvgPool(2), Scale(-2.0), Activation("relu"), Scale(0.5), Dropout(0.2)),
        *(
            ParallelSum((Sequential((conv, Scale(3.0))), conv)),
            Activation("erf"),
            Scale(1.5),
            Flatten(),
            dense,
            Scale(0.1),
        ),
    )
    short = folded(layers)
    assert [layer for layer in short if isinstance(layer, Scale)] == [Scale(0.5)]  # a sum has no weights of its own
    assert short[-1] == Dense(0.7 * 1.5**2 * 0.1**2, 0.4 * 0.1**2)
    x = torch.randn(3, 2, 5, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    long_kernel, short_kernel = (Architecture("a", part).kernel(x, path="reference") for part in (layers, short))
    torch.testing.assert_close(short_kernel.nngp, long_kernel.nngp)
    torch.testing.assert_close(short_kernel.ntk, long_kernel.ntk)


def test_batch_norm_in_evaluation_keeps_the_fused_path() -> None:
    net = nn.Sequential(
        *(
            nn.Conv2d(2, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(4, 1),
        )
    ).eval()
    arch = from_module(net, (2, 6, 6))
    assert arch.estimate(3, None, (2, 6, 6)).path == "fused"
    plain = from_module(nn.Sequential(*(net[i] for i in (0, 2, 3, 4, 5))), (2, 6, 6)).layers[0]
    assert isinstance(plain, Conv)
    first = arch.layers[0]
    assert isinstance(first, Conv)
    assert first.weight_variance == pytest.approx(plain.weight_variance / (1 + 1e-5))


def test_layers_without_a_fused_step_go_by_the_reference_and_are_named() -> None:
    net = nn.Sequential(
        nn.Conv2d(2, 4, 3, dilation=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 1)
    )
    guess = from_module(net, (2, 6, 6)).estimate(3, None, (2, 6, 6))
    assert (guess.path, guess.unfused) == ("reference", "GeneralConv")
