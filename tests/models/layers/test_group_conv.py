"""Group convolution: equivariance of the finite layer, its kernel step against sampled networks and against averaged ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from priorscope.models import (
    Activation,
    Architecture,
    Dense,
    Flatten,
    GlobalAvgPool,
    GroupConv,
    GroupPool,
    gap,
    group_cnn,
    invariant,
)
from priorscope.models.equivariant._moves import moves_named
from priorscope.models.layers._group_conv import POINT_GROUPS, _divided, _turned
from priorscope.models.networks._build import Build

sys.path.insert(0, str(Path(__file__).parent))
from finite_width import measure


def images(n, *shape, seed=0):
    return torch.randn(n, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("group", POINT_GROUPS)
def test_elements_are_numbered_as_the_named_moves_and_divided_right(group):
    x, order = images(1, 1, 3, 3), POINT_GROUPS[group]
    for number, move in enumerate(moves_named(group, (1, 3, 3))):
        assert torch.equal(_turned(x, number), move(x))
    for g in range(order):
        for h in range(order):
            assert torch.equal(_turned(_turned(x, int(_divided(order)[g, h])), g), _turned(x, h))


@pytest.mark.parametrize("group", POINT_GROUPS)
@pytest.mark.parametrize("padding", ["circular", "zeros"])
def test_turning_the_input_turns_the_output_and_moves_its_group_axis(group, padding):
    build = Build(torch.Generator().manual_seed(0), dtype=torch.float64)
    layer, order = GroupConv(3, group, padding, bias_variance=0.3), POINT_GROUPS[group]
    lift, deeper = layer.module((2, 5, 5), 3, build), layer.module((3, order, 5, 5), 4, build)
    act = lambda u, f: _turned(f.index_select(2, _divided(order)[u]), u)  # noqa: E731  [u f](g) = u f(u^-1 g)
    x = images(2, 2, 5, 5)
    for u in range(order):
        torch.testing.assert_close(lift(_turned(x, u)), act(u, lift(x)))
        torch.testing.assert_close(deeper(act(u, lift(x))), act(u, deeper(lift(x))))
    wrong = _turned(lift(x), 1)  # without moving the group axis
    assert (lift(_turned(x, 1)) - wrong).abs().max() > 1e-2


@pytest.mark.parametrize(("depth", "group"), [(1, "p4"), (2, "p4"), (3, "p4"), (1, "p4m"), (2, "p4m")])
def test_the_kernel_is_that_of_the_averaged_plain_network(depth, group):
    """A second algorithm: sums over lifted positions on one side, moved inputs and the fused code on the other."""
    x = images(2, 2, 4, 4)
    deep = group_cnn(depth, group, padding="zeros", bias_variance=0.1).kernel(x)
    averaged = invariant(gap(depth, padding="zeros", bias_variance=0.1), group).kernel(x)
    torch.testing.assert_close(deep.nngp, averaged.nngp, rtol=1e-7, atol=0)
    torch.testing.assert_close(deep.ntk, averaged.ntk, rtol=1e-7, atol=0)
    plain = gap(depth, padding="zeros", bias_variance=0.1).kernel(x).ntk
    assert (plain - averaged.ntk).abs().max() > 1e-3 * plain.abs().max()


POOLED = Architecture(
    "pooled", (GroupConv(3, "p4", "zeros", 1.5, 0.2), Activation("relu"), GroupPool(), Flatten(), Dense())
)


@pytest.mark.parametrize(
    ("arch", "seeds"),
    [(POOLED, 192), pytest.param(group_cnn(2, "p4", bias_variance=0.1), 128, marks=pytest.mark.slow)],
    ids=["one layer", "two layers"],
)
def test_networks_approach_the_kernel(arch, seeds):
    found = measure(arch, images(3, 1, 3, 3, seed=3), widths=(8, 16, 32, 64), seeds=seeds)
    assert all(kind.holds for kind in found.values()), found


def test_the_kernel_is_invariant_and_the_diagonal_form_agrees():
    arch, x = group_cnn(2, "p4m"), images(2, 1, 3, 3)
    k = arch.kernel(x, torch.cat([x, _turned(x, 1), _turned(x, 6)])).ntk.reshape(2, 3, 2)
    assert (k - k[:, :1]).abs().max() < 1e-10
    # without a pool only equal positions count: the same numbers as cut out of all pairs
    layers = (GroupConv(3, "p4"), Activation("erf"), GroupConv(3, "p4"), Activation("erf"))
    summed = Architecture("summed", (*layers, Flatten(), Dense()))
    torch.testing.assert_close(arch.kernel_diagonal(x).ntk, arch.kernel(x).ntk.diagonal())
    assert summed.kernel(x).ntk.shape == (2, 2)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GroupConv(2), "odd kernel_size, which turns about its middle; got 2"),
        (lambda: GroupConv(group="p6"), "a group of p4, p4m; got 'p6'"),
        (lambda: GroupConv(padding="valid"), "padding='circular' or 'zeros'; got 'valid'"),
        (lambda: GroupConv().output_shape((1, 4, 5)), r"needs square images .*got shape \(1, 4, 5\)"),
        (lambda: GroupConv(group="p4m").output_shape((1, 4, 5, 5)), r"signals \(channels, 8, side, side\)"),
        (lambda: GroupPool().output_shape((1, 4, 4)), r"as GroupConv gives it; got shape \(1, 4, 4\)"),
        (
            lambda: Architecture("a", (GroupConv(), GlobalAvgPool(), Dense())).kernel(images(1, 1, 3, 3)),
            "GlobalAvgPool",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
