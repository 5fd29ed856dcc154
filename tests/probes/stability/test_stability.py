"""Identities of D, G and R, layers by hand, batch normalisation, families of moves, and what is refused."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope.data.deformations import FoldWarning, deform, displaced, temperature_for
from priorscope.probes import (
    NoResponse,
    Stability,
    noise_sweep,
    stability,
    stability_curve,
    stability_path,
    stability_sweep,
)
from priorscope.probes.stability._layers import layers_of, probing
from priorscope.probes.stability._response import sphere_noise


def images(N=101, C=2, n=12, dtype=torch.float64):
    g = torch.Generator().manual_seed(0)
    rough = torch.randn(N, C, n, n, generator=g, dtype=dtype)
    return rough + rough.roll(1, -1) + rough.roll(1, -2)


class Function(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x)


def net(seed=0, inputs=2 * 12 * 12):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Flatten(), nn.Linear(inputs, 16), nn.Tanh(), nn.Linear(16, 3)).double()


# -- identities --------------------------------------------------------------------------------------------------------


def test_the_identity_is_as_sensitive_to_moves_as_to_noise():
    for f in (lambda x: x, lambda x: 3 * x.flip(-1) + 1):
        found = stability(Function(f), images(), n_seeds=2)
        np.testing.assert_allclose(found.values[:, -1, 0] / found.values[:, -1, 1], 1, rtol=1e-12)
    mean = stability(Function(lambda x: x), images(), average="mean")
    assert mean.R.value > 1  # ⟨a²⟩ ≥ ⟨a⟩²
    x, T = images(), temperature_for(1.0, 3, 12)
    rows = torch.randperm(101, generator=torch.Generator().manual_seed(0))
    d = (deform(x[rows], T, 3, seed=0) - x[rows]).flatten(1).norm(dim=1)
    assert mean.values[0, 0, 0] / mean.values[0, 0, 1] == pytest.approx(float(d.square().mean() / d.mean() ** 2))


def test_numbers_are_those_of_the_definition():
    f, x = net(), images()
    found = stability(f, x, n_seeds=1, seed=4)
    rows = torch.randperm(101, generator=torch.Generator().manual_seed(4))
    x = x[rows]
    moved = deform(x, temperature_for(1.0, 3, 12), 3, seed=4)
    r = np.median((moved - x).flatten(1).norm(dim=1))
    assert found.radius == pytest.approx(r)
    noisy = x + sphere_noise(x, r, 4 + 0x5EED)
    with torch.no_grad():
        square = lambda a, b: np.median((f(a) - f(b)).square().sum(1))  # noqa: E731
        V = square(x, x.roll(1, 0))
        assert found.D.value == pytest.approx(square(moved, x) / V)
        assert found.G.value == pytest.approx(square(noisy, x) / V)
    assert found.R.value == pytest.approx(found.D.value / found.G.value)
    assert not np.isfinite(found.R.high)  # one draw has no interval
    assert "one draw" in found.sentence


def test_scale_and_shift_of_the_function_change_nothing():
    f, x = net(), images()
    plain = stability(f, x)
    scaled = stability(Function(lambda a: 7 * f(a) - 2), x)
    np.testing.assert_allclose(plain.values, scaled.values, rtol=1e-9)
    other = stability(Function(lambda a: f(a) ** 2), x)
    assert abs(other.R.value / plain.R.value - 1) > 1e-3


def test_a_function_that_does_not_see_the_moves_has_no_change_under_them():
    shifts = ps.data.groups.translations((2, 12, 12))
    found = stability(Function(lambda x: x.mean((2, 3))), images(), shifts)
    assert found.D.value < 1e-20
    assert found.answer == "less"
    assert found.sentence.startswith("Function is less sensitive to the group translations than to noise")


def test_noise_is_uniform_on_the_sphere_and_stability_to_it_is_quadratic():
    g = sphere_noise(torch.zeros(4000, 3, dtype=torch.float64), 2.0, seed=1)
    assert g.norm(dim=1).tolist() == pytest.approx([2.0] * 4000)
    assert g.mean(0).abs().max() < 5 * (4 / 3 / 4000) ** 0.5
    slopes = noise_sweep(net(), images(), [1e-3, 1e-2, 1e-1]).table().slope.dropna()
    np.testing.assert_allclose(slopes, 2, atol=0.02)
    far = noise_sweep(net(), images(), [100, 1000]).table().slope.iloc[1]
    assert far < 1  # where tanh saturates


# -- layers and norms --------------------------------------------------------------------------------------------------


def test_layers_see_the_same_moves_and_are_named_by_their_weights():
    f, x = net(), images()
    found = stability(f, x, layers=True)
    assert found.layers == ("1", "output")
    first = stability(f[:3], x)
    np.testing.assert_allclose(found.values[:, 0], first.values[:, 0])
    np.testing.assert_allclose(found.values[:, 1], stability(f, x).values[:, 0])
    assert found.table().depth.tolist() == [0.0, 1.0]
    block = nn.Sequential(
        nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Sequential(nn.Conv2d(3, 3, 3)), nn.Flatten()
    )
    assert layers_of(block, torch.zeros(2, 2, 12, 12)) == [(2, "0"), (4, "3.0")]


def test_hooks_are_gone_and_modes_and_statistics_are_put_back():
    torch.manual_seed(0)
    f = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(), nn.Flatten(), nn.Linear(400, 2))
    f.double()
    f[3].eval()
    before = copy.deepcopy(f.state_dict())
    found = stability(f, images(), layers=True)
    assert all(torch.equal(a, b) for a, b in zip(before.values(), f.state_dict().values()))
    assert [part.training for part in f] == [True, True, True, False, True, True]
    assert all(not part._forward_hooks for part in f.modules())
    with torch.no_grad():  # batch statistics at initialisation: by hand
        x = images()[torch.randperm(101, generator=torch.Generator().manual_seed(0))]
        g = copy.deepcopy(f).train()
        g[3].eval()
        moved = deform(x, temperature_for(1.0, 3, 12), 3, seed=0)
        D = np.median((g(moved) - g(x)).square().sum(1)) / np.median((g(x) - g(x).roll(1, 0)).square().sum(1))
    assert found.values[0, -1, 0] == pytest.approx(D)
    stored = stability(f, images(), batch_norm="stored")
    assert abs(stored.D.value / found.D.value - 1) > 1e-3
    f.train()(images())  # a batch was seen: from now on the stored statistics are used
    np.testing.assert_allclose(stability(f, images()).values, stability(f, images(), batch_norm="stored").values)
    with pytest.raises(ValueError, match="batch_norm must be"):
        stability(f, images(), batch_norm="none")


# -- families ----------------------------------------------------------------------------------------------------------


def test_gaussian_reading_is_compared_with_the_smoothed_image():
    f, x = net(), images()
    smooth = displaced(x, x.new_zeros(101, 2, 12, 12), "gaussian")
    moves = ps.data.Deform(1.0, 3, interpolation="gaussian")
    found = stability(f, x, moves, n_seeds=1)
    rows = torch.randperm(101, generator=torch.Generator().manual_seed(0))
    moved = moves(x[rows], seed=0)
    assert found.radius == pytest.approx(np.median((moved - smooth[rows]).flatten(1).norm(dim=1)))
    tiny = stability(f, x, ps.data.Deform(1e-6, 3, interpolation="gaussian"))
    assert tiny.D.value < 1e-8
    assert tiny.notes[0].startswith("pixels move by less than half a pixel")


def test_functions_with_and_without_a_seed_are_families():
    f, x = net(), images()
    seeded = stability(f, x, lambda a, seed: a + 0.1 * sphere_noise(a, 1.0, seed))
    drawn = stability(f, x, lambda a: a + 0.1 * torch.randn_like(a) / a[0].numel() ** 0.5)
    for found in (seeded, drawn):
        assert found.R.low < 1.3 < 1.3 / found.R.low * 2  # noise against noise
        assert found.answer == "about as" or 0.7 < found.R.value < 1.4
        assert found.family == "the given transformation"
    state = torch.get_rng_state()
    again = stability(f, x, lambda a: a + 0.1 * torch.randn_like(a) / a[0].numel() ** 0.5)
    assert torch.equal(torch.get_rng_state(), state)
    np.testing.assert_array_equal(again.values, drawn.values)


def test_named_families_and_groups():
    f, x = net(), images()
    for name in ("shift", "turn", "zoom"):
        found = stability(f, x, name, delta=0.7)
        assert found.family == f"{name}s by 0.7 pixels"
        assert found.n_images == 101
    flips = stability(f, x, ps.data.groups.flips((2, 12, 12)))
    assert flips.radius > found.radius  # the identity is left out, and a flip moves far
    vectors = stability(nn.Linear(5, 2), torch.randn(30, 5), ps.data.groups.shared_orthogonal((5,)))
    assert vectors.examples is None
    with pytest.raises(ValueError, match="no pictures"):
        vectors.pictures()


# -- subjects ----------------------------------------------------------------------------------------------------------


def test_modules_lists_families_factories_and_fits():
    data = ps.data.digits().subset(40, n_test=60)
    few = {"delta": 0.7, "cutoff": 2, "n_images": 50}
    fresh = stability(ps.models.fcn(1), data, width=32, n_seeds=4, **few)
    assert len(fresh.values) == 4
    assert fresh.subject == "fcn"
    nets = [ps.models.fcn(1).network((1, 8, 8), width=32, outputs=10, seed=s) for s in range(4)]
    np.testing.assert_allclose(stability(nets, data, **few).values, fresh.values)
    made = stability(lambda input_shape, outputs: nn.Sequential(nn.Flatten(), nn.Linear(64, outputs)), data, **few)
    assert np.ptp(made.values) > 0
    fitted = ps.inference.GradientDescent(steps=5).fit(nets[0], data)
    np.testing.assert_allclose(
        stability(fitted, data, name="own", **few).values, stability(fitted.network(), data, **few).values, rtol=1e-5
    )
    kernel = ps.inference.KernelRegression(ridge=1e-3).fit(ps.models.fcn(1), data)
    assert stability(kernel, data, **few).R.value > 0


def test_sweeps_curves_and_paths():
    data = ps.data.digits().subset(60, n_test=60)
    model = ps.models.fcn(1)
    swept = stability_sweep(model, data, [0.4, 0.7], [2, 3], ["bilinear", "gaussian"], width=16, n_images=50, n_seeds=2)
    assert len(swept.table()) == 8
    at = stability(model, data, delta=0.7, cutoff=2, width=16, n_images=50, n_seeds=2)
    row = swept.table().query("delta == 0.7 and cutoff == 2 and interpolation == 'bilinear'").iloc[0]
    assert pytest.approx(at.R.value) == row.R
    assert row.admissible
    system = ps.System(
        data, model, ps.inference.GradientDescent(steps=80, learning_rate=0.05, optimiser="adam"), width=16
    )
    settings = {"delta": 0.7, "cutoff": 2, "n_images": 50}
    curve = stability_curve(system, [20, 60], n_seeds=2, **settings)
    first = [model.network((1, 8, 8), width=16, outputs=10, seed=s) for s in range(2)]
    assert curve.table().R.iloc[0] == pytest.approx(stability(first, data, **settings).R.value)
    assert (curve.table().error.iloc[1:] < 0.8).all()  # chance is 0.9
    path = stability_path(system, points=3, **settings)
    assert path.table().step.tolist()[0] == 0
    assert path.table().step.tolist()[-1] == 80
    assert path.table().R.iloc[0] == pytest.approx(stability(first[0], data, **settings).R.value)
    assert path.table().R.iloc[-1] == pytest.approx(stability(system.run(0).fitted, data, **settings).R.value, rel=1e-4)
    for result in (swept, curve, path, at):
        assert "Chart" in type(result.chart()).__name__
        result.chart().to_dict()
    at.pictures().to_dict()
    with pytest.raises(ValueError, match="this system is a kernel"):
        stability_curve(ps.System(data, model, ps.inference.KernelRegression()), [20])
    with pytest.raises(ValueError, match="stability_path follows GradientDescent"):
        stability_path(ps.System(data, model, ps.inference.GradientFlow()))


def test_sentences():
    def said(D, G):
        return Stability(
            "net", "turns by 1 pixel", ("output",), np.array([[[d, g]] for d, g in zip(D, G)]), "median", 1.0, 9
        )

    assert "net is less sensitive to turns by 1 pixel than to noise" in said([0.1, 0.11], [1.0, 1.0]).sentence
    assert "net is more sensitive" in said([3.0, 3.1], [1.0, 1.0]).sentence
    assert "net is about as sensitive to turns by 1 pixel as to noise" in said([0.9, 1.2], [1.0, 1.0]).sentence
    assert said([0.1, 0.4], [1.0, 1.0]).R.value == pytest.approx(0.2)  # geometric
    with pytest.raises(ValueError, match="there are D, G and R"):
        said([1.0], [1.0]).interval("Q")


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "data", "options", "error", "words"),
    [
        (3, images(), {}, TypeError, "needs a torch.nn.Module, a list of them, an architecture"),
        ([], images(), {}, TypeError, "a list of models must hold torch.nn.Modules"),
        (Function(lambda x: x[:, :1] * 0), images(), {}, NoResponse, "the model ignores its input"),
        (Function(lambda x: x / 0), images(), {}, NoResponse, "outputs are not finite"),
        (nn.Linear(5, 1), images(), {}, ValueError, "does not take inputs of shape \\(2, 12, 12\\)"),
        (net(), images()[:1], {}, ValueError, "needs two at least"),
        (net(), images().long(), {}, ValueError, "needs floating-point inputs; got torch.int64"),
        (net(), images() * torch.nan, {}, ValueError, "needs finite data"),
        (net(), images(), {"average": "mode"}, ValueError, "average must be 'median' or 'mean'"),
        (net(), images(), {"transformation": "wobble"}, ValueError, "one of deformation, shift, turn, zoom"),
        (net(), images(), {"transformation": 3}, TypeError, "one of deformation, shift, turn, zoom"),
        (net(), images(), {"delta": 0.0}, ValueError, "half of the images or more stay as they are"),
        (
            net(),
            images(),
            {"transformation": lambda x: x[:, :1]},
            ValueError,
            "gives a batch of the shape it was given",
        ),
        (net(), images(), {"transformation": lambda x: x * torch.inf}, ValueError, "gave images that are not finite"),
        (net(), images(), {"transformation": ps.data.groups.flips((1, 8, 8))}, ValueError, "acts on inputs of shape"),
        (nn.Linear(5, 1), torch.randn(9, 5), {}, ValueError, "move images \\(channels, n, n\\); got .*\\(5,\\)"),
        (net(), images(n=13)[..., :12], {}, ValueError, "square images"),
        (net(), images(), {"n_images": 1}, ValueError, "n_images >= 2"),
        (lambda: 3, images(), {}, TypeError, "a factory must give a torch.nn.Module; it gave a int"),
        (Function(lambda x: "words"), images(), {}, TypeError, "a network must give a tensor; it gave a str"),
    ],
)
def test_mistakes_are_told(model, data, options, error, words):
    with pytest.raises(error, match=words):
        stability(model, data, **options)


def test_fields_that_fold_are_told_once():
    with pytest.warns(FoldWarning, match="above T_max") as caught:
        found = stability(net(), images(), delta=4.0)
    assert len(caught) == 1
    assert "many images fold" in found.notes[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not stability_sweep(net(), images(), [4.0]).table().admissible.any()


def test_both_batch_norms_are_normalised_by_the_batch_and_put_back():
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Conv2d(2, 2, 3), nn.BatchNorm2d(2), nn.Flatten()
    )
    network.train()
    network[3].eval()
    before = {k: v.clone() for k, v in network.state_dict().items()}
    with probing(network) as by_batch:
        assert by_batch
        assert [m.training for m in network] == [False, True, False, False, True, False]
        assert not torch.is_grad_enabled()
        network(torch.randn(8, 1, 8, 8, generator=torch.Generator().manual_seed(0)))
        assert int(network[1].num_batches_tracked) == 1
    assert [m.training for m in network] == [True, True, True, False, True, True]
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name]), name
    network[1].num_batches_tracked.fill_(3)
    network[4].num_batches_tracked.fill_(3)
    with probing(network) as by_batch:
        assert not by_batch  # both have seen batches
    with probing(network, "batch") as by_batch:
        assert by_batch
    network[4].num_batches_tracked.fill_(0)
    with probing(network, "stored") as by_batch:
        assert not by_batch


@pytest.mark.parametrize(
    ("cutoffs", "interpolations", "by"),
    [((2, 3), ("bilinear",), "cutoff"), ((2,), ("bilinear", "gaussian"), "interpolation"), ((2,), ("bilinear",), None),
     ((2, 3), ("bilinear", "gaussian"), "fields")],
)  # fmt: skip
def test_a_sweep_is_coloured_by_what_varies(cutoffs, interpolations, by):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Flatten(), nn.Linear(64, 2))
    x = torch.randn(6, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    found = ps.probes.stability_sweep(network, x, (0.5,), cutoffs, interpolations, n_seeds=1)
    assert found.by == by
    assert len(found.table()) == len(cutoffs) * len(interpolations)


def test_every_draw_of_a_factory_must_be_a_module() -> None:
    """A factory that gives a number for its first seed and networks for the others is refused."""
    from priorscope.probes.stability._subject import networks_of

    def moody(seed: int) -> object:
        return torch.nn.Linear(4, 1) if seed else 3

    assert len(networks_of(moody, (4,), 1, 2, 1)[1]) == 2
    with pytest.raises(TypeError, match="it gave a int"):
        networks_of(moody, (4,), 1, 2, 0)


def test_a_sweep_of_noise_takes_the_average_it_is_told():
    """Responses of a quadratic function differ from image to image, and so do their mean and their median."""
    x = images()
    G = [
        noise_sweep(Function(torch.square), x, [0.1], average=a, n_seeds=2).table().G.iloc[0]
        for a in ("mean", "median")
    ]
    assert G[0] != pytest.approx(G[1], rel=1e-5)  # exactly the same if it were not handed on
