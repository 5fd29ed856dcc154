"""Average geometry against closed forms, against a plain loop, and with its error bars checked."""

from itertools import pairwise

import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope.probes import AverageGeometry, average_geometry, linear_conv_geometry, relu_geometry


def within(G: AverageGeometry, exact: torch.Tensor, errors: float = 6.0) -> bool:
    return bool(((G.matrix - exact.double()).abs() <= errors * G.standard_error + 1e-12).all())


class ConvMean(nn.Module):
    """Linear 1-D convolution, average over two places; weights N(0, 1)."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1, 1, 2, generator=torch.Generator().manual_seed(seed)))

    def forward(self, x):
        return nn.functional.conv1d(x, self.weight).mean(-1)


def test_linear_convolution_with_pooling_has_its_closed_form():
    exact = linear_conv_geometry(3, 2, 2)
    G = average_geometry(ConvMean, (1, 3), n_models=2000, n_probes=2)
    assert G.readout == "sampled"
    assert within(G, exact)
    assert not within(G, 2 * exact)  # the printed prefactor of the worked example
    lam, modes = torch.linalg.eigh(exact.double())
    torch.testing.assert_close(lam / lam[-1], torch.tensor([0, 1 / 3, 1.0], dtype=torch.float64), atol=1e-6, rtol=0)
    for vector in ([1.0, 2, 1], [-1, 0, 1], [1, -1, 1]):
        v = torch.tensor(vector, dtype=torch.float64)
        assert ((modes.mT @ v).abs() / v.norm()).max() > 1 - 1e-6
    with pytest.raises(ValueError, match="needs at least 3 inputs"):
        linear_conv_geometry(2, 2, 2)


@pytest.mark.parametrize("readout", ["auto", "sample"])
def test_one_hidden_layer_relu_is_a_multiple_of_the_identity(readout):
    arch = ps.models.fcn(depth=1, weight_variance=2.0)  # W: 2/5 an entry, readout: 2/width an entry
    G = average_geometry(arch, (5,), n_models=1500, n_probes=4, width=16, readout=readout)
    exact = relu_geometry(5, weight_variance=2 / 5, readout_variance=2.0)
    assert within(G, exact)
    assert not within(G, 1.5 * exact)
    assert G.readout.startswith("integrated" if readout == "auto" else "sampled")


def test_integrating_the_readout_is_exact_and_less_noisy():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 3))
    exact_readout = average_geometry(module, (6,), n_models=2000, n_probes=4)
    sampled = average_geometry(module, (6,), n_models=2000, n_probes=4, readout="sample")
    noise = (exact_readout.standard_error**2 + sampled.standard_error**2).sqrt()
    assert ((exact_readout.matrix - sampled.matrix).abs() < 5 * noise).all()
    assert exact_readout.relative_error < 0.7 * sampled.relative_error


def test_vmap_equals_loop_and_a_model_that_vmap_cannot_trace_says_so():
    def factory(seed):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return nn.Sequential(nn.Conv2d(1, 3, 3), nn.Tanh(), nn.Flatten(), nn.Linear(12, 1))

    options = {"n_models": 6, "n_probes": 3, "seed": 1}
    fast = average_geometry(factory, (1, 4, 4), engine="vmap", **options)
    slow = average_geometry(factory, (1, 4, 4), engine="loop", **options)
    torch.testing.assert_close(fast.matrix, slow.matrix, rtol=1e-5, atol=1e-8)

    class Branching(nn.Linear):
        def forward(self, x):
            return super().forward(x) if float(x.sum()) > -1e9 else x

    G = average_geometry(lambda seed: Branching(4, 1), (4,), n_models=20)
    assert G.engine == "loop"
    assert "vmap could not trace" in G.notes[0]


def test_standard_errors_cover_and_precision_stops():
    module = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    reference = average_geometry(module, (4,), n_models=20_000, n_probes=4, seed=99)
    pulls = []
    for seed in range(12):
        G = average_geometry(module, (4,), n_models=400, n_probes=4, seed=seed)
        pulls.append(((G.matrix - reference.matrix) / G.standard_error).diagonal())
    spread = float(torch.cat(pulls).std())
    assert 0.7 < spread < 1.5  # honest: about one standard error
    early = average_geometry(module, (4,), n_models=20_000, n_probes=4, precision=0.05)
    assert early.n_models < 2_000  # blocks start small, so it does not overshoot by much
    assert early.relative_error <= 0.05


def test_probe_points_and_results():
    data = ps.data.digits("parity").subset(50)
    G = average_geometry(ps.models.gap(depth=1), data.inputs, n_models=40, width=8)
    assert G.input_shape == (1, 8, 8)
    assert float(G.score(data.inputs).min()) > 0
    assert G.table()["eigenvalue"].is_monotonic_decreasing
    assert G.condition_number > 10
    assert abs(float(G.table()["share"].sum()) - 1) < 1e-9
    for chart in (G.chart(), G.picture(limit=8), G.modes_picture(2)):
        assert chart.to_dict()["$schema"]
    with pytest.raises(ValueError, match="needs image inputs"):
        AverageGeometry(torch.eye(2), torch.zeros(2, 2), (2,), 3).modes_picture()


class Frozen(nn.Module):
    """A scale that is drawn but not trained, and BatchNorm."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", 2.0 * torch.randint(0, 2, (1,)))
        self.norm, self.readout = nn.BatchNorm1d(3), nn.Linear(3, 1)

    def forward(self, x):
        return self.readout(self.norm(x) * self.scale)


def test_factories_take_a_seed_or_nothing_and_keep_their_buffers():
    state = torch.get_rng_state()
    G = average_geometry(Frozen, (3,), n_models=800, n_probes=2)
    assert torch.equal(torch.get_rng_state(), state)
    # E[scale²] = 2 and weights U(-1/√3, 1/√3): G = 2 · I/9; one frozen draw for all would give 0 or 4 · I/9
    assert within(G, torch.eye(3) * 2 / 9 / (1 + 1e-5))
    assert not within(G, torch.eye(3) * 4 / 9)
    assert "BatchNorm in evaluation mode" in G.notes[0]
    again = average_geometry(Frozen, (3,), n_models=20, n_probes=2)
    torch.testing.assert_close(
        again.matrix, average_geometry(lambda seed: Frozen(), (3,), n_models=20, n_probes=2).matrix
    )

    def same(seed=0):
        torch.manual_seed(3)
        return nn.Linear(3, 1)

    with pytest.raises(ValueError, match="the same network every time"):
        average_geometry(same, (3,), n_models=4)
    with pytest.raises(ValueError, match="wants width, depth, which is not known here"):
        average_geometry(lambda width, depth: nn.Linear(width, depth), (3,))
    with pytest.raises(ValueError, match="networks of different shapes"):
        average_geometry(lambda seed: nn.Linear(3, 1 + seed), (3,), n_models=40)


def test_bad_input_is_named():
    class Deaf(nn.Linear):
        def forward(self, x):
            return super().forward(0 * x)

    with pytest.raises(ValueError, match="the model ignores its input"):
        average_geometry(lambda seed: Deaf(3, 1), (3,), n_models=4)
    with pytest.raises(ValueError, match=r"does not take inputs of shape \(4,\)"):
        average_geometry(nn.Linear(3, 1), (4,), n_models=4)
    with pytest.raises(ValueError, match="n_models >= 2"):
        average_geometry(nn.Linear(3, 1), (3,), n_models=1)
    with pytest.raises(ValueError, match="has parameters but no reset_parameters"):
        average_geometry(ConvMean(0), (1, 3))
    with pytest.raises(ValueError, match="a factory must map a seed to a torch.nn.Module"):
        average_geometry(lambda seed: 3, (3,))
    with pytest.raises(ValueError, match="no parameters"):
        average_geometry(nn.Flatten(), (3,))
    with pytest.raises(ValueError, match="0 < precision < 1, or None.*It is a relative error"):
        average_geometry(nn.Linear(4, 1), (4,), precision=-1.0)
    with pytest.raises(ValueError, match="G of 125,000,000 inputs takes"):  # before any network of this size is built
        average_geometry(ps.models.fcn(1), (500, 500, 500))
    with pytest.raises(ValueError, match="G of 200,000 inputs takes 1920 GB"):
        average_geometry(nn.Sequential(nn.Conv1d(1, 1, 1), nn.AdaptiveAvgPool1d(1), nn.Flatten()), (1, 200_000))
    with pytest.raises(ValueError, match="probe points must be finite"):
        average_geometry(nn.Linear(3, 1), torch.full((2, 3), torch.nan))


def linear_networks(n, *sizes):
    """Stacks of linear layers without biases: the gradient is the product of the weights, whatever the probe."""
    torch.manual_seed(0)
    pairs = list(pairwise(sizes))
    return [nn.Sequential(*(nn.Linear(i, o, bias=False) for i, o in pairs)).double() for _ in range(n)]


@pytest.mark.parametrize("engine", ["vmap", "loop"])
def test_given_networks_have_the_mean_and_the_error_of_their_outer_products(engine):
    nets = linear_networks(12, 3, 2, 1)
    gradients = torch.stack([(net[1].weight @ net[0].weight).detach()[0] for net in nets])
    products = gradients[:, :, None] * gradients[:, None, :]  # (12, 3, 3)
    G = average_geometry(nets, (3,), n_models=12, n_probes=3, readout="sample", engine=engine)
    torch.testing.assert_close(G.matrix, products.mean(0), rtol=1e-12, atol=1e-15)
    torch.testing.assert_close(G.standard_error, products.std(0) / 12**0.5, rtol=1e-9, atol=1e-15)


def test_an_integrated_readout_is_its_variance_times_the_features_outer_products():
    nets = linear_networks(12, 3, 4, 1)
    variance = torch.cat([net[1].weight.detach().flatten() for net in nets]).square().mean()
    features = torch.stack([(net[0].weight.mT @ net[0].weight).detach() for net in nets])  # Σ_i w_i w_i^T
    G = average_geometry(nets, (3,), n_models=12, n_probes=4)  # four probes, four features: each is seen once
    assert G.readout == "integrated (4 features)"
    torch.testing.assert_close(G.matrix, variance * features.mean(0), rtol=1e-12, atol=1e-15)
    torch.testing.assert_close(G.standard_error, variance * features.std(0) / 12**0.5, rtol=1e-9, atol=1e-15)


def wide_linear(seed):
    """A linear layer whose weights have standard deviation ten."""
    net = nn.Linear(3, 1, bias=False)
    nn.init.normal_(net.weight, std=10, generator=torch.Generator().manual_seed(seed))
    return net


def test_a_module_of_another_law_is_refused_and_its_factory_taken():
    with pytest.raises(ValueError, match=r"cannot draw this module again.*by the law of Linear 0\.111.*pass a factory"):
        average_geometry(wide_linear(0), (3,), n_models=100)
    G = average_geometry(wide_linear, (3,), n_models=1000, n_probes=1)
    assert within(G, 100 * torch.eye(3))
    assert not within(G, torch.eye(3) / 9)


def test_a_network_of_the_library_is_drawn_like_its_architecture():
    arch = ps.models.fcn(depth=1, weight_variance=2.0)
    module = arch.network((4,), width=8, seed=5, parametrisation="standard")
    G = average_geometry(module, (4,), n_models=1500, n_probes=4)
    exact = relu_geometry(4, weight_variance=2 / 4, readout_variance=2.0)
    assert within(G, exact)
    assert not within(G, 1.5 * exact)
    assert "drawn again by the law it states" in G.notes[0]


def test_antisymmetric_halves_are_not_drawn_apart():
    options = {"n_models": 20, "n_probes": 2, "width": 2, "initialisation": "antisymmetric"}
    with pytest.raises(ValueError, match="ignores its input"):  # the halves cancel: no gradient at the start
        average_geometry(ps.models.FiniteModel("two", lambda s, w, o: nn.Linear(s[0], o), 1), (3,), **options)
