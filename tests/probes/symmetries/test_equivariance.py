"""The equivariance error: zero for layers that are, hand-made values for those that are not, and where it breaks."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope.data.groups import Move
from priorscope.models.networks._build import Build
from priorscope.probes import equivariance
from priorscope.probes.symmetries._equivariance import _acted
from priorscope.testing import assert_equivariant


def seeded(make):
    torch.manual_seed(0)
    return make()


def group_network(width=4):
    return ps.models.group_cnn(2, "p4").network((1, 8, 8), width=width, seed=1)


def test_a_group_convolution_is_invariant_to_rounding_and_rounding_falls_with_precision():
    action = lambda move, out: out  # noqa: E731
    found = equivariance(group_network(), "p4", input_shape=(1, 8, 8), representations=action)
    table = found.table().query("layer == 'output'").set_index("dtype").error
    assert table["float64"] < 1e-12 < table["float32"] < 1e-4
    assert found.equivariant


def test_plain_convolutions_break_turns_at_the_first_layer_and_keep_shifts():
    conv = lambda a, b: nn.Conv2d(a, b, 3, padding=1, padding_mode="circular")  # noqa: E731
    net = seeded(
        lambda: nn.Sequential(conv(1, 3), nn.Tanh(), conv(3, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    )
    shifts = equivariance(net, "shifts", input_shape=(1, 6, 6))
    assert shifts.equivariant
    assert shifts.breaks_at is None
    assert "is invariant under shifts: its error is" in shifts.sentence
    turns = equivariance(net, "p4", input_shape=(1, 6, 6), sides=(8,), nonlinearities=("none", "gelu"))
    assert not turns.equivariant
    assert turns.breaks_at == "0"
    assert "the first layer that breaks it is 0 (Conv2d)" in turns.sentence
    table = turns.table()
    assert set(table.side) == {6, 8}
    assert set(table.nonlinearity) == {"own", "none", "gelu"}
    assert set(table.dtype) == {"float32", "float64"}
    assert list(table[: len(net) + 1].layer) == ["0", "1", "2", "3", "4", "5", "output"]
    turns.chart().to_dict()


def test_a_symmetric_filter_keeps_turns_and_a_stride_breaks_them():
    conv = nn.Conv2d(1, 1, 3, padding=1, bias=False)
    with torch.no_grad():
        conv.weight.copy_(torch.tensor([[1.0, 2, 1], [2, 5, 2], [1, 2, 1]]))
    assert equivariance(conv, "p4m", input_shape=(1, 6, 6)).equivariant
    strided = nn.Sequential(conv, nn.ReLU(), nn.AvgPool2d(3, stride=2, padding=1))
    found = equivariance(strided, "p4m", input_shape=(1, 6, 6))
    assert found.breaks_at == "2"


def test_shifts_are_scaled_to_the_grid_of_a_layer():
    """A pool of two pixels keeps shifts by two, which move its output by one, and breaks shifts by one."""
    pool, x = nn.AvgPool1d(2), torch.randn(4, 1, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    two, one = (ps.models.GridMove(shift=(s,)) for s in (2, 1))
    assert torch.equal(pool(two(x)), two.fitted((8,), (4,))(pool(x)))
    assert not torch.allclose(pool(one(x)), one.fitted((8,), (4,))(pool(x)))
    assert not equivariance(pool, "shifts", x, n_elements=8).equivariant


def test_the_error_by_hand():
    """Φ(x) = x + c·ramp on a line, mirrored: ρΦ − Φρ = c·(mirrored ramp − ramp), whose deviation is known."""

    class Ramp(nn.Module):
        def forward(self, x):
            return x + torch.linspace(-1, 1, x.shape[-1], dtype=x.dtype)

    x = torch.randn(8, 1, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = equivariance(Ramp(), "mirror", x, dtypes=("float64",))
    ramp = torch.linspace(-1, 1, 5, dtype=torch.float64)
    assert found.error == pytest.approx(float((2 * ramp).std(correction=0) / (x + ramp).std()), rel=1e-12)
    offset = equivariance(nn.Sequential(nn.Flatten(), seeded(lambda: nn.Linear(5, 1))), "mirror", x.float())
    assert not offset.equivariant


def test_groups_of_the_data_and_representations_of_your_own():
    x = torch.randn(6, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    grey = nn.Conv2d(3, 1, 1, bias=False)
    nn.init.ones_(grey.weight)
    assert equivariance(grey, ps.data.groups.quarter_turns((3, 4, 4)), x).equivariant
    assert equivariance(grey, ps.data.groups.shared_permutation((3, 4, 4)), x).equivariant  # the sum of channels stays
    with torch.no_grad():
        grey.weight[0, 0] = 2
    assert not equivariance(grey, ps.data.groups.shared_permutation((3, 4, 4)), x).equivariant
    odd = nn.Tanh()
    assert equivariance(odd, "sign", torch.randn(9, 4), representations=lambda g, out: g(out)).equivariant
    assert not equivariance(odd, "sign", torch.randn(9, 4)).equivariant  # "auto" asks flat outputs to stay


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: equivariance(nn.Linear(2, 1), "sign"), "needs inputs, a batch"),
        (lambda: equivariance(nn.Flatten(), "p4", input_shape=(1, 4, 6)), "p4 turns square images"),
        (
            lambda: equivariance(nn.Flatten(), ps.data.groups.flips((1, 4, 4)), torch.randn(4, 1, 6, 6)),
            "acts on inputs of shape",
        ),
        (lambda: equivariance(nn.Linear(3, 1), "sign", torch.randn(4, 2)), "Linear cannot be asked on inputs"),
        (lambda: equivariance(nn.Flatten(), "p4", input_shape=(1, 4, 4), dtypes=("half",)), "dtypes are some of"),
        (
            lambda: equivariance(nn.Flatten(), "p4", input_shape=(1, 4, 4), nonlinearities=("relu",)),
            "no pointwise nonlinearity",
        ),
        (
            lambda: equivariance(nn.ReLU(), "p4", input_shape=(1, 4, 4), representations="x"),
            "representations is 'auto'",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
    with pytest.raises(TypeError, match="module as an nn.Module; got function"):
        equivariance(lambda x: x, "p4", input_shape=(1, 4, 4))


def test_assertions_over_groups():
    build = Build(torch.Generator().manual_seed(0), dtype=torch.float64)
    lift = ps.models.GroupConv(5, "p4").module((1, 6, 6), 1, build)  # three taps that keep turns keep mirrors too
    pooled = nn.Sequential(lift, ps.models.GroupPool().module((1, 4, 6, 6), 1, build))
    x = torch.randn(2, 1, 6, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert_equivariant(pooled, x, "p4", relative=1e-10)
    assert_equivariant(pooled, x, ps.data.groups.quarter_turns((1, 6, 6)), relative=1e-10)
    with pytest.raises(AssertionError, match="not equivariant"):
        assert_equivariant(pooled, x, "p4", "invariant")
    with pytest.raises(AssertionError, match="not equivariant"):
        assert_equivariant(pooled, x, "p4m")
    with pytest.raises(ValueError, match="act_output is a function, 'same' or 'invariant'"):
        assert_equivariant(pooled, x, "p4", "both")


IMAGES = torch.randn(3, 1, 6, 6, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("group", "inputs", "options", "error", "words"),
    [
        (3, IMAGES, {}, TypeError, "group as a word or Group .*; got 3"),
        ("p4", IMAGES.numpy(), {}, TypeError, "inputs as a tensor or None; got ndarray"),
        ("p4", IMAGES[:0], {}, ValueError, r"n >= 1; got shape \(0, 1, 6, 6\)"),
        ("p4", math.nan * IMAGES, {}, ValueError, "finite inputs"),
        ("p4", IMAGES, {"input_shape": (1, 9, 9)}, ValueError, r"input_shape says \(1, 9, 9\). Leave one of them out"),
        ("p4", IMAGES, {"dtypes": ()}, ValueError, "some of float32, float64, as a tuple"),
        ("p4", IMAGES, {"dtypes": "float32"}, ValueError, "as a tuple; got 'float32'"),
    ],
)
def test_inputs_that_cannot_be_meant_are_refused(group, inputs, options, error, words):
    """NaN and empty batches once gave errors that were NaN, without a word."""
    module = nn.Conv2d(1, 2, 3, padding=1)
    with pytest.raises(error, match=words):
        equivariance(module, group, inputs, **options)
    assert equivariance(module, "p4", IMAGES, input_shape=(1, 6, 6), dtypes=("float64",)).rows


def test_a_module_whose_outputs_are_no_numbers_is_refused():
    module = nn.Conv2d(1, 2, 3, padding=1)
    nn.init.constant_(module.weight, math.nan)
    with pytest.raises(ValueError, match="Conv2d cannot be asked on inputs .* outputs are NaN or infinite"):
        equivariance(module, "p4", IMAGES)


class Same(nn.Module):
    def forward(self, x):
        return torch.ones(len(x), 3)


def test_a_module_that_gives_every_input_the_same_output_is_refused():
    with pytest.raises(ValueError, match="Same cannot be asked .* the same output"):
        equivariance(Same(), "p4", IMAGES)


def test_outputs_of_one_row_have_no_space_to_move_in():
    x, row = torch.zeros(2, 3, 4, 5), torch.arange(30.0).reshape(2, 3, 1, 5)
    assert _acted(Move.MIRROR, row, x, "auto")[0] == "invariant"
    word, moved = _acted(Move.MIRROR, row.expand(2, 3, 4, 5), x, "auto")
    assert word == "equivariant"
    assert torch.equal(moved, row.expand(2, 3, 4, 5).flip(3))
