"""Group averages, finite groups and signals on spheres: small cases by hand, arguments handed on, what is refused."""

from __future__ import annotations

import pytest
import torch

import priorscope as ps
from priorscope.models import (
    fcn,
    gap,
    invariant,
    laplace,
    molecule_network,
    planar_cnn,
    spherical_cnn,
    spherical_resnet,
)
from priorscope.models.equivariant._group_pool import group_pool, moves_of
from priorscope.models.equivariant._irreps import real_wigner
from priorscope.models.equivariant._moves import moves_named
from priorscope.models.equivariant.homogeneous import (
    Cosets,
    EquivariantLinear,
    Field,
    KernelSpace,
    TableGroup,
    cyclic,
    regular,
    symmetric,
    trivial,
)
from priorscope.models.equivariant.spheres import SphericalResidual, local_filter, zonal_convolution
from priorscope.models.equivariant.spheres._grid import bandwidth_of

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
Z = torch.randn(2, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_a_pool_between_two_batches():
    def lopsided(a, b):
        return (a + 2.0).relu() @ b.T

    want = sum(lopsided(s * X, t * Z) for s in (1, -1) for t in (1, -1)) / 4
    torch.testing.assert_close(group_pool(lopsided, X, Z, group="sign"), want)
    own = sum(lopsided(s * X, t * X) for s in (1, -1) for t in (1, -1)) / 4
    torch.testing.assert_close(group_pool(lopsided, X, group="sign"), (own + own.T) / 2)
    torch.testing.assert_close(group_pool(lopsided, X, X, group="sign"), own)


def test_a_kernel_of_another_kind_averaged_over_signs():
    model = invariant(laplace(2.0), "sign")
    plain = laplace(2.0)
    want = (plain.kernel(X, Z).ntk + plain.kernel(X, -Z).ntk) / 2
    found = model.kernel(X, Z, kinds=("ntk",), dtype=torch.float32)
    assert found.ntk.dtype == torch.float32
    assert found.nngp is None
    torch.testing.assert_close(found.ntk, want.float())
    assert model.kernel(X, Z).nngp.dtype == torch.float64
    assert model.words == "changes of sign"
    assert invariant(gap(1), ps.data.groups.dihedral((1, 4, 4))).words == "dihedral"
    for option in ({"out": "somewhere"}, {"executor": object()}):
        with pytest.raises(ValueError, match="out= and executor= are for architectures"):
            model.kernel(X, Z, **option)
    with pytest.raises(ValueError, match="the cost of architectures can be told"):
        model.estimate(3, 3, (3,))
    with pytest.raises(ValueError, match="positions|axes|shape"):
        invariant(gap(1), "sign").check_input_shape((3,))


class Uneven:
    """A kernel that is not the same after both inputs change their sign: all four pairs are taken."""

    name = "uneven"

    def kernel(self, x1, x2=None, *, kinds=("nngp", "ntk")):
        K = (x1 + 0.5).relu() @ ((x1 if x2 is None else x2) + 0.5).relu().T
        return ps.models.Kernel(nngp=K if "nngp" in kinds else None, ntk=3 * K)


def test_every_pair_of_moves_is_taken_where_it_must_be():
    model, plain = invariant(Uneven(), "sign"), Uneven()
    want = sum(plain.kernel(s * X, t * Z).ntk for s in (1, -1) for t in (1, -1)) / 4
    torch.testing.assert_close(model.kernel(X, Z).ntk, want)
    assert model.kernel(X, Z, kinds=("ntk",)).nngp is None
    assert model.kernel(X, Z, kinds=("nngp",)).ntk is None


@pytest.mark.parametrize(
    ("setting", "value"),
    [("parametrisation", "mean-field"), ("initialisation", "antisymmetric"), ("dtype", torch.float64)],
)
def test_networks_are_made_as_asked(setting, value):
    model, plain = invariant(fcn(1), "sign"), fcn(1)
    x = X.to(torch.float64 if setting == "dtype" else torch.float32)
    one = plain.network((3,), width=8, seed=2, **{setting: value})
    want = (one(x) + one(-x)) / 2
    torch.testing.assert_close(model.network((3,), width=8, seed=2, **{setting: value})(x), want)
    stack = model.ensemble((3,), width=8, seeds=[1, 2], **{setting: value})
    torch.testing.assert_close(stack(x)[1], want, atol=1e-6, rtol=1e-5)
    if setting == "parametrisation":
        assert (model.network((3,), width=8, seed=2)(x) - want).abs().max() > 1e-3
    many = plain.ensemble((3,), width=8, seeds=[1, 2], **{setting: value})
    torch.testing.assert_close(many(x)[1], one(x), atol=1e-6, rtol=1e-5)


def test_groups_by_name():
    x = torch.arange(6.0).reshape(1, 1, 2, 3)
    assert [m(x).flatten().tolist() for m in moves_named("flips", (1, 2, 3))] == [
        [0, 1, 2, 3, 4, 5], [2, 1, 0, 5, 4, 3], [3, 4, 5, 0, 1, 2], [5, 4, 3, 2, 1, 0],
    ]  # fmt: skip
    assert [m(x[:, :, 0]).flatten().tolist() for m in moves_named("flips", (1, 3))] == [[0, 1, 2], [2, 1, 0]]
    assert [m(x).sum().item() for m in moves_named("sign", (1, 2, 3))] == [15, -15]
    with pytest.raises(ValueError, match="there is no group 'p5'"):
        moves_named("p5", (1, 4, 4))

    class Empty:
        name, input_shape = "empty", (3,)

        def elements(self):
            return []

    with pytest.raises(ValueError, match="a mean is taken over 1 to .* elements; empty has 0"):
        moves_of(Empty(), (3,))


def test_tables_that_are_no_groups():
    loop = [[0, 1, 2, 3, 4], [1, 0, 3, 4, 2], [2, 4, 0, 1, 3], [3, 2, 4, 0, 1], [4, 3, 1, 2, 0]]  # a loop of order five
    for table, words in (
        (loop, "associative"),
        ([[0, 1], [0, 1]], "identity"),
        ([[1, 0], [0, 1]], "identity"),
        ([[0, 1, 2], [2, 0, 1], [1, 2, 0]], "identity"),
        ([[0, 1], [1, 1]], "permutations"),
        ([[0, 1, 2], [1, 2, 0]], "permutations"),
    ):
        with pytest.raises(ValueError, match=words):
            TableGroup("odd", torch.tensor(table))
    S = symmetric(3)
    assert symmetric(1).order == 1
    assert [S.times(g, S.inverse(g)) for g in range(6)] == [0] * 6
    for bad in ((), (1,), (0, 99), (0, 1, 2)):
        with pytest.raises((ValueError, IndexError), match="a subgroup of S3|out of"):
            S.check_subgroup(bad)
    half = S.subgroup([1])
    with pytest.raises(ValueError, match="one element of each of the 3 cosets"):
        Cosets(S, half, section=[0, 1, 2])
    with pytest.raises(ValueError, match="one element of each of the 3 cosets"):
        Cosets(S, half, section=[0])
    big = [tuple(range(1, 12)) + (0,), (1, 0, *range(2, 12))]
    with pytest.raises(ValueError, match="makes groups of at most"):
        ps.models.equivariant.homogeneous._group.permutations("S12", big)


def test_maps_of_the_trivial_group_are_all_maps():
    one = symmetric(1)
    space = Cosets(one, (0,))
    maps = KernelSpace(Field(space, trivial(one, (0,))), Field(space, trivial(one, (0,))))
    assert maps.by_brute_force().shape == (1, 1, 1)
    C = cyclic(4)
    whole = Cosets(C, tuple(range(4)))
    first = Field(whole, regular(C, tuple(range(4))))
    found = KernelSpace(first, first)
    assert len(found.maps) == len(found.by_brute_force()) == 4
    layer, other = (EquivariantLinear(first, first, 2, 3, seed=s) for s in (0, 1))
    assert not torch.equal(layer.weight, other.weight)
    with pytest.raises(ValueError, match="EquivariantLinear needs fields"):
        layer(torch.zeros(5, 1, 1, 4))
    S = symmetric(5)
    big = Field(Cosets(S, (0,)), trivial(S, (0,)))
    assert big.dim == 120
    with pytest.raises(ValueError, match="brute force solves for up to 2500 numbers"):
        KernelSpace(big, big).by_brute_force()


@pytest.mark.parametrize("shape", [(7, 7), (8, 6), (6, 8), (0, 0), (8,), (1, 8)])
def test_grids_of_no_bandwidth(shape):
    with pytest.raises(ValueError, match="2b samples along each"):
        bandwidth_of(torch.zeros(shape), 2)
    assert bandwidth_of(torch.zeros(5, 2, 2), 2) == 1
    assert bandwidth_of(torch.zeros(4, 4, 4), 3) == 2
    with pytest.raises(ValueError, match="at least one signal"):
        bandwidth_of(torch.zeros(0, 4, 4), 2)


def test_networks_on_spheres_refuse_what_does_not_fit():
    for make, words in (
        (lambda: spherical_cnn((4,), (2, 3)), "one bandwidth and one number"),
        (lambda: spherical_cnn((4,), (2,), filters="square"), "filters is one of"),
        (lambda: spherical_cnn((4,), (2,), pool="min"), "filters is one of"),
        (lambda: spherical_resnet((4, 2), (4,)), "one bandwidth and one number"),
        (lambda: molecule_network((3, 2), (4,)), "one bandwidth and one number"),
        (lambda: molecule_network((3,), (4,), hidden=(8, 8)), "three sizes of hidden"),
        (lambda: molecule_network((3,), (4,)).network((5, 6, 6)), "needs signals"),
        (lambda: planar_cnn(5, 3).network((1, 16, 16)), "square images"),
        (lambda: planar_cnn(5, 3).network((1, 30, 31)), "square images"),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    assert planar_cnn(5, 3).network((1, 17, 17), width=2)(torch.zeros(1, 1, 17, 17)).shape == (1, 1)
    net = molecule_network((2,), (2,), hidden=(3, 3, 3)).network((2, 1, 4, 4), width=2)
    with pytest.raises(ValueError, match="a molecule has no atom"):
        net(torch.stack([torch.ones(2, 1, 4, 4), torch.zeros(2, 1, 4, 4)]))


def test_filters_of_residual_blocks():
    points = local_filter(rings=1, points=4, turns=1)
    assert points.shape == (4, 3)
    assert local_filter(rings=2, points=5, turns=2).shape == (20, 3)
    sizes = []
    for sphere in (True, False):
        block = SphericalResidual(1, 2, 2, 2, sphere=sphere, points=points)
        plain = SphericalResidual(1, 2, 2, 2, sphere=sphere)
        sizes.append([p.numel() for m in (block, plain) for p in m.body[3].parameters()])
        first = [sum(p.numel() for p in m.body[0].parameters()) for m in (block, plain)]
        assert (first[0] == first[1]) == sphere  # on the sphere the first layer keeps its own points
    assert sizes[0] == sizes[1]
    assert sizes[0][0] != sizes[0][len(sizes[0]) // 2]


def test_zonal_filters_of_one_grid_alone_and_complex_ones():
    g = torch.Generator().manual_seed(0)
    f, psi = torch.rand(2, 8, 8, generator=g, dtype=torch.float64), torch.rand(8, 8, generator=g, dtype=torch.float64)
    real = zonal_convolution(f, psi)
    assert not real.is_complex()
    turned = zonal_convolution(f * 1j, psi)
    torch.testing.assert_close(turned, 1j * real)
    for bad in (psi[:6, :6], psi[None]):
        with pytest.raises(ValueError, match="a filter"):
            zonal_convolution(f, bad)


def test_only_orthogonal_matrices_turn_harmonics():
    for bad in (torch.eye(2), 1.01 * torch.eye(3), 0.5 * torch.eye(3), torch.ones(3, 3), torch.eye(4)):
        with pytest.raises(ValueError, match="an orthogonal matrix"):
            real_wigner(1, bad)


@pytest.mark.parametrize(("width", "sizes"), [(4, [4, 6, 1]), (8, [8, 12, 2]), (1, [1, 2, 1])])
def test_channels_are_scaled_with_the_width_and_none_is_lost(width, sizes):
    """Channels 4, 6 and 1 at width 4; rounded, and at least one of each."""
    bands, channels = (3, 2, 2), (4, 6, 1)
    shapes = {
        "molecule": (molecule_network(bands, channels, hidden=(8, 5, 4)), (2, 5, 6, 6)),
        "resnet": (spherical_resnet(bands, channels), (5, 6, 6)),
        "cnn": (spherical_cnn(bands, channels, normalise=True), (5, 6, 6)),
    }
    for name, (model, shape) in shapes.items():
        net = model.network(shape, width=width, outputs=3)
        found = [m.num_features for m in net.modules() if isinstance(m, torch.nn.BatchNorm3d)]
        assert sorted(set(found)) == sorted(set(sizes)), name
        assert found[0] == sizes[0]
        assert net(torch.rand(2, *shape)).shape == (2, 3)
    hidden = [
        m for m in molecule_network(bands, channels, hidden=(8, 5, 4)).network((2, 5, 6, 6), width=width).modules()
    ]
    linear = [(m.in_features, m.out_features) for m in hidden if isinstance(m, torch.nn.Linear)]
    assert linear == [(sizes[-1], 8), (8, 5), (5, 4), (4, 1)]


@pytest.mark.parametrize("shape", [(1, 5, 4, 4), (1, 4, 4, 5), (4, 4, 4)])
def test_voxels_fill_a_cube(shape):
    with pytest.raises(ValueError, match="cubes of voxels"):
        ps.models.voxel_cnn().network(shape, width=2, outputs=2)
