"""The invariance table by three tests, each with groups the system does not have."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import priorscope as ps
from priorscope.data import groups
from priorscope.probes.symmetries._elements import moving_elements

SHAPE = (3, 4, 4)
GROUPS = {
    "shared": groups.shared_orthogonal(SHAPE),
    "pixel": groups.pixel_orthogonal(SHAPE),
    "all": groups.orthogonal(SHAPE),
}
LARGEST = {"fcn": "all", "lcn": "pixel", "vec": "shared", "gap": "shared"}  # Theorem 3.1, finite width
LARGEST_INFINITE = {"fcn": "all", "lcn": "pixel", "vec": "pixel", "gap": "shared"}
DESCENT = ps.inference.GradientDescent(
    learning_rate=0.5, steps=30, batch_size=8, momentum=0.5, weight_decay=1e-3, mixup=0.4
)


def _data(n: int = 16) -> ps.data.Dataset:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2 * n, *SHAPE, generator=generator)
    y = (x[:, 0, :, :-1] * x[:, 0, :, 1:]).mean((1, 2), keepdim=True)[:, 0] * 5  # a local feature of one channel
    return ps.data.Dataset(ps.data.Split(x[:n], y[:n]), ps.data.Split(x[n:], y[n:]), name="local")


DATA = _data()


def _should(largest: str, group: str) -> bool:
    return list(GROUPS).index(group) <= list(GROUPS).index(largest)


@pytest.mark.parametrize("name", LARGEST_INFINITE)
def test_kernels_have_the_groups_of_the_theorem_and_no_larger_ones(name: str) -> None:
    system = ps.System(DATA, getattr(ps.models, name)(depth=2), ps.inference.KernelRegression())
    for key, group in GROUPS.items():
        found = ps.probes.symmetry(system, group, n_inputs=6)
        assert found.invariant == _should(LARGEST_INFINITE[name], key)
        assert found.change < 1e-12 if found.invariant else found.change > 1e-3


@pytest.mark.parametrize("name", LARGEST)
def test_coupled_networks_train_alike_inside_the_group_only(name: str) -> None:
    system = ps.System(DATA, getattr(ps.models, name)(depth=2, bias_variance=0.1), DESCENT, width=6)
    for key, group in GROUPS.items():
        found = ps.probes.symmetry(system, group, test="coupling", n_elements=1)
        assert found.invariant == _should(LARGEST[name], key)
        if found.invariant:
            assert found.change < 1e-8
            assert found.residual is not None
            assert found.residual < 1e-12
            assert found.note == ""
        else:
            assert found.change > 1e-2
            assert "cannot absorb" in found.note


class _Patches(nn.Module):
    """A patch embedding as in Mixer and ViT, then a dense layer over tokens; torch's own uniform initialisation."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.embed = nn.Conv2d(3, 48, 2, stride=2)
            self.token = nn.Parameter(torch.randn(48, 4))
            self.head = nn.Linear(192, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head((self.embed(x).flatten(2) + self.token).relu().flatten(1))


def test_a_patch_embedding_absorbs_patch_rotations_of_any_module() -> None:
    system = ps.System(DATA, _Patches, ps.inference.GradientDescent(learning_rate=0.01, steps=20))
    patch = ps.probes.symmetry(system, groups.patch_orthogonal(SHAPE, 2), test="coupling", n_elements=1)
    assert patch.invariant
    assert "not Gaussian" in patch.note  # torch draws uniform weights
    assert not ps.probes.symmetry(system, GROUPS["pixel"], test="coupling", n_elements=1).invariant
    permuted = ps.probes.symmetry(system, groups.shared_permutation(SHAPE), test="coupling", n_elements=1)
    assert permuted.invariant
    assert permuted.note == ""  # permutations keep any law of independent weights


def test_an_optimiser_can_break_the_symmetry_of_its_model() -> None:
    adam = ps.inference.GradientDescent(learning_rate=0.05, steps=20, optimiser="adam")
    for inference, wanted in ((DESCENT, True), (adam, False)):
        system = ps.System(DATA, ps.models.fcn(depth=1), inference, width=8)
        assert ps.probes.symmetry(system, GROUPS["all"], test="coupling", n_elements=1).invariant is wanted


def test_a_function_that_is_invariant_needs_no_other_weights() -> None:
    descent = ps.inference.GradientDescent(learning_rate=0.5, steps=20)
    gap, vec = (ps.System(DATA, arch(depth=1), descent, width=8) for arch in (ps.models.gap, ps.models.vec))
    shifts = groups.translations(SHAPE)
    found = ps.probes.symmetry(gap, shifts, n_elements=1, seed=3)
    assert found.invariant
    assert "same weights" in found.note
    by_law = ps.probes.symmetry(vec, shifts, n_elements=1, seed=3, n_seeds=8)  # the readout absorbs the shift
    assert by_law.test == "black box"
    assert by_law.invariant


def test_the_black_box_refutes_and_accepts() -> None:
    descent = ps.inference.GradientDescent(learning_rate=1.0, steps=60)
    fcn, gap = (ps.System(DATA, arch(depth=1), descent, width=32) for arch in (ps.models.fcn, ps.models.gap))
    inside = ps.probes.symmetry(fcn, GROUPS["all"], test="black box", n_seeds=12)
    outside = ps.probes.symmetry(gap, GROUPS["all"], test="black box", n_seeds=12)
    assert inside.invariant
    assert inside.p_value is not None
    assert inside.p_value > 0.01
    assert (inside.answer, outside.answer) == ("not refuted", "no")
    assert not outside.invariant
    assert outside.p_value is not None
    assert outside.p_value <= 0.002
    factory = ps.System(DATA, _Patches, ps.inference.GradientDescent(learning_rate=0.01, steps=3))
    assert ps.probes.symmetry(factory, GROUPS["shared"], test="black box", n_seeds=4).p_value is not None


def test_energy_test_has_the_level_it_claims() -> None:
    generator = torch.Generator().manual_seed(0)
    values = torch.tensor(
        [
            ps.probes.energy_test(*torch.randn(2, 6, 3, generator=generator), permutations=99, seed=s).p_value
            for s in range(200)
        ]
    )
    rejected = float((values <= 0.1).double().mean())
    assert abs(rejected - 0.1) < 4 * (0.1 * 0.9 / 200) ** 0.5
    x = torch.randn(30, 3, generator=generator)
    assert ps.probes.energy_test(x, 3 * torch.randn(30, 3, generator=generator)).p_value < 0.01  # same mean, other law


def test_table_of_systems_and_groups() -> None:
    systems = {
        n: ps.System(DATA, getattr(ps.models, n)(depth=1), ps.inference.KernelRegression()) for n in ("fcn", "gap")
    }
    linear = ps.models.Architecture("linear", (ps.models.Flatten(), ps.models.Dense()))
    systems["linear"] = ps.System(DATA, linear, ps.inference.KernelRegression())
    table = ps.probes.invariance_table(systems, n_inputs=4, n_elements=3)
    matrix = table.matrix()
    assert matrix.loc["linear"].all()  # minimum-norm regression: every orthogonal map
    assert matrix.loc["fcn"].all()
    wanted = {"P(c)⊗I", "O(c)⊗I", "translations", "flips", "quarter turns"}
    assert set(matrix.columns[matrix.loc["gap"]]) == wanted
    assert len(table.table()) == 3 * len(groups.named(SHAPE))
    assert len(table.chart().to_dict()["layer"]) == 2
    assert ps.probes.symmetry(systems["fcn"], GROUPS["all"]).chart().to_dict()["mark"]["type"] == "bar"


def test_table_of_networks_whose_first_layer_reads_pixels_or_patches() -> None:
    """ResNet: one rotation of the channels. Mixer, ViT and one's own patch embedding: one rotation of the patch."""
    shape = (3, 4, 4)
    descent = ps.inference.GradientDescent(learning_rate=0.02, steps=5, momentum=0.5, weight_decay=1e-3)
    finite = {"resnet": (ps.models.resnet18(), 4), "mixer": (ps.models.mixer(depth=1, patch=2), 16)}
    finite["vit"] = (ps.models.vit(depth=1, patch=2), 16)
    systems = {name: ps.System(DATA, model, descent, width=width) for name, (model, width) in finite.items()}
    systems["own"] = ps.System(DATA, _Patches, descent)
    systems["lap"] = ps.System(DATA, ps.models.lap(depth=2, window=2), ps.inference.KernelRegression())
    wanted = [GROUPS["shared"], groups.patch_orthogonal(shape, 2), GROUPS["pixel"], GROUPS["all"]]
    matrix = ps.probes.invariance_table(systems, wanted, test="exact", n_elements=1, n_inputs=4).matrix()
    for name, row in matrix.iterrows():
        assert row.tolist() == [True, name in ("mixer", "vit", "own"), False, False]


def test_elements_that_move_nothing_prove_nothing() -> None:
    turn = groups.quarter_turns(SHAPE)
    seeds = [s for s in range(40) if torch.equal(turn.sample_haar(s)(DATA.inputs), DATA.inputs)]
    assert seeds  # Haar draws of a small group meet the identity
    net = ps.models.vec(depth=1).network(SHAPE, width=4)
    with pytest.raises(AssertionError, match="not invariant under quarter turns"):
        ps.testing.assert_invariant(net, turn, inputs=DATA.inputs, n_elements=1, seed=seeds[0])
    flat = ps.data.local_features(8, 8, size=4, channels=1)
    kernel = ps.System(flat, ps.models.gap(depth=1), ps.inference.KernelRegression())
    ps.testing.assert_invariant(kernel, groups.shared_permutation((1, 4, 4)))  # one channel: nothing to permute


def test_assert_invariant_of_systems() -> None:
    gap, fcn = (ps.System(DATA, arch(depth=1), DESCENT, width=4) for arch in (ps.models.gap, ps.models.fcn))
    ps.testing.assert_invariant(fcn, GROUPS["all"], test="coupling", n_elements=1)
    with pytest.raises(AssertionError, match="not invariant under O\\(c\\)\\^d: coupling"):
        ps.testing.assert_invariant(gap, GROUPS["pixel"], test="coupling", n_elements=1)
    with pytest.raises(ValueError, match="needs inputs"):
        ps.testing.assert_invariant(lambda x: x, GROUPS["all"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"group": groups.orthogonal((3, 5, 5))}, "the data have"),
        ({"test": "guess"}, "test must be"),
        ({"test": "coupling"}, "test of networks"),
    ],
)
def test_errors(change: dict[str, Any], message: str) -> None:
    system = ps.System(DATA, ps.models.fcn(depth=1), ps.inference.KernelRegression())
    with pytest.raises(ValueError, match=message):
        ps.probes.symmetry(system, **{"group": GROUPS["all"], **change})


def test_errors_of_networks() -> None:
    with pytest.raises(ValueError, match="at least 4 draws"):
        ps.probes.energy_test(torch.zeros(2, 3), torch.zeros(2, 3))
    fixed = ps.System(DATA, _Patches(0), ps.inference.GradientDescent(steps=2))
    with pytest.raises(ValueError, match="fixed weights"):
        ps.probes.symmetry(fixed, GROUPS["shared"], test="black box")
    with pytest.raises(TypeError, match="wanted a model with a kernel"):
        ps.probes.symmetry(fixed, GROUPS["shared"], test="kernel")
    wild = ps.System(DATA, _Patches, ps.inference.GradientDescent(learning_rate=100.0, steps=60))
    with pytest.raises(ValueError, match="diverged"):
        ps.probes.symmetry(wild, GROUPS["shared"], test="coupling")
    with pytest.raises(ValueError, match="at least one system"):
        ps.probes.invariance_table({})
    with pytest.raises(TypeError, match="inverse"):
        ps.probes.couple(_Patches(0), lambda x: x, SHAPE)


def test_coupling_leaves_no_hook_behind() -> None:
    network = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    coupling = ps.probes.couple(network, groups.orthogonal((3,)).sample_haar(0), (3,))
    for net in (network, coupling.network):
        assert all(not module._forward_hooks for module in net.modules())


def test_the_black_box_compares_predictions_of_kernels_directly():
    data = ps.data.local_features(20, 10, size=4, seed=0)
    group = groups.permutation(data.input_shape)
    system = ps.System(data, ps.models.gap(depth=1), ps.inference.KernelRegression())
    found = ps.probes.symmetry(system, group, test="black box", seed=3)
    g = moving_elements(group, 2, 3)[0]
    plain = system.run(3).predict(data.test.inputs)
    moved = ps.System(data.transformed(g), system.model, system.inference).run(3).predict(g(data.test.inputs))
    assert found.change == pytest.approx(float((moved - plain).norm() / plain.norm()), rel=1e-6)
    assert not found.invariant
    dense = ps.System(data, ps.models.fcn(1), ps.inference.KernelRegression())
    assert ps.probes.symmetry(dense, group, test="black box").invariant


def test_first_layers_of_two_branches_and_of_many_inputs_absorb_a_rotation():
    """More inputs than one block of unit vectors, and two layers that both see the input."""

    class Branches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(70, 3), nn.Linear(70, 4)
            self.last = nn.Linear(7, 1)

        def forward(self, x: Tensor) -> Tensor:
            return self.last(torch.cat([self.one(x), self.two(x)], 1).tanh())

    torch.manual_seed(0)
    network = Branches().double()
    g = groups.orthogonal((70,)).sample_haar(1)
    found = ps.probes.couple(network, g, (70,))
    x = torch.randn(5, 70, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert found.residual < 1e-10
    torch.testing.assert_close(found.network(g(x)), network(x))
    assert not torch.allclose(found.network(x), network(x), atol=1e-3)
