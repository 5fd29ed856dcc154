"""Haar measure by moments of irreps, the group axioms, dimensions, subgroups, paths."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from priorscope.data import groups, local_features
from priorscope.data.groups._block import _haar_orthogonal
from priorscope.data.groups._element import Rotation

SHAPE = (3, 4, 4)
ALL = groups.named(SHAPE, patch=2)


@pytest.mark.parametrize("name", ALL)
def test_axioms_and_orthogonality(name: str) -> None:
    group = ALL[name]
    g, h = group.sample_haar(seed=1), group.sample_haar(seed=2)
    x = torch.randn(5, *SHAPE, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close((g @ h)(x), g(h(x)))
    torch.testing.assert_close(g.inverse()(g(x)), x)
    torch.testing.assert_close(group.identity()(x), x)
    torch.testing.assert_close((g @ g.inverse()).matrix(), torch.eye(48, dtype=torch.float64))
    torch.testing.assert_close(x.flatten(1) @ g.matrix().mT, g(x).flatten(1))
    assert group.contains(g)
    assert group.contains(g @ h)
    assert g(x.float()).dtype == torch.float32
    assert torch.equal(group.sample_haar(seed=1)(x), g(x))


@pytest.mark.parametrize("m", [2, 3, 5])
def test_haar_moments_of_orthogonal_irreps(m: int) -> None:
    n = 20_000
    g = _haar_orthogonal(n, m, torch.Generator().manual_seed(m), special=False)
    trace, det = g.diagonal(dim1=1, dim2=2).sum(1), torch.linalg.det(g)
    # the vector, the determinant and (tr g)^2: exact Haar means 0, 0, 1; variances 1, 1, E tr^4 - 1 = 2
    assert abs(trace.mean()) < 5 / n**0.5
    assert abs(det.mean()) < 5 / n**0.5
    assert abs(trace.square().mean() - 1) < 5 * (2 / n) ** 0.5
    symmetric_traceless = (
        trace.square() + (g @ g).diagonal(dim1=1, dim2=2).sum(1)
    ) / 2 - 1  # character of a non-trivial irrep
    assert abs(symmetric_traceless.mean()) < 5 * symmetric_traceless.std() / n**0.5
    raw, _ = torch.linalg.qr(torch.randn(n, m, m, dtype=torch.float64, generator=torch.Generator().manual_seed(0)))
    raw_trace = raw.diagonal(dim1=1, dim2=2).sum(1)
    raw_det = torch.linalg.det(raw)
    assert max(abs(raw_trace.mean()), abs(raw_det.mean())) > 5 / n**0.5  # control: QR without the signs is not Haar


def test_haar_moments_of_permutations_and_shifts() -> None:
    n = 128 * 128
    index = groups.pixel_permutation((4, 128, 128)).sample_haar(seed=0).index  # type: ignore[attr-defined]
    fixed = (index == torch.arange(4)).sum(1).double()
    assert abs(fixed.mean() - 1) < 5 / n**0.5  # one trivial irrep in the defining representation
    assert abs(fixed.square().mean() - 2) < 5 * (15 - 4) ** 0.5 / n**0.5  # two irreps; Bell numbers: E f^4 = 15
    picks = torch.tensor([int(groups.translations((1, 8)).sample_haar(seed=s).index[0, 0]) for s in range(800)])  # type: ignore[attr-defined]
    counts = picks.bincount(minlength=8).double()
    assert float(((counts - 100) ** 2 / 100).sum()) < 30  # chi-square, 7 degrees of freedom: p < 1e-4 beyond


def test_special_rotations_are_haar_on_the_rotation_group() -> None:
    g = _haar_orthogonal(20_000, 3, torch.Generator().manual_seed(1), special=True)
    trace = g.diagonal(dim1=1, dim2=2).sum(1)
    assert (torch.linalg.det(g) > 0.99).all()
    assert abs(trace.mean()) < 5 / 20_000**0.5
    assert abs(trace.square().mean() - 1) < 5 * (3 - 1) ** 0.5 / 20_000**0.5  # E tr^4 = 3 on SO(3)


def test_dimensions_and_orders() -> None:
    assert [ALL[k].dimension for k in ("O(cd)", "O(c)^d", "O(c)⊗I", "P(cd)")] == [48 * 47 // 2, 3 * 16, 3, 0]
    assert ALL["O(c·2²)⊗I"].dimension == 12 * 11 // 2
    assert ALL["P(c)⊗I"].order == 6
    assert ALL["translations"].order == 16
    assert ALL["O(c)⊗I"].order is None


def test_the_lattice_of_subgroups() -> None:
    chain = ["P(c)⊗I", "O(c)⊗I", "O(c)^d", "O(cd)"]
    for i, small in enumerate(chain):
        for j, large in enumerate(chain):
            assert ALL[large].contains(ALL[small].sample_haar(seed=3)) == (i <= j)
    assert ALL["O(c·2²)⊗I"].contains(ALL["O(c)⊗I"].sample_haar(seed=0))
    assert not ALL["O(c·2²)⊗I"].contains(ALL["O(c)^d"].sample_haar(seed=0))
    assert ALL["P(cd)"].contains(ALL["translations"].sample_haar(seed=5))
    assert not ALL["translations"].contains(ALL["P(cd)"].sample_haar(seed=5))
    assert not groups.flips(SHAPE).contains(ALL["quarter turns"].elements()[1])  # type: ignore[attr-defined]
    assert not ALL["O(cd)"].contains(groups.orthogonal((3, 2)).sample_haar())


@pytest.mark.parametrize("name", ["O(c)⊗I", "O(c)^d", "O(cd)"])
def test_paths_are_one_parameter_groups(name: str) -> None:
    g = ALL[name].sample_haar(seed=4, special=True)
    quarter, half = g.path(0.25), g.path(0.5)
    torch.testing.assert_close((quarter @ quarter).matrix(), half.matrix(), atol=1e-9, rtol=0)
    torch.testing.assert_close(g.path(1.0).matrix(), g.matrix(), atol=1e-9, rtol=0)
    torch.testing.assert_close(g.path(0.0).matrix(), torch.eye(48, dtype=torch.float64), atol=1e-9, rtol=0)
    assert ALL[name].contains(half)
    steps = [float((g.path(t).matrix() - torch.eye(48)).norm()) for t in (0.25, 0.5, 0.75, 1.0)]
    assert steps == sorted(steps)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(1, 4))
def test_every_layout_splits_and_joins(c: int, rows: int, columns: int, b: int, n: int) -> None:
    x = torch.arange(n * c * rows * columns * b * b).reshape(n, c, rows * b, columns * b)
    for kind in ("all", "pixel", "patch", "channel"):
        layout = groups.Layout(tuple(x.shape[1:]), kind, b)  # type: ignore[arg-type]
        parts = layout.split(x)
        assert parts.shape == (n, layout.blocks, layout.size)
        assert torch.equal(layout.join(parts), x)


def test_a_patch_is_a_patch_of_the_image() -> None:
    x = torch.arange(2 * 4 * 4).reshape(1, 2, 4, 4)
    parts = groups.Layout((2, 4, 4), "patch", 2).split(x)
    assert torch.equal(parts[0, 1], x[0, :, :2, 2:].flatten())


def test_errors() -> None:
    with pytest.raises(ValueError, match="acts on a batch"):
        ALL["O(cd)"].sample_haar()(torch.zeros(2, 3, 5, 5))
    with pytest.raises(ValueError, match="square images"):
        groups.quarter_turns((3, 4, 5))
    with pytest.raises(ValueError, match="must tile"):
        groups.patch_orthogonal((3, 4, 4), patch=3)
    with pytest.raises(ValueError, match="no continuous path"):
        ALL["P(cd)"].sample_haar().path(0.5)
    with pytest.raises(ValueError, match="determinant"):
        groups.Rotation(groups.Layout((2,), "all"), torch.tensor([[[1.0, 0], [0, -1]]])).path(0.5)
    with pytest.raises(TypeError, match="one group compose"):
        ALL["O(cd)"].sample_haar() @ ALL["P(cd)"].sample_haar()
    with pytest.raises(ValueError, match="moves pixels"):
        groups.translations((5,))


def test_transformed_data_moves_both_splits_and_nothing_else() -> None:
    data = local_features(6, 4, size=4, seed=0)
    g = ALL["O(c)^d"].sample_haar(seed=1, special=True)
    moved = data.transformed(g)
    torch.testing.assert_close(moved.train.inputs, g(data.train.inputs))
    torch.testing.assert_close(moved.test.inputs, g(data.test.inputs))
    assert torch.equal(moved.targets, data.targets)
    assert moved.test_labels is not None
    torch.testing.assert_close(moved.transformed(g.inverse()).inputs, data.inputs, atol=1e-5, rtol=0)
    twice = data.transformed(g.path(0.5)).transformed(g.path(0.5))
    torch.testing.assert_close(twice.inputs, moved.inputs, atol=1e-5, rtol=0)
    assert not torch.allclose(data.transformed(g.path(0.5)).inputs, moved.inputs, atol=1e-2)  # control: half the way
    lengths = data.inputs.square().sum(1)  # of every pixel's colours
    torch.testing.assert_close(moved.inputs.square().sum(1), lengths)
    mixed = data.transformed(ALL["O(cd)"].sample_haar(seed=1)).inputs.square().sum(1)
    assert not torch.allclose(mixed, lengths, rtol=0.1)  # control: a rotation of everything keeps no pixel's length


def test_an_element_of_another_shape_is_not_contained():
    wide, tall = groups.flips((1, 2, 6)), groups.flips((1, 6, 2))
    assert wide.contains(wide.sample_haar(1))
    assert not wide.contains(tall.sample_haar(1))
    assert not wide.contains(tall.identity())


def test_all_elements_of_small_groups_are_listed_once() -> None:
    """Orders by counting: m! per block for permutations, two signs per block of one number for reflections."""
    for group, order in (
        (groups.shared_permutation((3, 2)), 6),
        (groups.pixel_permutation((2, 3)), 2**3),
        (groups.permutation((1, 3)), 6),
        (groups.pixel_orthogonal((1, 3)), 2**3),
        (groups.shared_orthogonal((1, 3)), 2),
    ):
        found = [element.matrix() for element in group.elements()]
        assert group.order == order == len({tuple(m.round().flatten().tolist()) for m in found}) == len(found)
        size = len(found[0])
        torch.testing.assert_close(found[0], torch.eye(size, dtype=torch.float64))
        for m in found:
            torch.testing.assert_close(m @ m.mT, torch.eye(size, dtype=torch.float64))
    with pytest.raises(ValueError, match="is continuous"):
        groups.shared_orthogonal((3, 2)).elements()
    with pytest.raises(ValueError, match=r"has 2\.43e\+18 elements"):
        groups.permutation((4, 5)).elements()


def test_patches_of_signals_along_a_line() -> None:
    x = torch.arange(2 * 6).reshape(1, 2, 6)
    layout = groups.Layout((2, 6), "patch", 3)
    parts = layout.split(x)
    assert parts[0].tolist() == [[0, 1, 2, 6, 7, 8], [3, 4, 5, 9, 10, 11]]
    assert torch.equal(layout.join(parts), x)
    for shape in ((2,), (2, 4, 4, 4)):
        with pytest.raises(ValueError, match="must tile"):
            groups.Layout(shape, "patch", 2)


def test_paths_of_permutations_begin_and_end() -> None:
    g = groups.permutation((1, 4)).sample_haar(seed=3)
    torch.testing.assert_close(g.path(1.0).matrix(), g.matrix())
    torch.testing.assert_close(g.path(0.0).matrix(), torch.eye(4, dtype=torch.float64))
    assert not torch.equal(g.matrix(), torch.eye(4, dtype=torch.float64))
    with pytest.raises(TypeError, match="one group compose"):
        g @ groups.permutation((2, 2)).sample_haar(seed=3)
    half_turn = torch.diag(torch.tensor([-1.0, -1.0, -1.0, -1.0], dtype=torch.float64))[None]
    with pytest.raises(ValueError, match="no accurate real logarithm"):
        groups.Rotation(groups.Layout((4,), "all"), half_turn).path(0.5)


def test_which_groups_suit_a_shape() -> None:
    assert "quarter turns" not in groups.named((3, 4, 5))
    assert "quarter turns" not in groups.named((3, 4))
    assert "quarter turns" not in groups.named((4, 4, 4, 4))
    assert set(groups.named((5,))) == {"P(c)⊗I", "O(c)⊗I"}
    with pytest.raises(ValueError, match="square images"):
        groups.quarter_turns((3, 4, 4, 4))
    assert groups.generated((1, 4), []).name == "identity"
    assert groups.generated((1, 4), []).order == 1
    with pytest.raises(ValueError, match="does not"):
        groups.generated((1, 4), ["sign flip"])


def test_a_turn_of_two_channels_is_no_permutation() -> None:
    """Most of its entries are 0 or 1, and all of them have to be."""
    group = next(g for g in ALL.values() if g.kind == "permutation" and g.layout.size == 3)
    turn = torch.eye(3, dtype=torch.float64)
    turn[:2, :2] = torch.tensor([[0.6, -0.8], [0.8, 0.6]])
    mixed = Rotation(group.layout, turn.expand(group.copies, 3, 3))
    assert not group.contains(mixed)
    assert group.contains(
        Rotation(group.layout, torch.eye(3, dtype=torch.float64)[[1, 2, 0]].expand(group.copies, 3, 3))
    )
