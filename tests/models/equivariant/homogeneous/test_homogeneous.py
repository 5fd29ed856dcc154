"""Cosets, cocycles, induced representations and the three kernel spaces: hand values of the source, brute force, characters."""

from __future__ import annotations

import itertools

import pytest
import torch

from priorscope.models.equivariant.homogeneous import (
    TAXONOMY,
    Cosets,
    EquivariantLinear,
    Field,
    KernelSpace,
    Representation,
    TableGroup,
    cyclic,
    dihedral,
    irreducible,
    permutations,
    permuting,
    point_group,
    regular,
    semidirect,
    symmetric,
    taxonomy_table,
    trivial,
)

D3 = dihedral(3)
F = D3.subgroup([D3.named("f")])
SOURCE = [D3.named(word) for word in ("e", "r", "r2f")]  # the section of the source's figure 7
SIGN = Representation("sign", D3, F, torch.tensor([[[1.0]], [[-1.0]]]))


def spaces():
    S4 = symmetric(4)
    fixing = [g for g in range(24) if S4.names[g][3] == "3"]
    lattice, turns = semidirect(3, "C4")
    return [Cosets(D3, F, SOURCE), Cosets(D3, D3.subgroup([D3.named("r")])), Cosets(S4, fixing), Cosets(lattice, turns)]


@pytest.mark.parametrize("space", spaces(), ids=["D3/C2", "D3/C3", "S4/S3", "p4/C4"])
def test_cocycle_identities(space):
    G, at = space.group, int(space.of[0])
    few = range(G.order) if G.order <= 24 else range(0, G.order, 5)
    for x, a, b in itertools.product(range(len(space)), few, few):
        assert space.cocycle(x, G.times(a, b)) == G.times(space.cocycle(space.act(b, x), a), space.cocycle(x, b))
    for h in space.subgroup:
        assert space.cocycle(at, h) == h
    for x in range(len(space)):
        s = int(space.section[x])
        assert space.part(s) == 0
        assert all(space.part(G.times(s, h)) == h for h in space.subgroup)
    for g in range(G.order):
        assert G.times(int(space.section[space.of[g]]), space.part(g)) == g
        assert all(space.part(G.times(g, h)) == G.times(space.part(g), h) for h in space.subgroup)


def test_the_test_vector_of_the_source():
    space = Cosets(D3, F, SOURCE)
    assert D3.names[space.cocycle(1, D3.named("r"))] == "f"
    plain = Cosets(D3, F, [D3.named(word) for word in ("e", "r", "r2")])
    assert D3.names[plain.cocycle(1, D3.named("r"))] == "e"  # another section, another cocycle


def test_semidirect_products_have_a_cocycle_without_place():
    for side, point in ((3, "C4"), (3, "D4"), (3, "C6")):
        group, inner = semidirect(side, point)
        space = Cosets(group, inner)
        assert space.split
        assert all(space.part(g) == g % len(inner) for g in range(group.order))
    assert not Cosets(D3, F, SOURCE).split
    lattice, _ = semidirect(5, "C4")
    assert lattice.order == 100


def fields():
    space = Cosets(D3, F, SOURCE)
    turns = Cosets(D3, D3.subgroup([D3.named("r")]))
    points = Cosets(D3, (0,))
    made = {"triv": Field(space, trivial(D3, F)), "sign": Field(space, SIGN), "reg": Field(space, regular(D3, F))}
    made["C3 triv"] = Field(turns, trivial(D3, turns.subgroup))
    made["C3 reg"] = Field(turns, regular(D3, turns.subgroup))
    made["C3 irrep"] = Field(turns, irreducible(D3, turns.subgroup)[-1])
    made["1"] = Field(points, trivial(D3, (0,)))
    return made


FIELDS = fields()


@pytest.mark.parametrize("name", FIELDS)
def test_induced_representations_and_mackey_functions(name):
    field = FIELDS[name]
    actions = [field.action(g) for g in range(6)]
    for a, b in itertools.product(range(6), repeat=2):
        torch.testing.assert_close(actions[a] @ actions[b], actions[D3.times(a, b)])
    f = torch.randn(2, len(field.space), field.representation.dim, generator=torch.Generator().manual_seed(0)).double()
    lifted = field.lift(f)
    assert field.is_mackey(lifted)
    assert field.dim == len(field.space) * field.representation.dim
    torch.testing.assert_close(field.lower(lifted), f)
    for g in range(6):  # Λ π(g) = shift by g after Λ
        moved = (f.flatten(1) @ actions[g].T).reshape(f.shape)
        shifted = lifted[:, D3.table[D3.inverse(g)]]
        torch.testing.assert_close(field.lift(moved), shifted)
        assert float(actions[g].trace()) == pytest.approx(field.character(g))
    if field.representation.dim * len(field.space.subgroup) > 1:
        assert not field.is_mackey(torch.randn(6, field.representation.dim).double())


REFERENCE = {  # published for D3 over {e, f}
    ("triv", "triv"): 2,
    ("triv", "sign"): 1,
    ("sign", "sign"): 2,
    ("triv", "reg"): 3,
    ("sign", "reg"): 3,
    ("reg", "reg"): 6,
}


@pytest.mark.parametrize("pair", list(itertools.product(FIELDS, repeat=2)), ids="-".join)
def test_three_realisations_have_one_dimension_and_give_all_maps(pair):
    first, second = (FIELDS[name] for name in pair)
    space = KernelSpace(first, second)
    brute = space.by_brute_force()
    assert space.dim == len(brute) == round(space.by_characters()) == sum(map(len, space.basis_d))
    assert len(space.basis_c) == len(space.basis_g) == len(space.maps) == space.dim
    assert space.dim == REFERENCE.get(pair, space.dim)
    if not space.dim:
        return
    for u in range(6):
        torch.testing.assert_close(second.action(u) @ space.maps, space.maps @ first.action(u))
    both = torch.cat([space.maps, brute]).flatten(1)
    assert torch.linalg.matrix_rank(both, tol=1e-8) == space.dim  # they span the same maps
    rho1, rho2 = first.representation, second.representation
    for h1, h2, g in itertools.product(first.space.subgroup, second.space.subgroup, range(6)):  # K_G
        moved = space.basis_g[:, D3.times(h2, g, h1)]
        torch.testing.assert_close(moved, rho2(h2) @ space.basis_g[:, g] @ rho1(h1))
    for h2, x in itertools.product(second.space.subgroup, range(len(first.space))):  # K_C
        back = rho1(D3.inverse(first.space.cocycle(x, h2)))
        torch.testing.assert_close(space.basis_c[:, first.space.act(h2, x)], rho2(h2) @ space.basis_c[:, x] @ back)
    torch.testing.assert_close(space.lower(space.basis_g), space.basis_c)  # K_G to K_C and back
    at = 0
    for which, block in enumerate(space.basis_d):  # K_C to K_D and back
        for one in block:
            found = space.restrict(space.basis_c[at])
            torch.testing.assert_close(found[which], one)
            assert all(float(other.abs().max()) == 0 for k, other in enumerate(found) if k != which)
            at += 1


@pytest.mark.parametrize("pair", [("sign", "reg"), ("reg", "C3 irrep"), ("C3 reg", "sign")], ids="-".join)
def test_twisted_correlation_is_the_lifted_one_and_commutes_with_the_group(pair):
    first, second = (FIELDS[name] for name in pair)
    space = KernelSpace(first, second)
    source = torch.Generator().manual_seed(0)
    kernel = torch.einsum("k,kxba->xba", torch.randn(space.dim, generator=source).double(), space.basis_c)
    f = torch.randn(len(first.space), first.representation.dim, generator=source).double()
    found = space.correlate(kernel, f)
    kappa, lifted = space.lift(kernel), first.lift(f)
    whole = torch.zeros(6, second.representation.dim, dtype=torch.float64)
    for g, other in itertools.product(range(6), repeat=2):  # [κ ⋆ f](g) = Σ κ(g⁻¹g') f(g')
        whole[g] += kappa[D3.times(D3.inverse(g), other)] @ lifted[other]
    assert second.is_mackey(whole)
    torch.testing.assert_close(second.lower(whole) / len(first.space.subgroup), found)
    for u in range(6):
        moved = (first.action(u) @ f.flatten()).reshape(f.shape)
        torch.testing.assert_close(space.correlate(kernel, moved).flatten(), second.action(u) @ found.flatten())
    wrong = space.correlate(torch.randn(kernel.shape, generator=source).double(), first.lower(first.lift(f)))
    turned = (first.action(1) @ f.flatten()).reshape(f.shape)
    assert (space.correlate(kernel + 0.1 * torch.ones_like(kernel), turned) - wrong).abs().max() > 0


def test_36_pairs_on_the_permutations_of_four_things():
    S4 = symmetric(4)
    odd = torch.tensor([1.0 if _even(name) else -1.0 for name in S4.names]).double()
    inner = {
        "S3": [g for g in range(24) if S4.names[g][3] == "3"],
        "C4": list(S4.subgroup([S4.named("1230")])),
        "V4": list(S4.subgroup([S4.named("1032"), S4.named("2301")])),
    }
    made = []
    for members in inner.values():
        space = Cosets(S4, members)
        made += [Field(space, trivial(S4, members))]
        made += [Field(space, Representation("sign", S4, tuple(members), odd[sorted(members)][:, None, None]))]
        made += [Field(space, permuting(S4, members, lambda g, i: int(S4.names[g][i]), 4))]
    for first, second in itertools.product(made, repeat=2):
        space = KernelSpace(first, second)
        assert space.dim == round(space.by_characters()) == len(space.maps)
    space = KernelSpace(made[0], made[5])
    assert len(space.by_brute_force()) == space.dim


def _even(word):
    return sum(a > b for a, b in itertools.combinations(map(int, word), 2)) % 2 == 0


def test_irreducible_representations_have_the_dimensions_of_the_tables():
    assert [rep.dim for rep in irreducible(dihedral(4), range(8))] == [1, 1, 1, 1, 2]
    assert [rep.dim for rep in irreducible(cyclic(5), range(5))] == [1, 2, 2]  # over the real numbers
    assert [rep.dim for rep in irreducible(symmetric(4), range(24))] == [1, 1, 2, 3, 3]


def test_every_row_of_the_taxonomy_that_is_finite_is_built_and_counted():
    table = taxonomy_table()
    assert len(table) == len(TAXONOMY) == 25
    assert table["dimensions"].isna().sum() == 2  # scalings
    assert table["dimensions"][0] == "9"  # an ordinary 3x3 filter
    for row in TAXONOMY:
        spaces = row.kernels()
        if spaces and spaces[0].group.order <= 60:
            assert all(space.dim == round(space.by_characters()) for space in spaces), row
        if row.representation == "regular" and row.base in ("Z^2", "Z^3", "R^2") and spaces:
            sites = 3 ** int(row.base[-1])  # free values: every pixel times every element of the point group
            assert spaces[0].dim == sites * len(spaces[0].first.space.subgroup)


def test_the_layer_is_equivariant_and_keeps_the_size_of_white_fields():
    G, turns = semidirect(3, "C4")
    space = Cosets(G, turns)
    first, second = Field(space, trivial(G, turns)), Field(space, regular(G, turns))
    layer = EquivariantLinear(first, second, 3, 40)
    x = torch.randn(20, 3, 9, 1, generator=torch.Generator().manual_seed(0))
    for u in G.generators:
        moved = (x.flatten(2) @ first.action(u).float().T).reshape(x.shape)
        wanted = (layer(x).flatten(2) @ second.action(u).float().T).reshape(20, 40, 9, 4)
        torch.testing.assert_close(layer(moved), wanted, atol=1e-4, rtol=1e-4)
    assert float(layer(x).detach().square().mean()) == pytest.approx(1.0, abs=0.2)
    # p4 of scalars to scalars on a 3x3 torus: a centre, four sides, four corners
    assert KernelSpace(first, first).dim == 3


def test_the_layer_of_an_ordinary_lattice_is_a_convolution():
    G, none = semidirect(4, "C1")
    space = Cosets(G, none)
    field = Field(space, trivial(G, none))
    layer = EquivariantLinear(field, field)
    x = torch.randn(2, 1, 16, 1, generator=torch.Generator().manual_seed(0))
    kernel = layer(torch.eye(16).reshape(16, 1, 16, 1)).reshape(4, 4, 4, 4)[0, 0]  # the response to one pixel
    image = torch.fft.fft2(x.reshape(2, 4, 4)) * torch.fft.fft2(kernel)
    torch.testing.assert_close(torch.fft.ifft2(image).real.flatten(1), layer(x).reshape(2, 16), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: TableGroup("x", torch.tensor([[0, 1], [1, 1]])), "rows are permutations"),
        (lambda: TableGroup("x", torch.tensor([[1, 0], [0, 1]])), "the identity as element 0"),
        (lambda: Cosets(D3, (0, 1)), r"subgroup of D3 holds .* \[0, 1\] is none"),
        (lambda: Cosets(D3, F, [D3.named("f"), 1, 2]), "the identity for the coset H itself"),
        (lambda: Cosets(D3, F, [0, 1]), "one element of each of the 3 cosets"),
        (lambda: Representation("x", D3, F, torch.tensor([[[1.0]], [[2.0]]])), "is no representation"),
        (lambda: Representation("x", D3, F, torch.ones(3, 1, 1)), "has matrices"),
        (lambda: Field(Cosets(D3, F), trivial(D3, (0,))), "values in a representation of H"),
        (
            lambda: KernelSpace(FIELDS["triv"], Field(Cosets(cyclic(2), (0,)), trivial(cyclic(2), (0,)))),
            "of H|of one group",
        ),
        (lambda: FIELDS["triv"].lift(torch.zeros(4, 1)), r"wanted an array \(..., 3, 1\)"),
        (lambda: D3.named("x"), "no element named 'x'"),
        (lambda: point_group("D5"), "there is no point group 'D5'"),
        (lambda: permutations("x", [(0, 0)]), "reorderings of 0 to 1"),
        (lambda: semidirect(40, "D4"), "at most 5000 elements"),
        (
            lambda: EquivariantLinear(FIELDS["C3 triv"], FIELDS["C3 irrep"]),
            "no equivariant map between these fields but zero",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
