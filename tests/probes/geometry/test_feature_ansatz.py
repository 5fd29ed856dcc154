"""Weights against the gradients of their layer: dense matrices by hand, linear networks in closed form, training."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope.probes import LayerFeatures, feature_ansatz, gradient_outer_product, matrix_correlation


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def power(M, s):
    lam, U = torch.linalg.eigh(M)
    return (U * lam.clamp(min=0) ** s) @ U.T


def test_layers_are_those_of_autograd():
    """M of each layer from gradients with respect to what enters it, formed and raised to powers as whole matrices."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 3)).double()
    x = draw(20, 4)
    found = feature_ansatz(net, x)
    for at, layer in zip((0, 2, 4), found.layers, strict=True):
        entered = net[:at](x).detach().requires_grad_(True)
        out = net[at:](entered)
        g = torch.cat([torch.autograd.grad(out[:, o].sum(), entered, retain_graph=True)[0] for o in range(3)])
        M, W = g.T @ g / len(g), net[at].weight.detach()
        torch.testing.assert_close(layer.moment, M)
        for s in (0.25, 0.5, 1.0):
            assert layer.correlation(s) == pytest.approx(matrix_correlation(W.T @ W, power(M, s)), rel=1e-6)
        eye = torch.eye(len(M), dtype=torch.float64) / len(M)
        apart = [A - A.trace() * eye for A in (W.T @ W, power(M, 0.5))]
        assert layer.correlation(0.5, without_identity=True) == pytest.approx(matrix_correlation(*apart), rel=1e-6)
    torch.testing.assert_close(found.layers[0].moment, gradient_outer_product(net, x).matrix)
    assert found.layer("2").inputs == 6


@pytest.mark.parametrize("padding", [0, 1])
def test_convolutions_go_by_patches(padding):
    """Gradients with respect to unfolded patches: a convolution is a dense layer on them."""
    torch.manual_seed(0)
    conv = nn.Conv2d(2, 5, 3, padding=padding)
    net = nn.Sequential(conv, nn.Tanh(), nn.Flatten(), nn.Linear(5 * (4 + 2 * padding) ** 2, 2)).double()
    x = draw(6, 2, 6, 6)
    patches = nn.functional.unfold(x, 3, padding=padding).detach().requires_grad_(True)  # (n, 18, positions)
    z = torch.einsum("oi,nip->nop", conv.weight.flatten(1), patches) + conv.bias[:, None]
    out = net[1:](z.reshape(6, 5, 4 + 2 * padding, -1))
    g = torch.cat([torch.autograd.grad(out[:, o].sum(), patches, retain_graph=True)[0] for o in range(2)])
    rows = g.transpose(1, 2).reshape(-1, 18)
    torch.testing.assert_close(feature_ansatz(net, x).layers[0].moment, rows.T @ rows / len(rows))


def test_layers_of_the_library_count_too():
    net = ps.models.vec(2, kernel_size=2).network((1, 4, 4), width=6)
    found = feature_ansatz(net, draw(8, 1, 4, 4))
    assert [layer.inputs for layer in found.layers] == [4, 24, 96]
    assert all(0 < layer.correlation(0.5) <= 1 + 1e-9 for layer in found.layers)


def test_a_balanced_linear_network_has_the_ansatz_at_one_half():
    """f = a·Wx with W = c u wᵀ: WᵀW = c² wwᵀ and M = (a·u c)² wwᵀ, correlation one at every power; a random W has less."""
    w, u = draw(5), draw(7, seed=1)
    net = nn.Sequential(nn.Linear(5, 7, bias=False), nn.Linear(7, 1, bias=False)).double()
    with torch.no_grad():
        net[0].weight.copy_(torch.outer(u, w))
    layer = feature_ansatz(net, draw(10, 5)).layers[0]
    assert layer.correlation(0.5) == pytest.approx(1.0)
    fresh = nn.Sequential(nn.Linear(5, 7, bias=False), nn.Linear(7, 1, bias=False)).double()
    assert feature_ansatz(fresh, draw(10, 5)).layers[0].correlation(0.5) < 0.95


def test_training_raises_the_correlation():
    """Small initial weights and a target of one direction: what WᵀW has learnt is what M has."""
    x = draw(200, 8).float()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    with torch.no_grad():
        for p in net.parameters():
            p.mul_(0.3)
    data = SimpleNamespace(inputs=x, targets=torch.tanh(2 * x[:, :1]))
    fitted = ps.inference.GradientDescent(learning_rate=0.2, steps=400).fit(net, data)
    start, end = (feature_ansatz(n, x).layers[0] for n in (net, fitted.network(0)))
    assert end.correlation(0.5, without_identity=True) > 0.95
    assert start.correlation(0.5, without_identity=True) < 0.8
    assert 0 <= end.error(0.5) < 0.1


def test_errors_are_those_of_fresh_samples():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)).double()
    many = [feature_ansatz(net, draw(60, 3, seed=s)).layers[0] for s in range(60)]
    spread = torch.tensor([m.correlation(0.5) for m in many]).std()
    said = torch.tensor([m.error(0.5) for m in many]).mean()
    assert 0.5 < float(said / spread) < 2.0


def test_what_is_left_out_is_told_and_the_network_is_left_as_it_was():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.again, self.last = nn.Linear(3, 3), nn.Linear(3, 1)

        def forward(self, x):
            return self.last(torch.tanh(self.again(torch.tanh(self.again(x)))))

    net = Twice().double().train()
    found = feature_ansatz(net, draw(20, 3))
    assert [layer.name for layer in found.layers] == ["last"]
    assert "again is called 2 times" in found.notes[0]
    assert net.training
    assert all(p.requires_grad and p.grad is None for p in net.parameters())
    with pytest.raises(ValueError, match="no linear or convolutional layer"):
        feature_ansatz(nn.Sequential(nn.LayerNorm(3)).double(), draw(5, 3))
    with pytest.raises(KeyError, match="no layer 'x'"):
        found.layer("x")
    found.chart().to_dict()


@pytest.mark.parametrize("without_identity", [False, True])
def test_the_error_of_a_correlation_is_the_jackknife_over_blocks(without_identity):
    """√((n-1)/n Σ (θ₋ᵢ - θ̄)²) (Tukey 1958), each θ₋ᵢ the correlation of a layer without one block."""
    source = torch.Generator().manual_seed(0)
    half = torch.randn(6, 4, 9, generator=source, dtype=torch.float64)
    layer = LayerFeatures("one", torch.randn(4, 5, generator=source, dtype=torch.float64), half @ half.mT)
    left = []
    for i in range(6):
        kept = layer.deltas[[j for j in range(6) if j != i]]
        left.append(LayerFeatures("one", layer.weight, kept).correlation(0.7, without_identity=without_identity))
    wanted = (5 / 6 * sum((v - sum(left) / 6) ** 2 for v in left)) ** 0.5
    assert layer.error(0.7, without_identity=without_identity) == pytest.approx(wanted, rel=1e-9)
    assert math.isnan(LayerFeatures("one", layer.weight, layer.deltas[:1]).error())
