"""Gradients of expansions block by block and of either kind, moments of features, and numbers that do not fit their type."""

from __future__ import annotations

import pytest
import torch

import priorscope as ps
from priorscope.models import Architecture, Conv, Dense, Flatten, Sequential, fcn, gap, laplace, vec
from priorscope.models.kernels._kernel import check_kinds
from priorscope.models.kernels._mapped_inputs import MappedInputs
from priorscope.models.kernels._mapped_patches import MappedPatches
from priorscope.models.kernels._range import narrowed

G = torch.Generator().manual_seed(0)
X, Z = (torch.randn(n, 3, generator=G, dtype=torch.float64) for n in (7, 4))
C = torch.randn(4, 2, generator=G, dtype=torch.float64)
IX, IZ = (torch.randn(n, 1, 5, generator=G, dtype=torch.float64) for n in (7, 4))


def differences(model, x, z, kind, step=1e-5):
    """Central differences (n, outputs, numbers) of Σ K(x, z) c."""
    found = []
    for j in range(x[0].numel()):
        e = torch.zeros(x[0].numel(), dtype=torch.float64)
        e[j] = step
        e = e.reshape(x.shape[1:])
        up, down = (getattr(model.kernel(x + s * e, z), kind) @ C for s in (1, -1))
        found.append((up - down) / (2 * step))
    return torch.stack(found, -1)


@pytest.mark.parametrize("kind", ["ntk", "nngp"])
@pytest.mark.parametrize("pairs", [500_000, 8, 1])
def test_gradients_do_not_depend_on_the_blocks(kind, pairs, monkeypatch):
    from priorscope.models.kernels import _expansion_gradients as module

    monkeypatch.setattr(module, "PAIRS", pairs)
    monkeypatch.setattr(module, "ENTRIES", pairs)
    arch = fcn(2, activation="erf", bias_variance=0.2)
    torch.testing.assert_close(
        arch.expansion_gradients(X, Z, C, kind=kind), differences(arch, X, Z, kind), rtol=1e-5, atol=1e-7
    )
    images = vec(1, activation="erf", bias_variance=0.2)
    got = images.expansion_gradients(IX, IZ, C, kind=kind)
    assert got.shape == (7, 2, 1, 5)
    torch.testing.assert_close(got.flatten(2), differences(images, IX, IZ, kind), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", ["ntk", "nngp"])
@pytest.mark.parametrize("rows", [10**6, 12])
def test_moments_of_features_of_either_kind(kind, rows, monkeypatch):
    monkeypatch.setattr("priorscope.models.kernels._mapped_inputs.ROWS", rows)
    A = torch.tensor([[1.0, 0.5, 0.0], [0.5, 2.0, 0.1], [0.0, 0.1, 0.7]], dtype=torch.float64)
    for model in (MappedInputs(fcn(1, activation="erf"), A), MappedInputs(fcn(1, activation="erf"), A.diagonal())):
        g = differences(model, X, Z, kind).reshape(-1, 3)
        torch.testing.assert_close(model.feature_moment(X, Z, C, kind=kind), g.T @ g / len(g), rtol=1e-5, atol=1e-8)
    plain = laplace(1.5)
    g = differences(plain, X, Z, kind).reshape(-1, 3)
    torch.testing.assert_close(plain.feature_moment(X, Z, C, kind=kind), g.T @ g / len(g), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("kind", ["ntk", "nngp"])
def test_gradients_behind_maps_of_patches(kind):
    A = torch.diag(torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64)) + 0.1
    for matrix in (A, A.diagonal()):
        model = MappedPatches(gap(1, activation="erf", bias_variance=0.2), matrix)
        got = model.expansion_gradients(IX, IZ, C, kind=kind)
        torch.testing.assert_close(got.flatten(2), differences(model, IX, IZ, kind), rtol=1e-5, atol=1e-7)
    other = model.mapped(2 * A)
    torch.testing.assert_close(other.matrix, 2 * A)
    want = MappedPatches(gap(1, activation="erf", bias_variance=0.2), 2 * A).kernel(IX, IZ).ntk
    torch.testing.assert_close(other.kernel(IX, IZ).ntk, want)


def test_maps_that_do_not_fit():
    arch = gap(1)
    for bad in (torch.ones(3, 2), torch.ones(1, 3, 3), torch.tensor([1.0, float("nan"), 1.0])):
        with pytest.raises(ValueError, match="a finite matrix"):
            MappedPatches(arch, bad)
    with pytest.raises(ValueError, match="begins with Conv"):
        MappedPatches(fcn(1), torch.ones(3))
    with pytest.raises(ValueError, match="takes patches of 4 numbers; got 3"):
        MappedPatches(arch, torch.ones(4)).kernel(IX)
    with pytest.raises(ValueError, match="takes inputs of 4 numbers; got 3"):
        MappedInputs(fcn(1), torch.ones(4)).kernel(X)
    for c in (C[:3], C[:, 0]):
        with pytest.raises(ValueError, match="coefficients"):
            fcn(1).expansion_gradients(X, Z, c)
    with pytest.raises(ValueError, match="inputs and anchors of one shape"):
        fcn(1).expansion_gradients(X, Z[:, :2], C)


def test_numbers_that_a_type_cannot_hold():
    one = torch.ones(2, dtype=torch.float64)
    assert narrowed(one, torch.float32).dtype == torch.float32
    for size in (1e39, 1e-39):
        with pytest.raises(ValueError, match="cannot hold"):
            narrowed(size * one, torch.float32)
        assert narrowed(size * one, torch.float64) is not None
        with pytest.raises(ValueError, match="cannot hold"):
            narrowed(-size * one, torch.float32)
    assert narrowed(one[:0], torch.float32).shape == (0,)
    assert not narrowed(0 * one, torch.float32).any()


def test_kinds():
    assert check_kinds("ntk") == ("ntk",)
    for bad in ((), ("ntk", "rbf"), "rbf"):
        with pytest.raises(ValueError, match="kinds|kind"):
            check_kinds(bad)


def test_layers_inside_a_sequence_count():
    """Inputs so small next to the bias that their differences are lost, whether or not the first layer is wrapped."""
    small = 1e-9 * X
    layers = (Dense(1.0, 1.0), ps.models.Activation("sign"), Dense())
    for wrapped in (layers, (Sequential(layers[:2]), Dense()), (Sequential((Sequential(layers[:2]),)), Dense())):
        with pytest.raises(ValueError, match="lost in the rounding"):
            Architecture("small", wrapped).kernel(small)
    Architecture("large", layers).kernel(X)
    listed = Sequential([Dense(), Flatten()])
    assert listed.layers == (Dense(), Flatten())
    with pytest.raises(TypeError, match="Sequential needs layers"):
        Sequential((Dense(), torch.nn.ReLU()))
    assert Architecture("one", Dense()).layers == (Dense(),)
    x = torch.randn(3, 1, 5, dtype=torch.float64)
    inner = Sequential((Conv(3), ps.models.GlobalAvgPool()))
    plain = Architecture("plain", (Conv(3), ps.models.GlobalAvgPool(), Dense()))
    torch.testing.assert_close(Architecture("inner", (inner, Dense())).kernel(x).ntk, plain.kernel(x).ntk)
    torch.testing.assert_close(
        Architecture("inner", (inner, Dense())).kernel(x, path="reference").ntk, plain.kernel(x).ntk
    )


def test_the_first_eight_inputs_are_looked_at():
    """Equal inputs differ by nothing that could be lost; one that differs a little is refused among the first eight."""
    arch = Architecture("small", (Dense(1.0, 1.0), ps.models.Activation("sign"), Dense()))
    same = 1e-9 * X[:1].expand(8, 3)
    other = 1e-9 * X[1:2]
    arch.kernel(same)
    arch.kernel(torch.cat([same, other]))  # the ninth
    with pytest.raises(ValueError, match="lost in the rounding"):
        arch.kernel(torch.cat([same[1:], other]))
    with pytest.raises(ValueError, match="lost in the rounding"):
        arch.kernel(same, other)
