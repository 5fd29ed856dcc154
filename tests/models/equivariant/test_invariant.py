"""Kernels averaged over finite groups: against dense sums, averaged networks of growing width, and hand-made cases."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from math import pi
from pathlib import Path

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.data import groups
from priorscope.models import Architecture, Conv, Dense, Flatten, GroupAveraged, gap, invariant, lap, vec
from priorscope.models.equivariant._group_pool import is_jointly_invariant, moves_of
from priorscope.models.equivariant._moves import GROUPS, moves_named

sys.path.insert(0, str(Path(__file__).parents[1] / "layers"))
from finite_width import measure


def images(n, *shape, seed=0):
    return torch.randn(n, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def dense_mean(arch, moves, x1, x2):
    """The double sum, by the reference, one pair of elements after another."""
    found = [arch.kernel(g(x1), h(x2), path="reference") for g in moves for h in moves]
    return {kind: torch.stack([getattr(k, kind) for k in found]).mean(0) for kind in ("nngp", "ntk")}


STRIDED = Architecture("strided", (Conv(3, 2, "zeros"), ps.models.Activation("relu"), Flatten(), Dense()))


@pytest.mark.parametrize(
    ("arch", "group", "shape", "times"),
    [
        (gap(2), "p4m", (1, 4, 4), 8),
        (vec(1, padding="zeros"), "p4", (2, 4, 4), 4),
        (lap(1, window=2), "flips", (1, 4, 4), 4),
        (ps.models.fcn(2, bias_variance=0.1), "p2", (1, 3, 3), 2),
        (gap(1), "mirror", (2, 6), 2),
        (ps.models.fcn(1), "sign", (5,), 2),
        (vec(1), "shifts", (1, 5), 5),
        (STRIDED, "p4", (1, 4, 4), 16),  # a stride tells left from right, so both inputs are moved
        (gap(2, activation="erf"), groups.dihedral((1, 4, 4)), (1, 4, 4), 8),
        (ps.models.fcn(2), groups.shared_permutation((3, 2, 2)), (3, 2, 2), 6),
    ],
    ids=lambda v: v.name if isinstance(v, Architecture | groups.Group) else str(v),
)
def test_the_averaged_kernel_is_the_double_sum(arch, group, shape, times):
    model = invariant(arch, group)
    x, z = images(4, *shape), images(3, *shape, seed=1)
    moves = moves_of(group, shape)
    assert model.average(shape).times == times
    for second in (None, z):
        wanted = dense_mean(arch, moves, x, x if second is None else second)
        for path in ("auto", "reference"):
            found = model.kernel(x, second, path=path)
            for kind in ("nngp", "ntk"):
                torch.testing.assert_close(getattr(found, kind), wanted[kind], rtol=1e-7, atol=1e-9)
    plain = arch.kernel(x).ntk
    assert (model.kernel(x).ntk - plain).abs().max() > 1e-3 * plain.abs().max()  # and it is another kernel
    diagonal = model.kernel_diagonal(x).ntk
    torch.testing.assert_close(diagonal, model.kernel(x).ntk.diagonal(), rtol=1e-9, atol=0)


@pytest.mark.parametrize("name", GROUPS)
def test_named_groups_are_groups_and_make_kernels_invariant(name):
    shape = (1, 4, 4) if 2 in GROUPS[name].axes else (1, 4)
    moves, x = moves_named(name, shape), images(2, *shape)
    orbit = torch.stack([g(x[:1]).flatten() for g in moves])
    assert torch.equal(moves[0](x), x)
    for g in moves:  # every element permutes the orbit
        moved = torch.stack([g(y.reshape(1, *shape)).flatten() for y in orbit])
        near = torch.cdist(moved, orbit)
        assert (near.amin(1) < 1e-12).all()
        assert near.argmin(1).unique().numel() == len(moves)
    model = invariant(ps.models.fcn(1), name)
    k = model.kernel(x, torch.cat([g(x) for g in moves])).ntk.reshape(2, len(moves), 2)
    assert (k - k[:, :1]).abs().max() < 1e-9
    values = torch.linalg.eigvalsh(model.kernel(images(9, *shape)).ntk)
    assert values.min() > -1e-9 * values.max()


def test_one_hand_made_kernel():
    """A linear network: k = x·x' · 2·2 / d for fcn(1, linear); the mean over the mirror by hand."""
    arch = ps.models.fcn(1, activation="linear", weight_variance=1.0)
    x = torch.tensor([[[1.0, 2.0, 4.0]]], dtype=torch.float64)
    found = invariant(arch, "mirror").kernel(x).nngp
    assert float(found) == pytest.approx((1 + 4 + 16 + 4 + 4 + 4) / 2 / 3)


def test_even_part_of_the_arc_cosine_kernel():
    """ReLU, inputs at angle t: k(t) = (sin t + (π − t) cos t)/π; averaged over the sign (k(t) + k(π − t))/2."""
    arch, t = ps.models.fcn(1, weight_variance=2.0), 0.7
    x = torch.tensor([[1.0, 0.0], [np.cos(t), np.sin(t)]], dtype=torch.float64) * 2**0.5
    k = lambda a: 2 * (np.sin(a) + (pi - a) * np.cos(a)) / pi  # noqa: E731
    assert float(invariant(arch, "sign").kernel(x).nngp[0, 1]) == pytest.approx((k(t) + k(pi - t)) / 2, rel=1e-12)
    assert float(arch.kernel(x).nngp[0, 1]) == pytest.approx(k(t), rel=1e-12)


@pytest.mark.parametrize(
    ("arch", "group", "shape"),
    [(vec(1, bias_variance=0.1), "p4", (1, 3, 3)), (STRIDED, "mirror", (1, 4, 4)), (ps.models.fcn(1), "sign", (3,))],
    ids=["vec/p4", "strided/mirror", "fcn/sign"],
)
def test_networks_averaged_over_the_group_approach_the_kernel(arch, group, shape):
    model, x = invariant(arch, group), images(3, *shape, seed=2)
    found = measure(model, x, widths=(8, 16, 32, 64), seeds=96)
    assert all(kind.holds for kind in found.values()), found
    averaged, plain = model.kernel(x).ntk, arch.kernel(x).ntk
    assert (averaged - plain).norm() > 0.1 * averaged.norm()  # the plain limit is another one


def test_networks_are_exactly_invariant_and_share_weights():
    model, x = invariant(gap(2), "p4m"), images(5, 2, 6, 6)
    net = model.network((2, 6, 6), width=8, outputs=3, seed=1, dtype=torch.float64)
    plain = gap(2).network((2, 6, 6), width=8, outputs=3, seed=1, dtype=torch.float64)
    assert isinstance(net, GroupAveraged)
    for g in moves_named("p4m", (2, 6, 6)):
        torch.testing.assert_close(net(g(x)), net(x))
    torch.testing.assert_close(net(x), torch.stack([plain(g(x)) for g in moves_named("p4m", (2, 6, 6))]).mean(0))
    assert (plain(x.rot90(1, (-2, -1))) - plain(x)).abs().max() > 1e-3
    one = model.network((2, 6, 6), width=8, seed=1, dtype=torch.float64)
    torch.testing.assert_close(ps.probes.empirical_ntk(one, x), ps.testing.dense_ntk(one, x), rtol=1e-8, atol=1e-10)
    many = model.ensemble((2, 6, 6), width=8, outputs=3, seeds=[1, 2], dtype=torch.float64)
    torch.testing.assert_close(many(x)[0], net(x))


def test_a_kernel_of_the_distance_is_averaged_too():
    x = images(6, 1, 4, 4)
    model = invariant(ps.models.laplace(bandwidth=2.0), "p4")
    wanted = ps.models.group_pool(lambda a, b: ps.models.laplace(bandwidth=2.0).kernel(a, b).ntk, x, group="p4")
    torch.testing.assert_close(model.kernel(x).ntk, wanted, rtol=1e-12, atol=0)
    assert model.average((1, 4, 4)).times == 4
    settled = invariant(ps.models.laplace(), "p4").settled(x)
    assert settled.model.bandwidth == ps.models.laplace().settled(x).bandwidth
    with pytest.raises(TypeError, match="wanted a model with networks; got RadialKernel"):
        model.network((1, 4, 4))
    with pytest.raises(ValueError, match="out= and executor= are for architectures"):
        model.kernel(x, out="k.npy")


def test_blocks_files_and_executors_give_the_same_numbers(tmp_path):
    x, z = images(13, 1, 4, 4).float(), images(7, 1, 4, 4, seed=1).float()
    model = invariant(gap(1), "p4")
    whole = model.kernel(x)
    torch.testing.assert_close(model.kernel(x, block=5).ntk, whole.ntk)
    with ThreadPoolExecutor(1) as pool:
        torch.testing.assert_close(model.kernel(x, z, executor=pool).ntk, model.kernel(x, z).ntk)
    written = model.kernel(x, out=tmp_path / "k.npy", block=5, kinds="ntk")
    np.testing.assert_allclose(np.asarray(written.ntk), whole.ntk, rtol=1e-6)
    with pytest.raises(ValueError, match="was started with other inputs or architecture"):  # the group counts
        invariant(gap(1), "p4m").kernel(x, out=tmp_path / "k.npy", block=5, kinds="ntk")


def test_gradients_pass_through():
    x = images(3, 1, 3, 3).requires_grad_()
    model = invariant(ps.models.fcn(1), "p4")
    model.kernel(x, images(2, 1, 3, 3, seed=1)).ntk.sum().backward()
    h, d = 1e-6, images(3, 1, 3, 3, seed=4)
    z = images(2, 1, 3, 3, seed=1)
    up, down = (model.kernel((x + s * h * d).detach(), z).ntk.sum() for s in (1, -1))
    assert float((x.grad * d).sum()) == pytest.approx(float((up - down) / (2 * h)), rel=1e-5)


def test_time_is_told_as_often_as_the_kernel_is_taken():
    plain = STRIDED.estimate(20, 20, (1, 4, 4)).seconds
    assert invariant(STRIDED, "p4").estimate(20, 20, (1, 4, 4)).seconds == pytest.approx(16 * plain)


def test_joint_invariance_is_told_apart():
    moves = moves_named("p4", (1, 6, 6))
    asked = lambda arch: is_jointly_invariant(lambda a, b: arch.kernel(a, b).ntk, moves, (1, 6, 6))  # noqa: E731
    assert asked(gap(2))
    assert asked(vec(2, padding="zeros"))
    assert asked(gap(1, kernel_size=2))  # an even filter is off centre, which pooling over all pixels forgets
    assert not asked(vec(1, kernel_size=2, padding="zeros"))
    shifts = moves_named("shifts", (1, 6, 6))
    zeros = vec(1, padding="zeros")
    assert not is_jointly_invariant(lambda a, b: zeros.kernel(a, b).ntk, shifts, (1, 6, 6))


class Pair:
    """A set of two maps that a stranger calls a group."""

    name, input_shape = "pair", (1, 4)

    def __init__(self, *elements):
        self._elements = elements

    def elements(self):
        return list(self._elements)


def test_a_strangers_group_is_taken_and_sets_that_are_none_are_refused():
    same, mirror, shift = (lambda x: x), (lambda x: x.flip(-1)), (lambda x: x.roll(1, -1))
    x = images(3, 1, 4)
    own = invariant(ps.models.fcn(1), Pair(mirror, same))
    torch.testing.assert_close(own.kernel(x).ntk, invariant(ps.models.fcn(1), "mirror").kernel(x).ntk)
    with pytest.raises(ValueError, match="the product of two of its 2 elements is not among them"):
        invariant(ps.models.fcn(1), Pair(same, shift))
    with pytest.raises(ValueError, match="pair has no identity"):
        invariant(ps.models.fcn(1), Pair(mirror, shift))
    with pytest.raises(ValueError, match=r"change the shape \(1, 4\)"):
        invariant(ps.models.fcn(1), Pair(same, lambda x: x[..., :2]))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: invariant(gap(1), "p5"), "there is no group 'p5'; there are mirror, flips, p2, p4, p4m, shifts, sign"),
        (lambda: invariant(gap(1), "p4").kernel(images(2, 1, 4, 6)), r"p4 turns square images.*\(1, 4, 6\)"),
        (lambda: invariant(gap(1), "p4").kernel(images(2, 1, 4)), r"p4 moves inputs \(channels, height, width\); got"),
        (
            lambda: invariant(ps.models.fcn(1), "mirror").kernel(images(2, 4)),
            r"got inputs of shape \(4,\). Say input_shape",
        ),
        (
            lambda: invariant(gap(1), groups.dihedral((1, 4, 4))).kernel(images(2, 1, 6, 6)),
            r"dihedral acts on inputs of shape \(1, 4, 4\); these have shape \(1, 6, 6\)",
        ),
        (lambda: invariant(gap(1), groups.orthogonal((1, 4, 4))), "O.cd. on inputs .* is continuous"),
        (lambda: invariant(gap(1), groups.permutation((1, 4, 4))), "has 2.09e.13 elements"),
    ],
)
def test_what_cannot_be_meant_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_models_without_kernels_are_refused():
    with pytest.raises(TypeError, match="wanted a model with a kernel; got Linear.*GroupAveraged"):
        invariant(torch.nn.Linear(2, 1), "sign")
    with pytest.raises(TypeError, match="wanted a finite group.*got int"):
        invariant(gap(1), 4)
    with pytest.raises(ValueError, match="lenet has no kernel to average"):
        ps.models.load("lenet/p4")


def test_elements_of_permutation_groups_are_all_of_them():
    group = groups.pixel_permutation((3, 2))
    seen = {tuple(g.matrix().flatten().tolist()) for g in group.elements()}
    assert len(seen) == group.order == 36
    assert all(group.contains(g) for g in group.elements())
    signs = groups.orthogonal((1,)).elements()
    assert sorted(float(g.matrix()) for g in signs) == [-1.0, 1.0]


def test_a_mean_over_a_group_costs_as_many_kernels() -> None:
    plain, averaged = (m.estimate(50, 50, (1, 4, 4), path="reference") for m in (gap(1), invariant(gap(1), "p4")))
    assert averaged.seconds == pytest.approx(4 * plain.seconds)
