"""What passes the door keeps its promises: one suite per protocol, over everything public that claims to have it.

A promise is a short test that takes any object of a protocol; a new model, data set, inference or format is one more line.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import priorscope as ps
from priorscope import contracts
from priorscope.models.kernels._reference import reference_diagonal, reference_kernel

M = ps.models
pytestmark = [pytest.mark.filterwarnings("ignore")]


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def close(now: Tensor, was: Tensor, within: float = 1e-9) -> None:
    torch.testing.assert_close(now, was, rtol=within, atol=within * float(was.detach().abs().max()))


# -- kernels -------------------------------------------------------------------------------------------------------------

FLAT, IMAGES = (3,), (2, 4, 4)
KERNELS: dict[str, tuple[Any, tuple[int, ...]]] = {
    **{
        f"fcn {phi}": (M.fcn(2, activation=phi, bias_variance=0.1), FLAT)
        for phi in ("relu", "erf", "gelu", "tanh", "sign", "abs", "linear")
    },
    "fcn sine": (M.fcn(1, activation=M.Sine(1.1, 0.7, 0.3)), FLAT),
    "fcn hermite": (M.fcn(1, activation=M.Hermite(2)), FLAT),
    "fcn polynomial": (M.fcn(1, activation=M.Polynomial((0.3, 1.0, -0.5))), FLAT),
    "fcn of images": (M.fcn(1), IMAGES),
    "lcn": (M.lcn(2), IMAGES),
    "vec": (M.vec(2, bias_variance=0.2), IMAGES),
    "vec zeros": (M.vec(2, padding="zeros", activation="erf"), IMAGES),
    "gap": (M.gap(2), IMAGES),
    "lap": (M.lap(1, window=2), IMAGES),
    "group_cnn": (M.group_cnn(1), IMAGES),
    "norms and sums": (
        M.Architecture(
            "mixed",
            (
                M.Dense(),
                M.LayerNorm(),
                M.Residual(M.Sequential((M.Activation(M.ReLU()), M.Dense()))),
                M.Scale(0.5),
                M.Dense(),
            ),
        ),
        FLAT,
    ),
    "laplace": (M.laplace(1.3), FLAT),
    "gaussian": (M.gaussian(1.3), FLAT),
    "matern": (M.matern(2.5, 1.3), FLAT),
    "mapped": (M.MappedInputs(M.fcn(1), torch.diag(torch.tensor([2.0, 1.0, 0.1], dtype=torch.float64))), FLAT),
    "mapped laplace": (
        M.MappedInputs(M.laplace(1.0), torch.diag(torch.tensor([2.0, 1.0, 0.1], dtype=torch.float64))),
        FLAT,
    ),
    "invariant": (M.invariant(M.vec(1), "p4"), IMAGES),
}


@functools.cache
def whole(name: str) -> tuple[Tensor, Tensor, Any, Any]:
    model, shape = KERNELS[name]
    x, z = draw(7, *shape), draw(4, *shape, seed=1)
    return x, z, model.kernel(x), model.kernel(x, z)


def symmetric_and_positive(name: str) -> None:
    _, _, own, _ = whole(name)
    for K in (own.nngp, own.ntk):
        assert K.dtype == torch.float64
        assert bool(K.isfinite().all())
        close(K, K.mT, 1e-12)
        assert float(torch.linalg.eigvalsh(K)[0]) > -1e-9 * float(K.diagonal().max())


def two_batches_agree_with_one(name: str) -> None:
    x, _, own, _ = whole(name)
    both = KERNELS[name][0].kernel(x, x.clone())
    close(both.nngp, own.nngp, 1e-7)  # angles of equal inputs are told from their products
    close(both.ntk, own.ntk, 1e-5)


def turned_round(name: str) -> None:
    x, z, _, cross = whole(name)
    back = KERNELS[name][0].kernel(z, x)
    close(back.nngp, cross.nngp.mT, 1e-10)
    close(back.ntk, cross.ntk.mT, 1e-10)


def each_pair_by_itself(name: str) -> None:
    x, z, own, cross = whole(name)
    model = KERNELS[name][0]
    some = torch.tensor([5, 0, 2])
    close(model.kernel(x[some]).ntk, own.ntk[some][:, some], 1e-10)
    close(model.kernel(x[3:4], z[1:3]).ntk, cross.ntk[3:4, 1:3], 1e-10)
    close(model.kernel(x[3:4], z[1:3]).nngp, cross.nngp[3:4, 1:3], 1e-10)


def one_kind_is_that_of_both(name: str) -> None:
    x, z, _, cross = whole(name)
    model = KERNELS[name][0]
    for kind in ("nngp", "ntk"):
        close(getattr(model.kernel(x, z, kinds=(kind,)), kind), getattr(cross, kind), 1e-12)
        close(contracts.kernel_matrix(model, x, z, kind), getattr(cross, kind), 1e-12)


def other_numbers_in_memory(name: str) -> None:
    x, z, _, cross = whole(name)
    model = KERNELS[name][0]
    laid = torch.stack([x, x + 1], -1)[..., 0]
    assert not laid.is_contiguous()
    kept = laid.clone()
    close(model.kernel(laid, z).ntk, cross.ntk, 1e-12)
    assert torch.equal(laid, kept)
    single = model.kernel(x.float(), z.float())
    assert single.ntk.dtype == (torch.float32 if isinstance(model, M.Architecture | M.Invariant) else torch.float64)
    close(single.ntk.double(), cross.ntk, 2e-5 if "sign" not in name else 2e-3)


def blocks_are_the_whole(name: str) -> None:
    x, z, own, cross = whole(name)
    model = KERNELS[name][0]
    if isinstance(model, M.Architecture):
        close(model.kernel(x, block=3).ntk, own.ntk, 1e-12)
        close(model.kernel(x, z, block=3).nngp, cross.nngp, 1e-12)


def fused_is_the_reference(name: str) -> None:
    x, z, own, cross = whole(name)
    model = KERNELS[name][0]
    if isinstance(model, M.Architecture):
        slow = reference_kernel(model, x, z, ("nngp", "ntk"))
        close(cross.nngp, slow.nngp, 1e-8)
        close(cross.ntk, slow.ntk, 1e-6)
        close(reference_diagonal(model, x).ntk, own.ntk.diagonal(), 1e-6)


KERNEL_PROMISES = (
    symmetric_and_positive,
    two_batches_agree_with_one,
    turned_round,
    each_pair_by_itself,
    one_kind_is_that_of_both,
    other_numbers_in_memory,
    blocks_are_the_whole,
    fused_is_the_reference,
)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("promise", KERNEL_PROMISES, ids=lambda p: p.__name__)
def test_kernels(promise, name):
    promise(name)


# -- networks ------------------------------------------------------------------------------------------------------------

FAMILIES: dict[str, tuple[Any, tuple[int, ...], dict[str, Any]]] = {
    "fcn": (M.fcn(2, bias_variance=0.1), FLAT, {"width": 6}),
    "vec": (M.vec(1), IMAGES, {"width": 4}),
    "gap": (M.gap(1), IMAGES, {"width": 4}),
    "lcn": (M.lcn(1), IMAGES, {"width": 3}),
    "group_cnn": (M.group_cnn(1), IMAGES, {"width": 3}),
    "lenet": (M.lenet(), (1, 16, 16), {}),
    "mixer": (M.mixer(depth=1), (1, 8, 8), {}),
    "dense": (M.dense(depth=1, width=8), FLAT, {}),
}


def same_seed_same_network(model: Any, shape: tuple[int, ...], options: dict[str, Any]) -> None:
    before = torch.get_rng_state()
    first, again, other = (model.network(shape, outputs=2, seed=s, **options) for s in (3, 3, 4))
    assert torch.equal(torch.get_rng_state(), before)
    x = draw(3, *shape, dtype=torch.float32)
    with torch.no_grad():
        assert first.eval()(x).shape == (3, 2)
        assert torch.equal(first(x), again.eval()(x))
        assert not torch.allclose(first(x), other.eval()(x))


def rows_do_not_see_each_other(model: Any, shape: tuple[int, ...], options: dict[str, Any]) -> None:
    net = model.network(shape, outputs=2, seed=0, **options).eval().double()
    x = draw(4, *shape)
    with torch.no_grad():
        close(torch.cat([net(x[i : i + 1]) for i in range(4)]), net(x), 1e-10)


def stacked_is_one_by_one(model: Any, shape: tuple[int, ...], options: dict[str, Any]) -> None:
    stack = model.ensemble(shape, outputs=2, seeds=(5, 2, 9), **options)
    assert len(stack) == 3
    x = draw(4, *shape, dtype=torch.float32)
    with torch.no_grad():
        together = stack.call(stack.stacked, x)
        assert together.shape == (3, 4, 2)
        for i, seed in enumerate((5, 2, 9)):
            alone = model.network(shape, outputs=2, seed=seed, **options)
            close(together[i], alone(x), 1e-4)
            close(stack.member(i)(x), alone(x), 1e-4)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(
    "promise", (same_seed_same_network, rows_do_not_see_each_other, stacked_is_one_by_one), ids=lambda p: p.__name__
)
def test_networks(promise, name):
    if promise is not stacked_is_one_by_one or hasattr(FAMILIES[name][0], "ensemble"):
        promise(*FAMILIES[name])


# -- data ----------------------------------------------------------------------------------------------------------------

AXIS = torch.eye(4)[0]
DATA: dict[str, Callable[[int], Any]] = {
    "arrays": lambda seed: ps.data.from_arrays(draw(30, 3).numpy(), draw(30, 1, seed=1).numpy(), seed=seed),
    "classes": lambda seed: ps.data.from_arrays(draw(30, 3).numpy(), np.array(list("abc") * 10), seed=seed),
    "digits": lambda seed: ps.data.digits(seed=seed).subset(60, seed=seed, n_test=20),
    "directional": lambda seed: ps.data.directional(AXIS, n_train=30, n_test=20, seed=seed),
    "circles": lambda seed: ps.data.circles(torch.eye(4)[:2], n_train=30, n_test=20, seed=seed),
    "linear_plus_circle": lambda seed: ps.data.linear_plus_circle(
        AXIS, torch.eye(4)[1:3], n_train=30, n_test=20, seed=seed
    ),
    "local_features": lambda seed: ps.data.local_features(30, 20, seed=seed),
    "gaussian_clusters": lambda seed: ps.data.gaussian_clusters(30, 12, seed=seed),
    "random_labels": lambda seed: ps.data.random_labels(torch.eye(3), 30, 20, seed=seed),
    "templates": lambda seed: ps.data.deformed_templates(30, 20, size=8, n_classes=3, seed=seed),
    "from_function": lambda seed: ps.data.from_function(
        lambda n, s: ps.data.sphere(n, 3, seed=s), lambda x: x[:, :1], 30, 20, noise=0.1, seed=seed
    ),
    "wrong labels": lambda seed: ps.data.with_wrong_labels(ps.data.digits().subset(40, n_test=20), 0.3, seed=seed),
}


@pytest.mark.parametrize("name", DATA)
def test_data(name):
    before = torch.get_rng_state()
    data, again, other = (DATA[name](s) for s in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert contracts.missing(data, contracts.LabelledData) == ()
    for split in (data.train, data.test):
        assert len(split) == len(split.inputs) == len(split.targets)
        assert tuple(split.inputs.shape[1:]) == tuple(data.input_shape)
        assert split.targets.shape[1:] == (data.n_outputs,)
        assert bool(split.inputs.isfinite().all() & split.targets.isfinite().all())
    assert torch.equal(data.inputs, data.train.inputs)
    assert torch.equal(data.targets, data.train.targets)
    assert data.task in ("classification", "regression")
    assert torch.equal(data.inputs, again.inputs)
    assert torch.equal(data.test.targets, again.test.targets)
    assert not (torch.equal(data.inputs, other.inputs) and torch.equal(data.targets, other.targets))
    rows = {tuple(row.flatten().tolist()): target.tolist() for row, target in zip(data.inputs, data.targets)}
    part = data.subset(9, seed=4)
    assert len(part.train) == 9
    assert len({tuple(row.flatten().tolist()) for row in part.inputs}) == 9
    assert all(rows[tuple(row.flatten().tolist())] == t.tolist() for row, t in zip(part.inputs, part.targets))
    assert torch.equal(part.inputs, data.subset(9, seed=4).inputs)
    assert not torch.equal(part.inputs, data.subset(9, seed=5).inputs)
    moved = data.transformed(lambda x: 2 * x)
    assert torch.equal(moved.inputs, 2 * data.inputs)
    assert torch.equal(moved.test.inputs, 2 * data.test.inputs)
    assert torch.equal(moved.targets, data.targets)


# -- inferences ----------------------------------------------------------------------------------------------------------


@functools.cache
def problem() -> Any:
    x, y = draw(16, 3), draw(16, 2, seed=1)
    return SimpleNamespace(inputs=x, targets=x[:, :2].sin() + 0.1 * y)


INFERENCES: dict[str, Callable[[], Any]] = {
    "ridge": lambda: ps.inference.KernelRegression(ridge=0.1),
    "flow of kernels": lambda: ps.inference.KernelRegression(time=3.0),
    "nngp": lambda: ps.inference.KernelRegression("nngp", ridge=0.1),
    "process": lambda: ps.inference.GaussianProcess(0.1),
    "ensemble": lambda: ps.inference.InfiniteEnsemble(time=2.0),
    "features": lambda: ps.inference.FeatureMachine(rounds=1),
    "descent": lambda: ps.inference.GradientDescent(0.05, steps=5),
    "descent in batches": lambda: ps.inference.GradientDescent(0.05, steps=5, batch_size=4, momentum=0.5),
    "adam": lambda: ps.inference.GradientDescent(0.01, steps=5, optimiser="adam"),
    "flow": lambda: ps.inference.GradientFlow(time=0.2),
    "one cycle": lambda: ps.inference.OneCycle(epochs=1, min_steps=4, batch_size=4),
}


@pytest.mark.parametrize("name", INFERENCES)
def test_inferences(name):
    how, data = INFERENCES[name](), problem()
    kept = data.inputs.clone(), data.targets.clone()
    net = M.fcn(1).network(FLAT, width=8, outputs=2, seed=0).double()

    def fitted(seed: int) -> Any:
        arch = M.laplace(2.0) if name == "features" else M.fcn(1)
        return how.fit(arch if contracts.needs_of(how) == "kernel" else net, data, seed)

    before, weights = torch.get_rng_state(), [p.detach().clone() for p in net.parameters()]
    first, again = fitted(0), fitted(0)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(weights, net.parameters())), "the network that was given has changed"
    assert torch.equal(data.inputs, kept[0])
    assert torch.equal(data.targets, kept[1])
    z = draw(5, *FLAT, seed=2)
    found = first.predict(z)
    assert found.shape[-2:] == (5, 2)
    assert bool(found.isfinite().all())
    assert torch.equal(found, again.predict(z))
    close(torch.cat([first.predict(z[:2]), first.predict(z[2:])], -2), found, 1e-8)
    close(first.predict(z.flip(0)), found.flip(-2), 1e-8)
    times, loss = first.trajectory.times, first.trajectory.loss
    assert len(times) == len(loss)
    assert bool((times.diff() > 0).all())
    assert bool((torch.as_tensor(loss) >= 0).all())
    assert first.seconds >= 0


# -- results -------------------------------------------------------------------------------------------------------------


def net_of(*sizes: int) -> nn.Module:
    torch.manual_seed(0)
    layers = [part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), nn.Tanh())]
    return nn.Sequential(*layers[:-1]).double()


def gram() -> np.ndarray:
    rows = draw(40, 3).numpy()
    return np.exp(-np.linalg.norm(rows[:, None] - rows, axis=-1))


def images() -> Tensor:
    return draw(12, 1, 6, 6, dtype=torch.float32)


def convolutional() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 2))


@functools.cache
def numbers() -> Any:
    return ps.data.from_arrays(draw(40, 3), draw(40, 1, seed=1)[:, 0], classes="real", dtype=torch.float64)


P = ps.probes
RESULTS: dict[str, Callable[[], Any]] = {
    "spectrum": lambda: P.spectrum(gram(), draw(40, 1).numpy()),
    "early_stopping": lambda: P.early_stopping(gram(), draw(40, 1).numpy(), folds=4),
    "forecast": lambda: P.forecast(
        draw(40, 3).numpy(), draw(40, seed=1).numpy(), [100], model=M.laplace(), orderings=4
    ),
    "learning_curve": lambda: P.learning_curve(numbers(), M.laplace(), pilot=None, orderings=4),
    "gram_convergence": lambda: P.gram_convergence(gram()),
    "mode_learnability": lambda: P.mode_learnability([1.0, 0.3, 0.1], 5.0),
    "spectral_curve": lambda: P.spectral_curve([1.0, 0.3, 0.1], [1.0, 1.0, 1.0], [0.5, 1, 2]),
    "feature_ansatz": lambda: P.feature_ansatz(net_of(3, 5, 1), draw(10, 3)),
    "gradient_outer_product": lambda: P.gradient_outer_product(net_of(3, 5, 1), draw(10, 3)),
    "average_geometry": lambda: P.average_geometry(M.fcn(1, activation="erf"), (3,), n_models=4, n_probes=2, width=4),
    "landscape": lambda: P.landscape(net_of(3, 4, 1), numbers().train, "squared"),
    "stability": lambda: P.stability(convolutional(), images(), "shift", n_seeds=1),
    "noise_sweep": lambda: P.noise_sweep(convolutional(), images(), (0.5, 1.0), n_seeds=1),
    "kernel_moves": lambda: P.kernel_moves(M.gap(1), images().double()),
    "information_split": lambda: P.information_split(net_of(3, 5, 1), draw(12, 3), draw(12, 1, seed=1)),
    "label_noise_of_grams": lambda: P.label_noise_of_grams({"one": gram()}, np.arange(40) % 2),
    "sphere_modes": lambda: P.sphere_modes(M.fcn(1), 3, 3),
    "nystrom": lambda: P.nystrom(M.fcn(1), draw(30, 3), 3),
    "teacher_student": lambda: P.teacher_student(M.laplace(2.0), M.laplace(2.0), 2, (5, 10), draws=1, n_test=10),
    "random_features": lambda: P.random_features_risk(2.0, 3.0, noise=0.1),
    "completion_scale": lambda: P.completion_scale(
        np.outer([1.0, 2.0], [1.0, 3.0]) * [[1, 1], [1, np.nan]], scales=(0.1, 1.0)
    ),
    "initial_scale": lambda: P.initial_scale(draw(3, 5).numpy(), draw(3).numpy(), scales=(0.01, 0.1, 1.0)),
    "regime": lambda: P.regime(
        ps.System(numbers(), M.fcn(1), ps.inference.GradientFlow(time=0.02)), (1.0,), seeds=1, quick=True
    ),
    "extrapolation": lambda: ps.extrapolate([50, 100, 200], [0.5, 0.4, 0.33], to=1000),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results(name):
    before = torch.get_rng_state()
    first, again = RESULTS[name](), RESULTS[name]()
    torch.set_rng_state(before)
    if contracts.missing(first, contracts.Result) == ():
        table, second = first.table(), again.table()
        assert len(table)
        assert table.columns.is_unique
        assert all(isinstance(c, str) for c in table.columns)
        drop = [c for c in table.columns if "second" in c]
        assert table.drop(columns=drop).equals(second.drop(columns=drop))
        assert first.table().equals(table)
        assert first.chart().to_dict()["$schema"]
    assert repr(first)
    assert "object at 0x" not in repr(first)
    field = next(iter(vars(first)), None)
    if field is not None:
        with pytest.raises(AttributeError):
            setattr(first, field, None)
