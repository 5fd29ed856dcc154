"""Finite networks against hand-written ones; parametrisations, initialisations, ensembles."""

from __future__ import annotations

from math import sqrt

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev
from torch.nn import functional as F

from priorscope.models import (
    Activation,
    Architecture,
    Attention,
    Concatenate,
    Conv,
    Dense,
    Ensemble,
    Flatten,
    LocallyConnected,
    Product,
    Sequential,
    fcn,
    gap,
    lap,
    lcn,
    lenet,
    mixer,
    mlp,
    resnet18,
    small_resnet,
    vec,
    vgg11,
    vit,
)

DOUBLE = torch.float64


def _inputs(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=DOUBLE, generator=torch.Generator().manual_seed(0))


def _ntk(net: nn.Module, x: Tensor) -> Tensor:
    params = {k: v.detach() for k, v in net.named_parameters()}
    jac = jacrev(lambda p: functional_call(net, p, (x,))[:, 0])(params)
    return torch.stack([j.flatten(1) @ j.flatten(1).mT for j in jac.values()]).sum(0)


def test_fcn_forward_by_hand() -> None:
    x, var_w, var_b, width = _inputs(5, 3), 1.7, 0.4, 6
    net = fcn(1, "erf", var_w, var_b).network((3,), width, 2, seed=1, dtype=DOUBLE)
    w1, b1, w2, b2 = net.parameters()
    hidden = torch.erf(x @ w1.mT * sqrt(var_w / 3) + sqrt(var_b) * b1)
    torch.testing.assert_close(net(x), hidden @ w2.mT * sqrt(var_w / width) + sqrt(var_b) * b2)
    assert abs(float(fcn(1).network((3,), 4000)[1].weight.std().detach()) - 1) < 0.05  # type: ignore[index]


@pytest.mark.parametrize("padding", ["circular", "zeros", "valid"])
@pytest.mark.parametrize("shape", [(2, 7), (2, 6, 5)], ids=["1-D", "2-D"])
@pytest.mark.parametrize("size", [2, 3])
def test_convolution_and_local_filters_by_torch(padding: str, shape: tuple[int, ...], size: int) -> None:
    """torch's own convolution; a locally connected layer with equal filters is a convolution."""
    x = _inputs(4, *shape)
    n_space = len(shape) - 1
    low, high = ((size - 1) // 2, size - 1 - (size - 1) // 2) if padding != "valid" else (0, 0)
    padded = F.pad(x, (low, high) * n_space, mode="circular" if padding == "circular" else "constant")
    conv = Architecture("c", (Conv(size, 2, padding, 1.3, 0.2), Flatten(), Dense())).network(shape, 3, dtype=DOUBLE)[0]  # type: ignore[index]
    weight = conv.weight * sqrt(1.3 / (2 * size**n_space))
    expected = (F.conv1d if n_space == 1 else F.conv2d)(padded, weight, conv.bias * sqrt(0.2), stride=2)
    torch.testing.assert_close(conv(x), expected)
    layers = (LocallyConnected(size, 2, padding, 1.3, 0.2), Flatten(), Dense())
    local = Architecture("l", layers).network(shape, 3, dtype=DOUBLE)[0]  # type: ignore[index]
    with torch.no_grad():
        local.weight.copy_(conv.weight.flatten(1).expand(local.weight.shape))
        local.bias.copy_(conv.bias[:, None].expand(local.bias.shape))
    torch.testing.assert_close(local(x), expected)


def test_parametrisations_have_the_stated_scales() -> None:
    x, width = _inputs(4, 3), 50
    make = lambda p: fcn(2, bias_variance=0.1).network((3,), width, 1, 3, parametrisation=p, dtype=DOUBLE)  # noqa: E731
    ntk, standard, field = map(make, ("ntk", "standard", "mean-field"))
    torch.testing.assert_close(standard(x), ntk(x))  # the same function, differently written
    torch.testing.assert_close(standard[1].weight, ntk[1].weight * sqrt(2 / 3))  # type: ignore[index]
    bias = sqrt(0.1) * ntk[-1].bias  # type: ignore[index]
    torch.testing.assert_close((field(x) - bias) * sqrt(width), ntk(x) - bias)  # readout divided by n, not by √n
    assert (_ntk(standard, x) / _ntk(ntk, x)).min() > 5  # gradients of the standard weights are larger by √fan-in


@pytest.mark.parametrize("arch", [fcn(2), vec(2, bias_variance=0.1), lcn(1), gap(1)], ids=lambda a: a.name)
def test_antisymmetric_start_is_zero_with_the_same_kernel(arch: Architecture) -> None:
    x = _inputs(4, 2, 5)
    plain = arch.network((2, 5), 8, 1, 3, dtype=DOUBLE)
    twin = arch.network((2, 5), 8, 1, 3, initialisation="antisymmetric", dtype=DOUBLE)
    assert float(twin(x).abs().max().detach()) == 0.0
    torch.testing.assert_close(_ntk(twin, x), _ntk(plain, x))
    stacked = arch.ensemble((2, 5), 8, 1, range(3), initialisation="antisymmetric")
    assert float(stacked(x.float()).abs().max().detach()) == 0.0


def test_orthogonal_weights() -> None:
    net = vec(2).network((2, 5), 12, 3, initialisation="orthogonal", dtype=DOUBLE)
    for module in (net[0], net[2], net[-1]):  # type: ignore[index]
        w = module.weight.detach().flatten(1)
        gram = w @ w.mT if w.shape[0] <= w.shape[1] else w.mT @ w
        torch.testing.assert_close(gram, max(w.shape) * torch.eye(min(w.shape), dtype=DOUBLE))
    local = lcn(1).network((2, 5), 12, 3, initialisation="orthogonal", dtype=DOUBLE)[0]  # type: ignore[index]
    w = local.weight.detach()
    torch.testing.assert_close(w.mT @ w, (12 * torch.eye(6, dtype=DOUBLE)).expand(5, 6, 6))


def test_seeds_decide_everything() -> None:
    x = _inputs(3, 2, 5).float()
    a, b, c = (gap(1).network((2, 5), 8, seed=s)(x) for s in (1, 1, 2))
    assert torch.equal(a, b)
    assert not torch.allclose(a, c)
    state = torch.random.get_rng_state()
    gap(1).network((2, 5), 8, seed=1)
    resnet18().network((1, 4, 4), width=4, seed=1)
    assert torch.equal(state, torch.random.get_rng_state())  # the global stream is left alone


D = Dense(1.5, 0.1)
GATED = Architecture(
    "gated", (D, Product((Activation("erf"), D)), Concatenate((D, Sequential((Activation("relu"), D)))), D)
)
ATTENTION = Architecture("attention", (Conv(), Attention(bias_variance=0.1), Flatten(), D))


@pytest.mark.parametrize(
    "arch", [fcn(2), vec(1), lcn(1), gap(1), lap(1, window=2), ATTENTION, GATED], ids=lambda a: a.name
)
def test_ensemble_equals_networks_one_by_one(arch: Architecture) -> None:
    """Outputs, and weights after three steps of gradient descent, to round-off."""
    shape = (4,) if arch is GATED else (2, 4)
    x, y = _inputs(5, *shape), _inputs(5, 2)
    seeds = [3, 1, 7]
    ensemble = arch.ensemble(shape, 6, 2, seeds, dtype=DOUBLE)
    networks = [arch.network(shape, 6, 2, s, dtype=DOUBLE) for s in seeds]
    torch.testing.assert_close(ensemble(x), torch.stack([net(x) for net in networks]))
    together = torch.optim.SGD(ensemble.parameters(), 0.05, momentum=0.9)
    apart = [torch.optim.SGD(net.parameters(), 0.05, momentum=0.9) for net in networks]
    for _ in range(3):
        together.zero_grad()
        (ensemble(x) - y).square().mean((1, 2)).sum().backward()
        together.step()
        for net, optimiser in zip(networks, apart):
            optimiser.zero_grad()
            (net(x) - y).square().mean().backward()
            optimiser.step()
    for i, net in enumerate(networks):
        for name, value in net.named_parameters():
            torch.testing.assert_close(ensemble.stacked[name][i], value)
        torch.testing.assert_close(ensemble.member(i)(x), net(x))


def test_ensemble_of_any_modules() -> None:
    ensemble = Ensemble([nn.Linear(2, 1) for _ in range(3)])
    x = torch.ones(4, 2)
    assert len(ensemble) == 3
    assert ensemble(x).shape == (3, 4, 1)
    others = [nn.Linear(2, 1) for _ in range(3)]
    ensemble.set_networks(others)
    assert torch.equal(ensemble.stacked["weight"], torch.stack([net.weight for net in others]))
    with pytest.raises(ValueError, match="needs 3 networks; got 1"):
        ensemble.set_networks([nn.Linear(2, 1)])
    with pytest.raises(ValueError, match="normalisation='group'"):
        resnet18().ensemble((1, 4, 4), width=4)


@pytest.mark.parametrize("make", [lenet, vgg11, resnet18, vit, mixer], ids=lambda f: f.__name__)
def test_finite_networks_for_small_images(make) -> None:  # type: ignore[no-untyped-def]
    x = torch.randn(3, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    kinds = [k for k in (nn.BatchNorm2d, nn.GroupNorm, nn.LayerNorm)]
    count = lambda net: sum(isinstance(m, tuple(kinds)) for m in net.modules())  # noqa: E731
    plain = make(normalisation=False, activation="tanh").network((3, 8, 8), outputs=10, width=8, seed=1)
    normed = make(normalisation=True).network((3, 8, 8), outputs=10, width=8, seed=1)
    assert plain(x).shape == normed(x).shape == (3, 10)
    assert count(plain) == 0
    assert count(normed) > 0
    again = make(normalisation=False, activation="tanh").network((3, 8, 8), outputs=10, width=8, seed=1)
    assert torch.equal(again(x), plain(x))
    model = make(normalisation=False)
    ensemble = model.ensemble((3, 8, 8), width=4, outputs=2, seeds=[0, 5])
    torch.testing.assert_close(
        ensemble(x)[1], model.network((3, 8, 8), width=4, outputs=2, seed=5)(x), atol=1e-5, rtol=1e-4
    )
    twin = model.network((3, 8, 8), width=4, outputs=2, initialisation="antisymmetric")
    assert float(twin(x).abs().max().detach()) == 0
    with pytest.raises(ValueError, match="'standard'"):
        model.network((3, 8, 8), parametrisation="ntk")
    with pytest.raises(ValueError, match="needs images"):
        model.network((8,))


def test_small_networks_by_hand() -> None:
    x = torch.randn(3, 2, 8, 8, generator=torch.Generator().manual_seed(0), dtype=DOUBLE)
    net = small_resnet().network((2, 8, 8), width=4, outputs=3, seed=1, dtype=DOUBLE)
    w = dict(net.named_parameters())
    conv = lambda h, name: nn.functional.conv2d(h, w[f"{name}.weight"], w[f"{name}.bias"], padding=1)  # noqa: E731
    gelu = lambda u: u * (1 + torch.erf(u / sqrt(2))) / 2  # noqa: E731
    halve = lambda h: h.reshape(*h.shape[:2], h.shape[2] // 2, 2, h.shape[3] // 2, 2).mean((3, 5))  # noqa: E731
    h = gelu(conv(x, "stem"))
    h = halve(h + gelu(conv(h, "second")))
    h = halve(h + gelu(conv(h, "third")))
    torch.testing.assert_close(net(x), h.mean((2, 3)) @ w["readout.weight"].mT + w["readout.bias"])
    dense = mlp().network((2, 8, 8), width=5, outputs=1, seed=1, dtype=DOUBLE)
    w1, b1, w2, b2, w3, b3 = dense.parameters()
    torch.testing.assert_close(dense(x), gelu(gelu(x.flatten(1) @ w1.mT + b1) @ w2.mT + b2) @ w3.mT + b3)
    with pytest.raises(ValueError, match="small_resnet needs images"):
        small_resnet().network((2, 3, 3))


def test_resnet18_has_the_published_size() -> None:
    """11.17 million parameters for 10 classes in the small-image form."""
    net = resnet18().network((3, 32, 32), outputs=10)
    assert sum(p.numel() for p in net.parameters()) == 11_173_962
