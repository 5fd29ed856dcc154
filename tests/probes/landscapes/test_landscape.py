"""Gaps, overlaps, Hessian split and effective parameters: exact statements of the jamming papers."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.sparse.linalg import aslinearoperator
from torch import nn

import priorscope as ps
from priorscope.data import random_patterns
from priorscope.inference import AllFitted, GradientDescent, QuadraticHinge, Squared, as_loss
from priorscope.inference.networks._dense_form import dense_form
from priorscope.models import count_weights, plain_network
from priorscope.models.layers._dense import DenseModule
from priorscope.probes.landscapes import (
    count_cusps,
    effective_parameters,
    hessian_operators,
    hessian_split,
    lanczos_density,
    landscape,
    small_argument_exponent,
)

HINGE = QuadraticHinge()


def shaken(net, seed=0, size=0.1):
    """Biases off zero, so that nothing is special."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in net.parameters():
            p += size * torch.randn(p.shape, generator=g, dtype=p.dtype)
    return net


@pytest.mark.parametrize(
    ("dim", "width", "depth", "outputs", "count"),
    [(7, 9, 3, 2, 243), (62, 62, 2, 1, 7750), (51, 51, 3, 1, 7854), (40, 40, 5, 1, 8040), (10, 30, 5, 1, 3930)],
)
def test_t1_parameter_counts(dim, width, depth, outputs, count):
    assert count_weights(plain_network(dim, width, depth, outputs=outputs)) == count


def test_t2_orthogonal_start():
    net = plain_network(6, 6, 2, gain=0.5, seed=1)
    for layer in (net[0], net[2]):
        torch.testing.assert_close(layer.weight @ layer.weight.mT, torch.eye(6, dtype=torch.float64))
        assert layer.bias.abs().max() == 0
    assert float(net[4].weight.norm().detach()) == pytest.approx(0.5)
    wide = plain_network(3, 6, 1)[0].weight  # two orthogonal blocks
    torch.testing.assert_close(wide[:3] @ wide[:3].mT, torch.eye(3, dtype=torch.float64))
    traces = [float(plain_network(2, 2, 1, seed=s)[0].weight.trace().detach()) for s in range(400)]
    assert abs(np.mean(traces)) < 5 * np.std(traces) / 20  # Haar: no preferred sign; plain QR fails this


def test_t3_random_patterns():
    data = random_patterns(40, 5, seed=2)
    torch.testing.assert_close(data.inputs.norm(dim=1), torch.full((40,), 5**0.5).double())
    assert set(data.targets.flatten().tolist()) == {1.0, -1.0}
    assert float(data.targets.sum()) == 0


def test_t4_slack_and_counts():
    data, net = random_patterns(40, 3), shaken(plain_network(3, 5, 2))
    result = landscape(net, data, HINGE)
    yf = (data.targets * net(data.inputs)).detach()[:, 0].numpy()
    np.testing.assert_allclose(result.slack, 1 - yf)
    assert result.n_misclassified == (yf < 0).sum()
    assert result.n_unsatisfied == (yf < 1).sum()
    assert result.loss == pytest.approx(np.mean(np.maximum(1 - yf, 0) ** 2) / 2)
    assert len(result.table()) == 1
    assert result.chart().to_dict()


def test_t5_the_margin_only_sets_the_scale():
    data, net = random_patterns(30, 3), shaken(plain_network(3, 5, 2))
    before = landscape(net, data, QuadraticHinge(margin=1.0))
    with torch.no_grad():
        net[-1].weight *= 3
        net[-1].bias *= 3
    after = landscape(net, data, QuadraticHinge(margin=3.0))
    np.testing.assert_allclose(after.slack, 3 * before.slack, rtol=1e-12)
    assert after.loss == pytest.approx(9 * before.loss)
    assert after.n_unsatisfied == before.n_unsatisfied


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("loss", ["quadratic-hinge", "squared", "logistic"])
def test_t6_the_parts_add_up_to_the_hessian(activation, loss):
    data, net = random_patterns(12, 3), shaken(plain_network(3, 3, 2, activation=activation))
    split = hessian_split(net, data.inputs, data.targets, as_loss(loss))
    names, shapes = zip(*((n, p.shape) for n, p in net.named_parameters()))
    sizes = [s.numel() for s in shapes]
    w = torch.cat([p.detach().flatten() for p in net.parameters()])

    def value(v):
        params = {n: p.reshape(s) for n, p, s in zip(names, v.split(sizes), shapes)}
        return as_loss(loss)(torch.func.functional_call(net, params, (data.inputs,)), data.targets)

    gradient = torch.func.grad(value)
    h, eye = 1e-6, torch.eye(len(w), dtype=torch.float64)
    finite = torch.stack([(gradient(w + h * e) - gradient(w - h * e)) / (2 * h) for e in eye])
    torch.testing.assert_close(split.total, finite, atol=1e-7, rtol=1e-6)
    assert (split.first - finite).abs().max() > 1e-3  # one part alone is not the Hessian
    operators = hessian_operators(net, data.inputs, data.targets, as_loss(loss))
    v = torch.randn(len(w), dtype=torch.float64).numpy()
    np.testing.assert_allclose(operators.first @ v, split.first.numpy() @ v, atol=1e-11)
    np.testing.assert_allclose(operators.second @ v, split.second.numpy() @ v, atol=1e-11)


class Opaque(nn.Module):
    """The same network, but not to be read as layers: differentiated by tracing."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


@pytest.mark.parametrize(
    "net",
    [
        shaken(plain_network(4, 5, 4)),
        shaken(plain_network(4, 5, 3, activation="tanh", outputs=2)),
        ps.models.fcn(3, activation="erf", bias_variance=0.2).network((4,), width=5, outputs=1, seed=0).double(),
        nn.Sequential(nn.Linear(4, 3, bias=False), nn.Softplus(), nn.Linear(3, 1)).double(),
    ],
    ids=["relu", "tanh", "erf", "softplus"],
)
def test_by_hand_and_by_tracing(net):
    data = random_patterns(30, 4)
    assert dense_form(net) is not None
    assert dense_form(Opaque(net)) is None
    y = data.targets.expand(-1, net(data.inputs).shape[1])
    for name in ("quadratic-hinge", "logistic"):
        hand, traced = (hessian_split(m, data.inputs, y, as_loss(name)) for m in (net, Opaque(net)))
        for a, b in ((hand.first, traced.first), (hand.second, traced.second)):
            torch.testing.assert_close(a, b, atol=1e-13, rtol=1e-10)
        assert (hand.second - traced.first).abs().max() > 1e-4


def test_what_is_not_a_stack_of_dense_layers_is_not_read_as_one():
    frozen = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    frozen[0].weight.requires_grad_(False)
    for other in (
        nn.Sequential(nn.Linear(2, 2), nn.Dropout(), nn.Linear(2, 1)),
        nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Tanh(), nn.Linear(2, 1)),
        nn.Sequential(nn.Linear(2, 1), nn.Tanh()),
        ps.models.fcn(1).network((4,), width=5, outputs=1, seed=0, initialisation="antisymmetric"),
        ps.models.gap(1).network((1, 4, 4), width=5, outputs=1, seed=0),
        frozen,
    ):
        assert dense_form(other) is None


def test_patterns_that_are_satisfied_count_in_the_mean_of_a_traced_network():
    """Second derivatives of the mean loss over all patterns, by torch, where half of the patterns add nothing to them."""

    class Cosine(nn.Module):  # nothing that is read as dense layers
        def __init__(self):
            super().__init__()
            g = torch.Generator().manual_seed(0)
            self.w = nn.Parameter(torch.randn(3, 4, generator=g, dtype=torch.float64))

        def forward(self, x):
            return torch.cos(x @ self.w.mT).sum(1, keepdim=True)

    net = Cosine()
    x = torch.randn(20, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    y = net(x).detach().sign()
    y[::2] *= -1  # unsatisfied; the others lie beyond a margin of zero
    loss = QuadraticHinge(margin=0.0)
    assert int((loss.pointwise(net(x), y) > 0).sum()) == 10
    split = hessian_split(net, x, y, loss)

    def mean_loss(w):
        return loss.pointwise(torch.cos(x @ w.reshape(3, 4).mT).sum(1, keepdim=True), y).mean()

    wanted = torch.func.hessian(mean_loss)(net.w.detach().flatten())
    torch.testing.assert_close(split.first + split.second, wanted, rtol=1e-9, atol=1e-12)


def test_t7_the_first_part_has_the_rank_of_the_unsatisfied():
    few = landscape(shaken(plain_network(3, 5, 2)), random_patterns(10, 3), HINGE)
    assert few.first.min() > -1e-12
    assert 0 < few.rank_first <= few.n_unsatisfied
    many = landscape(shaken(plain_network(6, 6, 2)), random_patterns(200, 6), HINGE, effective=True)
    assert many.rank_first <= min(many.n_unsatisfied, many.n_effective)
    assert many.n_effective == many.n_parameters - 12


def test_t8_symmetries_of_the_second_part():
    data = random_patterns(40, 3)
    relu = shaken(plain_network(3, 4, 2))
    second = hessian_split(relu, data.inputs, data.targets, HINGE).second
    assert abs(float(second.trace())) < 1e-12 * float(second.abs().max()) * len(second)
    tanh = hessian_split(shaken(plain_network(3, 4, 2, activation="tanh")), data.inputs, data.targets, HINGE).second
    assert abs(float(tanh.trace())) > 1e-4  # not so for tanh
    shallow = hessian_split(shaken(plain_network(3, 4, 1)), data.inputs, data.targets, HINGE).second
    values = torch.linalg.eigvalsh(shallow)
    torch.testing.assert_close(values, -values.flip(0), atol=1e-12, rtol=0)
    assert int((values.abs() > 1e-9 * values.abs().max()).sum()) == 2 * 4
    # turning the sign of the last layer turns the spectrum of any fixed combination of output Hessians
    fixed = Linear(data.targets)
    flipped = shaken(plain_network(3, 4, 2, activation="tanh"))
    before = torch.linalg.eigvalsh(hessian_split(flipped, data.inputs, data.targets, fixed).second)
    with torch.no_grad():
        flipped[-1].weight *= -1
    after = torch.linalg.eigvalsh(hessian_split(flipped, data.inputs, data.targets, fixed).second)
    torch.testing.assert_close(after, -before.flip(0), atol=1e-12, rtol=0)


class Linear(Squared):
    """A loss linear in the output: its Hessian is a fixed combination of the outputs' Hessians."""

    def __init__(self, targets):
        pass

    def pointwise(self, predictions, targets):
        return (targets * predictions).sum(-1)

    def slope(self, predictions, targets):
        return targets.expand_as(predictions)


def test_t9_effective_parameters():
    x6, x = random_patterns(200, 6).inputs, random_patterns(60, 3).inputs
    total = sum(p.numel() for p in plain_network(6, 6, 2).parameters())
    assert effective_parameters(shaken(plain_network(6, 6, 2)), x6) == total - 12
    assert effective_parameters(shaken(plain_network(6, 6, 2, activation="tanh"), size=0.3), x6) == total
    assert effective_parameters(shaken(plain_network(3, 4, 2, activation="linear")), x) == 4
    silent = plain_network(3, 4, 2)
    with torch.no_grad():
        silent[2].bias -= 100
    assert effective_parameters(silent, x) == 1
    assert landscape(silent, random_patterns(60, 3), HINGE).n_dead == 60
    with pytest.raises(ValueError, match="fewer than the .* parameters: the rank would be cut off"):
        effective_parameters(plain_network(3, 40, 2), x)


def test_t10_rescaling_a_neuron_changes_nothing():
    net, x = shaken(plain_network(3, 4, 2)), random_patterns(20, 3).inputs
    before = net(x)
    with torch.no_grad():
        net[0].weight[1] *= 7
        net[0].bias[1] *= 7
        net[2].weight[:, 1] /= 7
    torch.testing.assert_close(net(x), before)


def test_t11_exponents_of_known_laws():
    rng = np.random.default_rng(0)
    overlaps = rng.random(20_000) ** (1 / 1.3)  # density z^0.3
    gaps = rng.random(20_000) ** (1 / 0.8)  # density z^-0.2
    assert small_argument_exponent(overlaps).contains(0.3)
    assert small_argument_exponent(gaps).contains(-0.2)
    assert not small_argument_exponent(overlaps).contains(-0.2)
    result = landscape(plain_network(3, 4, 1), random_patterns(10, 3), HINGE)
    assert result.overlap_exponent is None  # ten patterns are too few
    slack = np.concatenate([overlaps, -gaps, np.full(3000, 1e-3)])
    known = replace(result, slack=slack, dead=slack == 1e-3)
    assert known.overlap_exponent.contains(0.3)
    assert known.gap_exponent.contains(0.2)
    assert not replace(known, dead=np.zeros(len(slack), bool)).overlap_exponent.contains(
        0.3
    )  # dead patterns would spoil it
    with pytest.raises(ValueError, match="at least 50 positive samples; got 0"):
        small_argument_exponent(-overlaps)


@pytest.mark.parametrize("n", [60, 1000])
def test_intervals_of_exponents_cover_as_often_as_they_say(n):
    rng, trials = np.random.default_rng(n), 2000
    found = [small_argument_exponent(rng.random(n) ** (1 / 1.3)) for _ in range(trials)]
    error = 3.3 * (0.95 * 0.05 / trials) ** 0.5  # one test in a thousand would be outside by chance
    assert np.mean([interval.contains(0.3) for interval in found]) == pytest.approx(0.95, abs=error)
    assert np.mean([interval.contains(1.3) for interval in found]) < 0.9  # the control: another law is told apart


def test_t12_training_stops_at_zero_loss():
    data = random_patterns(10, 5)
    method = GradientDescent(optimiser="adam", learning_rate=0.01, steps=2000, loss=HINGE, stop=AllFitted())
    fitted = method.fit(plain_network(5, 10, 2), data)
    assert bool(fitted.finished)
    assert int(fitted.steps) < 2000
    result = landscape(fitted.network(), data, HINGE)
    assert result.loss == 0
    assert result.n_unsatisfied == 0
    assert np.abs(result.total).max() == 0


def test_lanczos_density_has_the_moments_of_the_spectrum():
    data, net = random_patterns(60, 3), shaken(plain_network(3, 3, 2))
    dense = landscape(net, data, HINGE)
    sparse = landscape(net, data, HINGE, dense_up_to=10, lanczos_steps=28, probes=2)
    for part, exact, nodes in zip(
        range(3), (dense.first, dense.second, dense.total), (sparse.first, sparse.second, sparse.total)
    ):
        weights = sparse.weights[part]
        assert weights.sum() == pytest.approx(1)
        spread = np.sqrt(2 * (exact**4).mean() / dense.n_parameters / 2)  # Hutchinson's error of the second moment
        assert abs((weights * nodes**2).sum() - (exact**2).mean()) < 4 * spread
        np.testing.assert_allclose([nodes.max(), nodes.min()], [exact.max(), exact.min()], atol=1e-6)
    nodes, _ = lanczos_density(hessian_operators(net, data.inputs, data.targets, HINGE).first, steps=5)
    assert len(nodes) == 20


def test_lanczos_of_a_diagonal_matrix_has_its_moments():
    """Signs as probes: v'A^k v is the mean of the k-th powers, and Gauss quadrature of s nodes is exact up to k = 2s - 1."""
    entries = np.array([-2.0, 0.5, 1.0, 3.0, 7.0, 7.5, 11.0])
    for steps in (1, 2, 3, 7, 50):
        nodes, weights = lanczos_density(aslinearoperator(np.diag(entries)), steps=steps, probes=3)
        assert len(nodes) == 3 * min(steps, 7)
        for k in range(2 * min(steps, 7)):
            assert (weights * nodes**k).sum() == pytest.approx((entries**k).mean(), rel=1e-8)
    nodes, weights = lanczos_density(aslinearoperator(np.diag([4.0] * 5)), steps=3, probes=2)  # it ends by itself
    assert nodes.tolist() == pytest.approx([4.0, 4.0])
    assert weights.tolist() == pytest.approx([0.5, 0.5])


def test_cusps_and_messages():
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 1)).double()
    with torch.no_grad():
        net[0].weight.copy_(torch.eye(2))
    assert count_cusps(net, torch.tensor([[0.0, 1.0], [0.0, 0.0], [2.0, 1.0]])) == 3
    with pytest.raises(ValueError, match="one output and one target"):
        landscape(plain_network(3, 4, 1, outputs=2), random_patterns(10, 3))
    with pytest.raises(ValueError, match="activation must be one of relu, tanh, linear; got 'sin'"):
        plain_network(3, 4, 1, activation="sin")


class CosineHead(nn.Module):
    """Cosines between inputs and weights, which a 2-d weight and a scale do not show."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in, generator=torch.Generator().manual_seed(0)))
        self.scale = 2.0

    def forward(self, x):
        return self.scale * nn.functional.normalize(x, dim=1) @ nn.functional.normalize(self.weight, dim=1).mT


class HalfGradient(nn.Linear):
    """The values of a linear layer, half of its gradient."""

    def forward(self, x):
        out = super().forward(x)
        return (out + out.detach()) / 2


class Taught(DenseModule):
    """A child that computes something else than its parent says of itself."""

    def forward(self, x):
        return super().forward(x).square()


def heads():
    build = ps.models.Build(torch.Generator().manual_seed(0))
    hooked = nn.Linear(5, 1)
    hooked.register_forward_hook(lambda module, args, out: out.tanh())
    unit = CosineHead(5, 1)
    unit.weight.data = nn.functional.normalize(unit.weight.data, dim=1)
    return [CosineHead(5, 1), unit, HalfGradient(5, 1), hooked, Taught(5, 1, ps.models.Dense(), build)]


@pytest.mark.parametrize("head", heads(), ids=["cosine", "unit", "half", "hooked", "child"])
def test_only_what_computes_a_dense_layer_is_differentiated_as_one(head):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), head).double()
    data = random_patterns(20, 3)
    found = hessian_split(net, data.inputs, data.targets, Squared())
    traced = hessian_split(Opaque(net), data.inputs, data.targets, Squared())
    torch.testing.assert_close(found.total, traced.total, atol=1e-12, rtol=1e-9)
    assert float(traced.total.norm()) > 1e-3


def test_layers_along_the_last_axis_are_not_flattened():
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1), nn.Flatten()).double()
    x = torch.randn(6, 2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found, traced = (hessian_split(m, x, torch.zeros(6, 2), Squared()) for m in (net, Opaque(net)))
    torch.testing.assert_close(found.total, traced.total, atol=1e-12, rtol=1e-9)


@pytest.mark.parametrize("outputs", [1, 2])
def test_satisfied_patterns_count_in_the_mean_and_nowhere_else(outputs):
    data = random_patterns(30, 4)
    net = shaken(plain_network(4, 5, 2, activation="tanh", outputs=outputs))
    y = data.targets.expand(-1, outputs)
    f = net(data.inputs).detach()
    y = torch.where(torch.arange(30)[:, None] < 11, y, f.sign() * 2)  # beyond the eleventh, targets on the right side
    with torch.no_grad():
        net[-1].weight *= 1 + 3 / f[11:].abs().min()  # … by more than the margin
        net[-1].bias *= 1 + 3 / f[11:].abs().min()
    f = net(data.inputs).detach()
    gap = 1 - y * f
    unsatisfied = (gap > 0).any(1)
    assert 0 < int(unsatisfied.sum()) <= 11
    names = [name for name, _ in net.named_parameters()]

    def outputs_of(w):
        params = dict(zip(names, (p.view_as(q) for p, q in zip(w.split(sizes), net.parameters()))))
        return torch.func.functional_call(net, params, (data.inputs,))

    sizes = [p.numel() for p in net.parameters()]
    w = torch.cat([p.detach().flatten() for p in net.parameters()])
    J = torch.func.jacrev(outputs_of)(w)  # (n, outputs, N): by hand over all thirty, the satisfied with weight zero
    weight = (gap > 0) * y**2
    first = torch.einsum("pon,po,pom->nm", J, weight, J) / 30
    operators = hessian_operators(net, data.inputs, y, HINGE)
    identity = np.eye(len(w))
    found = np.stack([operators.first @ e for e in identity])
    np.testing.assert_allclose(found, first.numpy(), atol=1e-10 * float(first.abs().max()))
    dense = hessian_split(net, data.inputs, y, HINGE).first
    np.testing.assert_allclose(dense, first.numpy(), atol=1e-10 * float(first.abs().max()))
    assert float(first.abs().max()) > 1e-3


def by_autograd(network, x, y, loss):
    """The Hessian by differentiating the gradient, entry by entry."""
    params = list(network.parameters())
    grads = torch.autograd.grad(loss(network(x), y), params, create_graph=True)
    rows = []
    for entry in torch.cat([g.flatten() for g in grads]):
        found = torch.autograd.grad(entry, params, retain_graph=True, allow_unused=True)
        rows.append(torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for g, p in zip(found, params)]))
    return torch.stack(rows)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.end = nn.GRU(2, 3, batch_first=True), nn.Linear(3, 1)

    def forward(self, x):
        return self.end(self.cell(x.reshape(len(x), -1, 2))[0][:, -1])


@pytest.mark.parametrize("make", [Recurrent, lambda: nn.Sequential(nn.Linear(4, 3), nn.PReLU(3), nn.Linear(3, 1))])
def test_what_vmap_does_not_know_goes_one_by_one(make):
    torch.manual_seed(0)
    network, x, y = make().double(), torch.randn(5, 4).double(), torch.randn(5, 1).double()
    found = hessian_split(network, x, y, Squared()).total
    torch.testing.assert_close(found, by_autograd(network, x, y, Squared()), rtol=1e-9, atol=1e-12)


def test_hessians_that_would_be_wrong_are_refused():
    torch.manual_seed(0)
    dense = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
    x, y = torch.randn(5, 4), torch.randn(5, 1)
    for bad in (y[:, 0], y[:1], y[:3], y.mT):
        with pytest.raises(ValueError, match=r"as wide as the outputs, \(5, 1\); got"):
            hessian_split(dense, x, bad, Squared())
    normed = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), nn.Tanh(), nn.Linear(3, 1))
    with pytest.raises(ValueError, match="second derivative of weight_norm"):
        hessian_split(normed, x, y, Squared())
    own = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
    own[0].forward = lambda z: nn.functional.linear(z, own[0].weight.sin())
    with pytest.raises(ValueError, match="was replaced on the object"):
        hessian_split(own, x, y, Squared())
    with pytest.raises(ValueError, match="answers each input by itself"):
        hessian_split(nn.Sequential(nn.Linear(4, 1), nn.Softmax(0)), x, y, Squared())
    with pytest.raises(ValueError, match="one output; got 2"):
        effective_parameters(nn.Linear(4, 2), x)


def test_the_second_derivative_of_weight_norm_is_still_wrong_in_torch():
    """When this fails, torch is right again and the refusal can go."""
    v = torch.randn(3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    g = torch.ones(3, 1, dtype=torch.float64, requires_grad=True)
    norm = lambda v, g: torch._weight_norm(v, g, 0)  # noqa: E731
    assert torch.autograd.gradcheck(norm, (v, g))
    assert not torch.autograd.gradgradcheck(norm, (v, g), raise_exception=False)


def test_cusps_of_functions_and_of_changes_in_place():
    """Only modules were seen, and in place what had become zero counted as sitting on a kink."""

    class Functional(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(1, 2, bias=False)

        def forward(self, x):
            return torch.nn.functional.relu(self.layer(x))

    x = torch.tensor([[0.0], [1.0], [-1.0]])
    for network in (Functional(), nn.Sequential(nn.Linear(1, 2, bias=False), nn.ReLU(inplace=True))):
        nn.init.ones_(next(network.parameters()))
        assert count_cusps(network, x) == 2  # the first pattern, both neurons
    assert count_cusps(nn.Sequential(nn.Linear(1, 2, bias=False), nn.Tanh()), x) == 0


def test_the_exponent_of_small_arguments_is_that_of_hill():
    """Hill (1975): one over the mean of log(z_k / z_i) over the k smallest, less one for the density."""
    z = np.random.default_rng(3).random(400) ** 2.5
    found = small_argument_exponent(z, fraction=0.25)
    ordered = np.sort(z)
    hill = 100 / sum(math.log(ordered[100] / value) for value in ordered[:100])
    assert found.value == pytest.approx(hill - 1)
    low, high = stats.chi2.ppf([0.025, 0.975], 200) / 200
    assert (found.low, found.high) == pytest.approx((low * hill - 1, high * hill - 1))
