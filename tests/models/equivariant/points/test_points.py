"""Networks on points under rotations, shifts, mirrors and orders; tensors by counting; what breaks a symmetry by hand."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import priorscope as ps
from priorscope.models import point_network
from priorscope.models.equivariant._irreps import real_wigner
from priorscope.models.equivariant.points import PointNetwork, breaking_gradients, decompose_tensor


def noise(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def rotation(seed: int = 0) -> torch.Tensor:
    Q, _ = torch.linalg.qr(noise(3, 3, seed=seed))
    return Q * torch.linalg.det(Q)


@pytest.fixture
def double():
    """e3nn keeps its tables in the default precision."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


R, MIRROR = rotation(), torch.diag(torch.tensor([-1.0, 1.0, 1.0], dtype=torch.float64))


def moved(clouds: torch.Tensor, matrix: torch.Tensor, shift: float = 0.7) -> torch.Tensor:
    return torch.cat([clouds[..., :3] @ matrix.T + shift, clouds[..., 3:]], -1)


def clouds_of(n: int = 3, N: int = 5, types: int = 2) -> torch.Tensor:
    one_hot = torch.eye(types, dtype=torch.float64)[torch.arange(n * N).reshape(n, N) % types]
    return torch.cat([noise(n, N, 3), one_hot], -1)


@pytest.mark.parametrize("parity", [True, False])
def test_outputs_are_invariant_to_rotations_shifts_orders_and_with_parity_to_mirrors(parity, double):
    net = point_network(types=2, parity=parity, cutoff=4.0).network((5, 5), width=3, outputs=4).double()
    x = clouds_of()
    out = net(x)
    assert (net(moved(x, R)) - out).abs().max() < 1e-10
    assert (net(x[:, [3, 1, 4, 0, 2]]) - out).abs().max() < 1e-10
    assert (net(2 * x) - out).abs().max() > 1e-3  # distances count
    mirrored = (net(moved(x, MIRROR)) - out).abs().max()
    assert mirrored < 1e-10 if parity else mirrored > 1e-5


def test_padding_is_not_there():
    net = point_network(types=2, cutoff=4.0, pool="sum").network((5, 5), width=3, outputs=2).double()
    x = clouds_of()
    padded = torch.cat([x, torch.zeros(3, 2, 5, dtype=x.dtype)], 1)
    assert (net(padded) - net(x)).abs().max() < 1e-12


def test_features_of_every_kind_turn_as_they_say(double):
    net = PointNetwork(types=2, output="1x0o+1x1o+1x1e+1x2e", width=3, cutoff=4.0, pool="none").double()
    x = clouds_of()
    out = net(x)
    D, V = real_wigner(2, R), R
    found = net(moved(x, R))
    wanted = torch.cat([out[..., :1], out[..., 1:4] @ V.T, out[..., 4:7] @ V.T, out[..., 7:] @ D.T], -1)
    assert (found - wanted).abs().max() < 1e-10
    signs = torch.ones(12, dtype=torch.float64)
    signs[:4] = -1  # odd scalar and vector change sign at the inversion, pseudovector and order 2 do not
    assert (net(moved(x, -torch.eye(3).double())) - signs * out).abs().max() < 1e-10
    assert out.abs().min(0).values.max() > 1e-3


def test_gradients_with_respect_to_positions_are_forces_that_turn(double):
    net = point_network(types=2, cutoff=4.0, pool="sum").network((5, 5), width=3, outputs=1).double()
    x = clouds_of()

    def forces(clouds: torch.Tensor) -> torch.Tensor:
        clouds = clouds.clone().requires_grad_()
        return -torch.autograd.grad(net(clouds).sum(), clouds)[0][..., :3]

    found = forces(moved(x, R))
    assert found.isfinite().all()
    assert (found - forces(x) @ R.T).abs().max() < 1e-10
    assert forces(x).sum(1).abs().max() < 1e-10  # shifts cost nothing


@pytest.mark.parametrize(
    ("formula", "irreps", "dimension"),
    [
        ("ij", "1x0e+1x1e+1x2e", 9),
        ("ij=ji", "1x0e+1x2e", 6),
        ("ij=-ji", "1x1e", 3),
        ("ijk=jik=kij", "1x1o+1x3o", 10),
        ("ijkl=jikl=klij", "2x0e+2x2e+1x4e", 21),
    ],
)
def test_tensors_taken_apart(formula, irreps, dimension):
    parts = decompose_tensor(formula, **({"i": "1o", "j": "1o"} if formula == "ij" else {"i": "1o"}))
    assert parts.irreps == irreps
    assert len(parts.basis) == dimension
    flat = parts.basis.flatten(1).double()
    assert (flat @ flat.T - torch.eye(dimension)).abs().max() < 1e-5
    back = parts.apart(parts.together(noise(4, dimension)))
    torch.testing.assert_close(back, noise(4, dimension), atol=1e-5, rtol=0)


def test_a_matrix_apart_is_trace_rotation_and_shear():
    parts, A = decompose_tensor("ij", i="1o", j="1o"), noise(3, 3)
    trace, axis, shear = parts.apart(A).split([1, 3, 5])
    assert abs(abs(float(trace)) - abs(float(A.trace())) / 3**0.5) < 1e-6
    assert abs(float(axis.square().sum()) - float(((A - A.T) / 2).square().sum())) < 1e-5
    symmetric = (A + A.T) / 2 - A.trace() / 3 * torch.eye(3)
    assert abs(float(shear.square().sum()) - float(symmetric.square().sum())) < 1e-5
    turned = parts.apart(R @ A @ R.T)
    assert (turned[4:] - real_wigner(2, R) @ shear).abs().max() < 1e-5


def test_a_square_that_shall_become_a_rectangle_misses_one_component_of_order_two(double):
    """In the plane of x and y all that input and target leave alone: scalars, z², and x² - y², which breaks the square."""
    square = torch.tensor([[1.0, 1.0, 0], [1, -1, 0], [-1, 1, 0], [-1, -1, 0]], dtype=torch.float64)
    rectangle = square * torch.tensor([1.3, 0.8, 1.0], dtype=torch.float64)
    for seed in range(2):
        torch.manual_seed(seed)
        net = PointNetwork(output="1x1o", width=3, cutoff=4.0, pool="none", breaking="1x1o+1x1e+1x2e+1x2o").double()
        found = breaking_gradients(net, square[None], (rectangle - square)[None])
        assert all(found[name].abs().max() < 1e-10 for name in ("1x1o", "1x1e", "1x2o"))
        kept = [i for i, g in enumerate(found["1x2e"][0]) if abs(g) > 1e-8]
        harmonics = ps.models.equivariant._irreps.real_harmonics(2, torch.eye(3).double())  # at x, y, z
        assert kept == [i for i in range(5) if harmonics[:, i].abs().max() > 1e-8]  # not xy, yz, xz
        tall = breaking_gradients(net, square[None], 0.1 * square[None])  # a larger square breaks nothing
        along = harmonics[0] - harmonics[1]  # x² - y²
        assert abs(float(tall["1x2e"][0] @ along)) < 1e-10 < 1e-8 < abs(float(found["1x2e"][0] @ along))


def test_a_system_trains_several_networks_on_points():
    x, y = clouds_of(8, 4, 2).float(), torch.arange(8) % 2 * 2.0 - 1
    data = ps.data.Dataset(ps.data.Split(x, y), ps.data.Split(moved(x, R.float()), y))
    train = ps.inference.GradientDescent(learning_rate=0.02, steps=60, optimiser="adam")
    outcome = ps.System(data, point_network(types=2, cutoff=4.0), train, width=4, members=2).run()
    assert outcome.test_accuracy == 1.0
    assert outcome.predict(x).shape == (2, 8, 1)


def test_importing_the_library_leaves_e3nn_alone():
    code = "import sys, priorscope as ps; ps.models, ps.data, ps.profile; assert 'e3nn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_without_e3nn_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "e3nn", None)
    with pytest.raises(ImportError, match=r"pip install 'priorscope\[equivariant\]'"):
        decompose_tensor("ij=ji", i="1o")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: PointNetwork()(torch.zeros(2, 0, 3)), r"at least one point; got \(2, 0, 3\)"),
        (lambda: PointNetwork(types=2)(torch.zeros(2, 4, 5)), "a cloud has no point"),
        (lambda: PointNetwork()(torch.zeros(4, 3)), "wanted clouds"),
        (lambda: PointNetwork(pool="max"), "pool is one of"),
        (lambda: point_network(pool="none"), "one row per point"),
        (lambda: point_network(types=1).network((4, 3)), "positions first"),
        (lambda: decompose_tensor("ij=ji"), "say what the indices"),
        (lambda: decompose_tensor("ij=jk", i="1o"), "is no tensor"),
        (lambda: decompose_tensor("ij=ji", i="1o").apart(torch.zeros(2, 2)), "wanted tensors"),
        (lambda: breaking_gradients(PointNetwork(), torch.zeros(1, 2, 3), torch.zeros(1, 1)), "no features that could"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
