"""Single moves of the input: on kernels and labels whose symmetries are known, and the groups they generate."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope.data.groups import Move, generated, moves_of
from priorscope.probes import Kept, Shared, kernel_moves, label_moves


def _images(n: int = 6, side: int = 6) -> torch.Tensor:
    return torch.randn(n, 1, side, side, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_symmetry_of_labels_is_seen_and_its_absence_too() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(200, 2, 8, generator=generator)
    x = x.cumsum(-1)
    both = torch.cat([x, x.flip(-1)])
    even = np.sign(both.mean((1, 2)).numpy())[:, None]  # the mean does not change when a signal is reversed
    labels = (even[:, 0] > 0).astype(int)
    whole = label_moves(both, even, labels)
    found = {s.move: s for s in whole.found}
    assert found[Move.REVERSAL].shared is Shared.YES
    assert found[Move.SIGN_FLIP].shared is Shared.NO
    assert Move.REVERSAL in whole.shared
    assert Move.SIGN_FLIP not in whole.shared
    assert whole.table().shape[0] == 3
    whole.chart().to_dict()
    chance = label_moves(both, np.roll(even, 1, 0), np.random.default_rng(0).permutation(labels))
    assert {s.shared for s in chance.found} == {Shared.UNKNOWN}  # neighbours agree by accident at most


def test_kernels_whose_symmetries_are_known() -> None:
    x = _images()
    found = kernel_moves(ps.models.gap(1), x)
    assert found.kept[Move.SHIFT] is Kept.INVARIANT
    assert found.kept[Move.MIRROR] is Kept.EQUIVARIANT
    assert found.table().set_index("move").kept["mirror"] == "equivariant"
    found.chart().to_dict()
    shuffle = torch.randperm(36, generator=torch.Generator().manual_seed(1))
    part = kernel_moves(lambda a, b: (a.flatten(1)[:, shuffle[:20]] @ b.flatten(1)[:, shuffle[:20]].T) ** 2, x)
    assert part.kept[Move.SHIFT] is Kept.NOTHING
    assert part.kept[Move.SIGN_FLIP] is Kept.INVARIANT  # a square


def test_a_network_and_a_function_are_asked_alike() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.Tanh(), nn.Linear(8, 1)).double()
    x = _images(4)
    whole = kernel_moves(net, x)
    apart = kernel_moves(lambda a, b: ps.probes.empirical_ntk(net, a, b).detach(), x)
    for move in moves_of((1, 6, 6)):
        assert whole.once[move] == pytest.approx(apart.once[move], rel=1e-9, abs=1e-12)
        assert whole.both[move] == pytest.approx(apart.both[move], rel=1e-9, abs=1e-12)
    near = kernel_moves(net, x, near_once=10.0)
    assert near.kept[Move.SHIFT] is Kept.NEARLY_INVARIANT
    with pytest.raises(TypeError, match="model as a model with a kernel or an nn.Module or a function; got 3"):
        kernel_moves(3, x)  # type: ignore[arg-type]


def test_a_kernel_with_a_bandwidth_of_its_own_keeps_it_under_moves() -> None:
    """The median distance of moved and plain inputs together is another one: settled once, on the plain inputs."""
    x = _images()
    assert kernel_moves(ps.models.laplace(), x).kept[Move.SIGN_FLIP] is Kept.EQUIVARIANT


def test_moves_that_do_not_fit_are_refused_with_those_that_do() -> None:
    with pytest.raises(
        ValueError, match="“quarter turn” does not fit inputs of shape .*; those that do: shift by 1, reversal"
    ):
        Move.QUARTER_TURN(torch.zeros(2, 1, 9))
    assert Move.DEFORMATION not in moves_of((1, 8, 9))
    assert Move.DEFORMATION not in moves_of((1, 4, 4))
    assert moves_of((7,)) == (Move.SIGN_FLIP,)


@pytest.mark.parametrize(
    ("moves", "group"),
    [
        ([Move.QUARTER_TURN], ps.data.groups.quarter_turns),
        ([Move.MIRROR, Move.UPSIDE_DOWN], ps.data.groups.flips),
        ([Move.UPSIDE_DOWN, Move.QUARTER_TURN], ps.data.groups.dihedral),
        ([Move.SHIFT, Move.SHIFT_DOWN], ps.data.groups.translations),
    ],
)
def test_generated_groups_are_those_listed_by_hand(moves, group) -> None:
    shape = (2, 4, 4)
    made, known = generated(shape, moves), group(shape)
    assert sorted(map(tuple, made.table.tolist())) == sorted(map(tuple, known.table.tolist()))
    assert made.table[0].tolist() == list(range(16))
    for move in moves:
        x = torch.randn(3, *shape, generator=torch.Generator().manual_seed(1))
        assert any(torch.equal(g(x), move(x)) for g in known.elements())
    assert len(made.table) > len(generated(shape, moves[:1]).table) or len(moves) == 1


def test_what_moves_no_pixels_generates_no_group_of_pixels() -> None:
    with pytest.raises(ValueError, match="“sign flip” does not. Leave it out"):
        generated((1, 4, 4), ["mirror", "sign flip"])


def test_one_vocabulary_in_labels_stability_and_on_the_command_line() -> None:
    digits = ps.data.digits()
    by_move = ps.probes.label_survival(digits, Move.MIRROR, n_images=200)
    by_name = ps.probes.label_survival(digits, "mirror", n_images=200)
    by_hand = ps.probes.label_survival(digits, lambda x: x.flip(-1), n_images=200)
    assert by_move.family == "the move “mirror”"
    assert by_move.moved == by_name.moved == by_hand.moved
    assert by_move.shared is Shared.NO
    with pytest.raises(ValueError, match="a move \\(shift by 1, shift by 1 down.*got 'mirrored'"):
        ps.probes.label_survival(digits, "mirrored")
