"""Random stacks of layers: two paths, one answer; symmetric, positive semidefinite, invariant as Spec S0's table says."""

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import HealthCheck, given, settings

import priorscope as ps
from priorscope.models.kernels import _engine
from priorscope.models.kernels._plan import plan

M = ps.models
ACTIVATIONS = [
    "relu",
    "abs",
    "sign",
    "erf",
    "gelu",
    M.LeakyReLU(0.2),
    M.ABReLU(-0.4, 0.8),
    M.Sine(1.1, 0.7, 0.3),
    M.Cosine(0.9, 1.2),
    M.RBF(0.4),
    M.Gaussian(1.2, 0.6),
    M.Exponential(0.8, 0.4),
]
N_EXAMPLES = 170

variances = st.sampled_from([(1.0, 0.0), (1.5, 0.1), (0.7, 0.3)])


@st.composite
def weights(draw, spatial, strided=True):
    w, b = draw(variances)
    if not spatial or draw(st.integers(0, 4)) == 0:
        return M.Dense(w, b)
    kind = draw(st.sampled_from([M.Conv, M.Conv, M.Conv, M.LocallyConnected]))
    size, stride = draw(st.integers(1, 4)), draw(st.sampled_from([1, 1, 2])) if strided else 1
    return kind(size, stride, draw(st.sampled_from(["circular", "zeros"] + ["valid"] * strided)), w, b)


@st.composite
def block(draw, spatial):
    """Layers that begin on any channels and end with Gaussian ones."""
    activation = M.Activation(draw(st.sampled_from(ACTIVATIONS)))
    layers = [draw(weights(spatial))]
    extra = draw(st.integers(0, 5))
    if extra == 0:
        layers.append(M.LayerNorm(0.01))
    elif extra == 1:
        layers.append(M.Residual(M.Sequential((activation, draw(weights(spatial, strided=False))))))
    elif extra == 2:
        layers.append(M.ParallelSum((draw(weights(spatial, strided=False)), M.Dense(0.5, 0.2), M.Identity())))
    return [*layers, activation]


@st.composite
def architectures(draw):
    space = draw(st.sampled_from([(), (5,), (8,), (4, 6), (5, 5), (6, 4)]))
    layers = []
    for _ in range(draw(st.integers(1, 3))):
        layers += draw(block(bool(space)))
        if space and draw(st.integers(0, 2)) == 0:
            layers.append(draw(st.sampled_from([M.AvgPool(2), M.SumPool(2, 1), M.AvgPool(3, 2)])))
    if space:
        layers.append(draw(st.sampled_from([M.Flatten(), M.GlobalAvgPool(), M.GlobalSumPool()])))
        if draw(st.booleans()):
            layers += draw(block(False))
    layers.append(M.Dense(*draw(variances)))
    # two channels at least: with one, cosines are +1 or -1 up to rounding, and arccos there knows only half the digits
    return M.Architecture("random", tuple(layers)), (draw(st.integers(2, 3)), *space)


def possible(arch, shape):
    """Stacks whose windows outgrow the image are not architectures."""
    try:
        arch.check_input_shape(shape)
    except ValueError:
        return False
    return True


def relative(a, b):
    return float((a - b).abs().max() / b.abs().max())


fused_share = []


@settings(
    max_examples=N_EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(architectures(), st.integers(0, 10**6), st.integers(1, 5))
def test_random_architectures_agree_between_the_paths(case, seed, n2):
    arch, shape = case
    if not possible(arch, shape):
        return
    generator = torch.Generator().manual_seed(seed)
    x1 = torch.randn(3, *shape, generator=generator).double()  # numbers that float32 holds exactly
    x2 = torch.randn(n2, *shape, generator=generator).double()
    fused = plan(arch, shape) is not None
    fused_share.append(fused)
    for second in (None, x2):
        expected = arch.kernel(x1, second, path="reference")
        both = arch.kernel(x1, second)
        singles = (x1.float(), None if second is None else second.float())
        single, single_reference = arch.kernel(*singles), arch.kernel(*singles, path="reference")
        for kind in ("nngp", "ntk"):
            assert relative(getattr(both, kind), getattr(expected, kind)) < 1e-12
            for kernel in (single, single_reference):
                assert relative(getattr(kernel, kind).double(), getattr(expected, kind)) < 1e-6
        assert torch.equal(arch.kernel(x1, second, kinds="nngp").nngp, both.nngp)
        if second is None:
            for K in (both.nngp, both.ntk):
                torch.testing.assert_close(K, K.mT, rtol=0 if fused else 1e-14, atol=0 if fused else 1e-14)
                eigenvalues = torch.linalg.eigvalsh(K)
                assert eigenvalues[0] > -1e-12 * eigenvalues[-1]


def test_most_random_architectures_took_the_fused_path():
    assert len(fused_share) >= 100
    # circular filters whose stride does not divide the image, or after unpadded ones, are left to the reference
    assert sum(fused_share) >= 100


def test_a_wrong_step_is_seen(monkeypatch):
    """The control: a program whose second bias is off by 1e-9 fails the comparison that the random stacks pass."""
    arch, shape = M.gap(2, padding="zeros", bias_variance=0.1), (2, 4, 4)
    x = torch.randn(3, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    right = plan(arch, shape)
    right.numbers[2, 1] += 1e-9
    monkeypatch.setattr(_engine, "plan_or_reason", lambda *_: right)
    assert relative(arch.kernel(x).ntk, arch.kernel(x, path="reference").ntk) > 1e-10


def rotated(x, per_pixel, generator):
    """One rotation of the channels for all pixels, or one of its own at each pixel."""
    c, pixels = x.shape[1], x.shape[2] * x.shape[3]
    q, _ = torch.linalg.qr(torch.randn(pixels if per_pixel else 1, c, c, dtype=x.dtype, generator=generator))
    flat = torch.einsum("ncp,pdc->ndp", x.flatten(2), q.expand(pixels, c, c))
    return flat.reshape(x.shape)


@pytest.mark.parametrize(
    "name,shared,own,all_", [("gap", 1, 0, 0), ("vec", 1, 1, 0), ("lcn", 1, 1, 0), ("fcn", 1, 1, 1)]
)
def test_invariances_of_the_table(name, shared, own, all_):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(4, 3, 5, 5, dtype=torch.float64, generator=generator)
    x[:, 0, :2] *= 4  # images with contrast: some pixels and channels stand out
    arch = getattr(M, name)(2)
    K = arch.kernel(x).ntk
    q, _ = torch.linalg.qr(torch.randn(75, 75, dtype=torch.float64, generator=generator))
    everything = (x.flatten(1) @ q).reshape(x.shape)
    for moved, invariant in (
        (rotated(x, False, generator), shared),
        (rotated(x, True, generator), own),
        (everything, all_),
    ):
        change = relative(arch.kernel(moved).ntk, K)
        assert change < 1e-12 if invariant else change > 1e-2


def test_equal_inputs_have_an_angle_of_zero():
    """ReLU's NTK at equal inputs is depth + 1 times its NNGP: an angle of 1e-8 from rounding would show."""
    x = torch.randn(2, 3, 6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for k in (M.fcn(5).kernel(x), M.vec(5).kernel(x), M.vec(5).kernel(x, x.clone())):
        torch.testing.assert_close(k.ntk.diagonal(), 6 * k.nngp.diagonal(), rtol=1e-12, atol=0)


def test_zero_pixels_and_zero_images_are_finite_and_agree():
    x = torch.zeros(3, 1, 6, 6, dtype=torch.float64)
    x[0, 0, 2, 2], x[1, 0, 2, 3] = 1.0, -2.0
    for arch in (M.gap(3), M.vec(3), M.gap(2, padding="zeros")):
        a, b = arch.kernel(x), arch.kernel(x, path="reference")
        torch.testing.assert_close(a.ntk, b.ntk, rtol=1e-12, atol=1e-14)
