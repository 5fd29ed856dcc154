"""The empirical tangent kernel against Jacobians taken one output of one sample at a time."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import priorscope as ps
from priorscope.probes import empirical_ntk


def dense_kernel(network, x1, x2):
    """The definition, by loops: (n1, n2, C, C)."""
    params = [p for p in network.parameters() if p.requires_grad]

    def rows(x):
        out = []
        for one in x:
            values = network(one[None]).reshape(-1)
            grads = [torch.autograd.grad(v, params, retain_graph=True, allow_unused=True) for v in values]
            flat = [
                torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for g, p in zip(row, params)])
                for row in grads
            ]
            out.append(torch.stack(flat))
        return torch.stack(out)

    return torch.einsum("ncq,mdq->nmcd", rows(x1), rows(x2))


class Tied(nn.Module):
    """One layer called twice, and its weight used once more behind the layer's back if asked."""

    def __init__(self, behind: bool) -> None:
        super().__init__()
        self.inner, self.readout, self.behind = nn.Linear(6, 6), nn.Linear(6, 2), behind
        self.gain = nn.Parameter(torch.tensor(1.3))  # owned by no leaf

    def forward(self, x):
        h = self.gain * torch.tanh(self.inner(torch.tanh(self.inner(x))))
        return self.readout(F.linear(h, self.inner.weight).tanh() if self.behind else h)


class InPlace(nn.Module):
    """Code that overwrites what a layer gave."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 5), nn.Linear(5, 3)

    def forward(self, x):
        return self.second(F.relu_(self.first(x).mul_(2.0)))


class Scale(nn.Module):
    """A leaf that is neither torch's nor linear in its input."""

    def __init__(self) -> None:
        super().__init__()
        self.power = nn.Parameter(torch.tensor([0.5, 1.5, 1.0, 2.0, 1.0, 0.7]))

    def forward(self, x):
        return x * torch.sigmoid(self.power * x)


def shared():
    layer = nn.Linear(6, 6)
    return nn.Sequential(layer, nn.Tanh(), layer, nn.Tanh(), nn.Linear(6, 2))


def normalised():
    net = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
    net(torch.randn(50, 2, 4, 4))  # running statistics away from 0 and 1
    return net.eval()


def ours(layers, shape, outputs=2):
    return ps.models.Architecture("net", layers).network(shape, width=5, outputs=outputs, seed=1, dtype=torch.float64)


def scaled(layer):
    m = ps.models
    variances = {"weight_variance": 1.7, "bias_variance": 0.3}
    middle = (m.Dense(**variances), m.Activation("abs"), m.Flatten())  # at each pixel
    return lambda: ours((layer(**variances), m.Activation("relu"), *middle, m.Dense(**variances)), IMAGE)


IMAGE, VECTOR = (2, 4, 4), (6,)
NETWORKS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, 3)), VECTOR),
    "no bias": (lambda: nn.Sequential(nn.Linear(6, 9, bias=False), nn.GELU(), nn.Linear(9, 1, bias=False)), VECTOR),
    "sequence": (lambda: nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)), (3, 4)),
    "conv": (
        lambda: nn.Sequential(nn.Conv2d(2, 3, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(12, 2)),
        IMAGE,
    ),
    "circular": (lambda: nn.Sequential(nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular"), nn.Flatten()), IMAGE),
    "dilated groups": (lambda: nn.Sequential(nn.Conv2d(2, 4, 2, dilation=2, groups=2), nn.Tanh(), nn.Flatten()), IMAGE),
    "conv1d": (
        lambda: nn.Sequential(nn.Conv1d(3, 4, 3, padding=1), nn.Tanh(), nn.AdaptiveAvgPool1d(1), nn.Flatten()),
        (3, 5),
    ),
    "batch norm": (normalised, IMAGE),
    "layer norm": (lambda: nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6), nn.PReLU(), nn.Linear(6, 2)), VECTOR),
    "group norm": (
        lambda: nn.Sequential(nn.Conv2d(2, 4, 1), nn.GroupNorm(2, 4), nn.Flatten(), nn.Linear(64, 1)),
        IMAGE,
    ),
    "shared": (shared, VECTOR),
    "own leaf": (lambda: nn.Sequential(nn.Linear(6, 6), Scale(), nn.Linear(6, 2)), VECTOR),
    "tied": (lambda: Tied(behind=False), VECTOR),
    "tied behind": (lambda: Tied(behind=True), VECTOR),
    "in place": (InPlace, VECTOR),
    "priorscope fcn": (lambda: ps.models.fcn(depth=2, bias_variance=0.2).network((6,), width=7, outputs=2), VECTOR),
    "priorscope conv": (scaled(lambda **v: ps.models.Conv(3, stride=2, **v)), IMAGE),
    "priorscope local": (scaled(lambda **v: ps.models.LocallyConnected(3, padding="zeros", **v)), IMAGE),
    "antisymmetric": (lambda: ps.models.gap(depth=1).network(IMAGE, width=4, initialisation="antisymmetric"), IMAGE),
    "lstm": (lambda: nn.Sequential(nn.LSTM(4, 3, batch_first=True), Last()), (3, 4)),
    "attention": (lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True).eval(), (3, 4)),
}


class Last(nn.Module):
    """Last step of a recurrent layer."""

    def forward(self, pair):
        return pair[0][:, -1]


@pytest.fixture(autouse=True)
def _double():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_layer_type_equals_explicit_jacobians(name):
    make, shape = NETWORKS[name]
    network, x1, x2 = make(), torch.randn(4, *shape), torch.randn(3, *shape)
    exact = dense_kernel(network, x1, x2)
    for block in (None, 2):
        full = empirical_ntk(network, x1, x2, outputs="full", block=block)
        torch.testing.assert_close(full, exact, rtol=1e-9, atol=1e-10)
    logits = exact.diagonal(dim1=2, dim2=3)
    torch.testing.assert_close(empirical_ntk(network, x1, x2, outputs="logit"), logits, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(empirical_ntk(network, x1, x2), logits.sum(2), rtol=1e-9, atol=1e-10)
    assert all(p.requires_grad and p.grad is None for p in network.parameters())  # nothing left behind
    assert not any(module._forward_hooks for module in network.modules())


@pytest.mark.parametrize("method", ["jacobian", "ntk-vector", "layerwise"])
@pytest.mark.parametrize("outputs", ["sum", "full", "logit"])
def test_methods_agree_and_a_kernel_with_itself_is_symmetric(method, outputs):
    network, x = NETWORKS["conv"][0](), torch.randn(5, *IMAGE)
    whole = empirical_ntk(network, x, outputs=outputs, method=method, block=2)
    torch.testing.assert_close(whole, empirical_ntk(network, x, x, outputs=outputs), rtol=1e-10, atol=1e-11)
    flipped = whole.transpose(0, 1)
    torch.testing.assert_close(whole, flipped.transpose(2, 3) if outputs == "full" else flipped, rtol=1e-10, atol=1e-11)


def test_wide_layers_at_few_positions_stay_products():
    from priorscope.models.layers import Explicit, Product
    from priorscope.probes.tangent._layerwise import Layerwise

    network, x = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)), torch.randn(4, 3, 64)
    forms = Layerwise(network, "sum").forms(x)
    assert isinstance(forms["0.weight"], Product)  # 3² (64 + 3 x 64) < 3 x 64 x 64
    narrow = Layerwise(nn.Sequential(nn.Conv2d(2, 3, 3), nn.Flatten()), "sum").forms(torch.randn(2, 2, 12, 12))
    assert isinstance(narrow["0.weight"], Explicit)
    exact = dense_kernel(network, x, x)
    torch.testing.assert_close(empirical_ntk(network, x, outputs="full"), exact, rtol=1e-9, atol=1e-10)


def test_frozen_parameters_do_not_count_and_the_test_can_tell():
    network, x = NETWORKS["mlp"][0](), torch.randn(4, 6)
    whole = empirical_ntk(network, x)
    network[0].weight.requires_grad_(False)
    part = empirical_ntk(network, x)
    torch.testing.assert_close(part, dense_kernel(network, x, x).diagonal(dim1=2, dim2=3).sum(2))
    assert (whole - part).abs().max() > 1e-3


def test_ensembles_and_trajectories_stack():
    members, x = [NETWORKS["mlp"][0]() for _ in range(3)], torch.randn(4, 6)
    stacked = empirical_ntk(members, x)
    assert stacked.shape == (3, 4, 4)
    states = [member.state_dict() for member in members]
    torch.testing.assert_close(empirical_ntk(members[0], x, states=states), stacked)
    assert not torch.allclose(stacked[0], stacked[1])


def test_an_ensemble_module_gives_the_kernel_of_each_network():
    ensemble, x = ps.models.fcn(depth=1).ensemble((6,), width=8, outputs=1, seeds=range(3)), torch.randn(4, 6)
    singles = torch.stack([empirical_ntk(ensemble.member(i), x) for i in range(3)])
    torch.testing.assert_close(empirical_ntk(ensemble, x), singles)
    assert not torch.allclose(singles[0], singles[1])


def test_a_layer_whose_weight_is_used_elsewhere_is_found_out():
    network, x = Tied(behind=True), torch.randn(3, 6)
    with pytest.raises(ValueError, match="disagrees with autodiff"):
        empirical_ntk(network, x, method="layerwise")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda net, x: (net.train(), x, {}), "BatchNorm2d in eval mode"),
        (lambda net, x: (net, x[:0], {}), "at least one input"),
        (lambda net, x: (net, x * float("nan"), {}), "finite x1"),
        (lambda net, x: (net, x, {"outputs": "trace"}), "outputs must be"),
        (lambda net, x: (net, x, {"method": "fast"}), "method must be"),
        (lambda net, x: (nn.Flatten(), x, {}), "parameters that require gradients"),
        (lambda net, x: (nn.Sequential(nn.Linear(4, 2), nn.Flatten(0)), x, {}), "maps"),
    ],
)
def test_bad_input_is_named(change, message):
    network, x, options = change(normalised(), torch.randn(3, *IMAGE))
    with pytest.raises(ValueError, match=message):
        empirical_ntk(network, x, **options)


def changed(change):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1)).double()
    change(network)
    return network


@pytest.mark.parametrize(
    "change",
    [
        lambda net: net[0].register_forward_hook(lambda m, x, y: y * y),
        lambda net: net[0].register_forward_pre_hook(lambda m, x: (x[0].sin(),)),
        lambda net: setattr(net[0], "forward", lambda x: nn.functional.linear(x, net[0].weight.sin())),
    ],
)
def test_hooks_and_forwards_of_an_object_are_seen(change):
    """A hook on a layer's output stood between the layer and its gradient: 11 % off."""
    network, x = changed(change), torch.randn(4, 6, dtype=torch.float64)
    rows = []
    for one in x:
        grads = torch.autograd.grad(network(one[None])[0, 0], list(network.parameters()), allow_unused=True)
        rows.append(
            torch.cat(
                [(torch.zeros_like(p) if g is None else g).flatten() for g, p in zip(grads, network.parameters())]
            )
        )
    J = torch.stack(rows)
    torch.testing.assert_close(empirical_ntk(network, x), J @ J.mT)
    plain = changed(lambda net: None)
    assert not torch.allclose(empirical_ntk(plain, x), J @ J.mT, rtol=0.01)


class Mixing(nn.Module):
    """Subtracts the mean of the batch, or adds noise."""

    def __init__(self, noisy):
        super().__init__()
        self.layer, self.noisy = nn.Linear(6, 1), noisy

    def forward(self, x):
        f = self.layer(x).tanh()
        return f + torch.rand_like(f) if self.noisy else f - f.mean(0)


@pytest.mark.parametrize("method", ["auto", "jacobian", "ntk-vector"])
@pytest.mark.parametrize(("noisy", "words"), [(False, "change with the rest of the batch"), (True, "are random")])
def test_a_network_that_mixes_samples_or_draws_is_refused(method, noisy, words):
    """Its kernel was that of each sample alone in its batch, without a word."""
    network, x = Mixing(noisy), torch.randn(4, 6)
    with pytest.raises(ValueError, match=words):
        empirical_ntk(network, x, method=method)
    with pytest.raises(ValueError, match=words):
        ps.probes.ntk_operator(network, x)


@pytest.mark.parametrize(
    "layer",
    [
        lambda: nn.Conv2d(2, 3, (3, 2), stride=(1, 2), dilation=(2, 1), padding=(1, 0)),
        lambda: nn.Conv2d(1, 2, (1, 3), dilation=(1, 2)),
        lambda: nn.Conv1d(2, 3, 3, dilation=2, stride=2),
    ],
)
def test_rectangular_dilated_and_strided_filters_have_the_kernel_of_their_jacobian(layer):
    torch.manual_seed(0)
    conv = layer()
    shape = (conv.in_channels, 9) if isinstance(conv, nn.Conv1d) else (conv.in_channels, 7, 8)
    x = torch.randn(3, *shape, dtype=torch.float64)
    network = nn.Sequential(conv, nn.Tanh(), nn.Flatten()).double()
    network.append(nn.Linear(network(x).shape[1], 2).double())
    dense = empirical_ntk(network, x, outputs="full", method="jacobian")
    torch.testing.assert_close(empirical_ntk(network, x, outputs="full", method="layerwise"), dense)
