"""Reference kernels against formulas written out for small cases, and their invariants."""

from __future__ import annotations

from math import pi

import pytest
import torch
from torch import Tensor

from priorscope.models import (
    Activation,
    Architecture,
    Attention,
    AvgPool,
    Concatenate,
    Conv,
    Dense,
    Dropout,
    Flatten,
    GlobalAvgPool,
    GlobalSumPool,
    Identity,
    LayerNorm,
    LocallyConnected,
    Need,
    ParallelSum,
    Product,
    Residual,
    Sequential,
    SumPool,
    fcn,
    gap,
    lap,
    lcn,
    vec,
)
from priorscope.models.kernels._reference import reference_kernel

DOUBLE = torch.float64
R = Activation("relu")


def _inputs(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=DOUBLE, generator=torch.Generator().manual_seed(seed))


def _relu(k12: float, k11: float, k22: float) -> tuple[float, float]:
    theta = torch.tensor(k12 / (k11 * k22) ** 0.5, dtype=DOUBLE).clamp(-1, 1).acos()
    value = (k11 * k22) ** 0.5 / (2 * pi) * (theta.sin() + (pi - theta) * theta.cos())
    return float(value), float((pi - theta) / (2 * pi))


def test_fcn_depth_one_by_hand() -> None:
    x, y = _inputs(1, 4), _inputs(1, 4, seed=1)
    var_w, var_b = 1.7, 0.3
    k12, k11, k22 = (float((a * b).sum()) / 4 * var_w + var_b for a, b in ((x, y), (x, x), (y, y)))
    value, slope = _relu(k12, k11, k22)
    kernel = reference_kernel(fcn(1, weight_variance=var_w, bias_variance=var_b), x, y)
    nngp = var_w * value + var_b
    assert float(kernel.nngp) == pytest.approx(nngp, rel=1e-13)
    assert float(kernel.ntk) == pytest.approx(nngp + var_w * slope * k12, rel=1e-13)


@pytest.mark.parametrize("padding", ["circular", "zeros", "valid"])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("pooled", [False, True])
def test_one_convolution_by_loops(padding: str, stride: int, pooled: bool) -> None:
    """Every pixel pair and tap written out, 2-D, for both readouts."""
    n, size, taps, var_w, var_b = 2, 5, 3, 1.7, 0.3
    x = _inputs(n, 2, size, size)
    start = 0 if padding == "valid" else -1
    count = (size - taps) // stride + 1 if padding == "valid" else -(-size // stride)
    pixels = [(i, j) for i in range(count) for j in range(count)]

    def patch(a: int, pixel: tuple[int, int]) -> Tensor:
        out = torch.zeros(2, taps, taps, dtype=DOUBLE)
        for p in range(taps):
            for q in range(taps):
                i, j = pixel[0] * stride + p + start, pixel[1] * stride + q + start
                if padding == "circular":
                    out[:, p, q] = x[a, :, i % size, j % size]
                elif 0 <= i < size and 0 <= j < size:
                    out[:, p, q] = x[a, :, i, j]
        return out

    def hidden(a: int, b: int, alpha: tuple[int, int], beta: tuple[int, int]) -> tuple[float, float]:
        def cov(f: Tensor, g: Tensor) -> float:
            return var_w * float((f * g).sum()) / (2 * taps**2) + var_b

        f, g = patch(a, alpha), patch(b, beta)
        value, slope = _relu(cov(f, g), cov(f, f), cov(g, g))
        return value, slope * cov(f, g)

    pairs = [(p, q) for p in pixels for q in pixels] if pooled else [(p, p) for p in pixels]
    terms = [hidden(0, 1, *pair) for pair in pairs]
    value, tangent = (sum(t) / len(pairs) for t in zip(*terms))
    conv = Conv(taps, stride, padding, var_w, var_b)
    readout = GlobalAvgPool() if pooled else Flatten()
    kernel = reference_kernel(Architecture("one", (conv, R, readout, Dense(1.2))), x)
    assert float(kernel.nngp[0, 1]) == pytest.approx(1.2 * value, rel=1e-12)
    assert float(kernel.ntk[0, 1]) == pytest.approx(1.2 * (value + tangent), rel=1e-12)


ARCHITECTURES = [fcn(2), vec(2), lcn(2), gap(2), lap(2, window=2), gap(1, padding="zeros"), vec(1, padding="valid")]


@pytest.mark.parametrize("arch", ARCHITECTURES, ids=lambda a: a.name)
@pytest.mark.parametrize("shape", [(2, 6), (2, 4, 5)], ids=["1-D", "2-D"])
def test_symmetric_blockwise_and_diagonal_agree(arch: Architecture, shape: tuple[int, ...]) -> None:
    x, y = _inputs(4, *shape), _inputs(3, *shape, seed=1)
    both = reference_kernel(arch, torch.cat([x, y]))
    for kind in ("nngp", "ntk"):
        whole = getattr(both, kind)
        torch.testing.assert_close(whole, whole.mT, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(getattr(reference_kernel(arch, x, y), kind), whole[:4, 4:], rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(getattr(arch.kernel_diagonal(x), kind), whole[:4, :4].diagonal())
        assert torch.linalg.eigvalsh(whole).min() > -1e-12
        only = reference_kernel(arch, x, kinds=(kind,))
        assert getattr(only, "ntk" if kind == "nngp" else "nngp") is None
        torch.testing.assert_close(getattr(only, kind), whole[:4, :4], rtol=1e-12, atol=1e-12)


def test_lcn_and_vec_have_one_kernel_and_gap_another() -> None:
    x = _inputs(3, 2, 4, 4)
    v, local, g = (reference_kernel(arch(2), x).ntk for arch in (vec, lcn, gap))
    torch.testing.assert_close(v, local, rtol=1e-13, atol=0)
    assert (v - g).abs().max() > 0.1


def test_covariances_between_pixels_vanish_without_weight_sharing() -> None:
    """The mean over pixels of an LCN is then the same as dividing the flattened kernel by their number."""
    x = _inputs(3, 2, 6)
    hidden = (LocallyConnected(3, bias_variance=0.1), R)
    pooled = reference_kernel(Architecture("a", (LocallyConnected(3, bias_variance=0.1), GlobalAvgPool(), Dense())), x)
    flat = reference_kernel(Architecture("b", (LocallyConnected(3, bias_variance=0.1), Flatten(), Dense())), x)
    torch.testing.assert_close(pooled.ntk, flat.ntk / 6)
    assert Sequential(hidden).need(Need.FULL) is Need.DIAGONAL


def test_only_what_the_readout_needs_is_tracked() -> None:
    assert vec(2).body.need(Need.NONE) is Need.DIAGONAL
    assert lcn(2).body.need(Need.NONE) is Need.DIAGONAL
    assert gap(2).body.need(Need.NONE) is Need.FULL
    assert lap(2).body.need(Need.NONE) is Need.FULL
    sizes = []

    class Spy(Identity):
        def propagate(self, cov, need):  # type: ignore[no-untyped-def]
            sizes.append(tuple(cov.cross.shape))
            return super().propagate(cov, need)

    x = _inputs(2, 3, 5)
    for readout in (Flatten(), GlobalAvgPool()):
        reference_kernel(Architecture("spied", (Conv(), Spy(), R, readout, Dense())), x)
    assert sizes == [(2, 2, 5), (2, 2, 5, 5)]


def test_pools_by_loops() -> None:
    x = _inputs(2, 3, 6)
    full = torch.einsum("acy,bcz->abyz", x, x) / 3
    starts = range(0, 4, 2)
    mean = torch.stack([full[:, :, s : s + 3, s : s + 3].sum((2, 3)) for s in starts]).mean(0)
    kernel = reference_kernel(Architecture("sum", (SumPool(3, 2), Flatten(), Dense())), x)
    torch.testing.assert_close(kernel.nngp, mean)
    kernel = reference_kernel(Architecture("mean", (AvgPool(3, 2), Flatten(), Dense())), x)
    torch.testing.assert_close(kernel.nngp, mean / 9)
    kernel = reference_kernel(Architecture("global", (GlobalSumPool(), Dense())), x)
    torch.testing.assert_close(kernel.nngp, full.sum((2, 3)))


def _step(*layers, x: Tensor):  # type: ignore[no-untyped-def]
    """Kernels of the layers after a first Dense and before a readout without bias."""
    return reference_kernel(Architecture("step", (Dense(1.5, 0.2), *layers, Dense())), x)


def test_branches_by_hand() -> None:
    x = _inputs(3, 4)
    a, b = Sequential((R, Dense(0.7))), Dense(0.5, 0.1)
    ka, kb, kr = (_step(layer, x=x) for layer in (a, b, R))
    base = _step(x=x)
    inner = lambda k: (k.nngp, k.ntk - k.nngp)  # noqa: E731  before the readout: Θ of what it is given
    (na, ta), (nb, tb), (nr, tr), (ni, ti) = map(inner, (ka, kb, kr, base))
    total = _step(ParallelSum((a, b)), x=x)
    torch.testing.assert_close(total.nngp, na + nb)
    torch.testing.assert_close(total.ntk, na + nb + ta + tb)
    residual = _step(Residual(a), x=x)
    torch.testing.assert_close(residual.ntk, ni + na + ti + ta)
    product = _step(Product((R, b)), x=x)
    torch.testing.assert_close(product.nngp, nr * nb)
    torch.testing.assert_close(product.ntk, nr * nb + tr * nb + nr * tb)
    beside = _step(Concatenate((R, Concatenate((a, b)))), x=x)
    torch.testing.assert_close(beside.nngp, (nr + na + nb) / 3)
    torch.testing.assert_close(beside.ntk, (nr + na + nb) / 3 + (tr + ta + tb) / 3)


def test_layer_norm_and_dropout_by_hand() -> None:
    x = _inputs(3, 4)
    base = _step(x=x)
    scale = base.nngp.diagonal().rsqrt()
    normed = _step(LayerNorm(0.0), x=x)
    torch.testing.assert_close(normed.nngp, scale[:, None] * base.nngp * scale)
    torch.testing.assert_close(normed.nngp.diagonal(), torch.ones(3, dtype=DOUBLE))
    factor = 1 + torch.eye(3, dtype=DOUBLE) * (1 / 0.6 - 1)
    dropped = _step(Dropout(0.4), x=x)
    torch.testing.assert_close(dropped.ntk, base.ntk * factor)
    other = reference_kernel(Architecture("cross", (Dense(1.5, 0.2), Dropout(0.4), Dense())), x, x.clone())
    torch.testing.assert_close(other.ntk, base.ntk)  # two batches never share a mask


def test_attention_by_hand() -> None:
    x = _inputs(2, 3, 4)
    full = torch.einsum("acy,bcz->abyz", x, x) / 3
    weights = [torch.softmax(2.0 * full[i, i], -1) for i in range(2)]
    values = 1.2 * 0.8 * weights[0] @ full[0, 1] @ weights[1].mT
    arch = Architecture("attention", (Attention(2.0, 1.2, 0.8, 0.1), GlobalAvgPool(), Dense()))
    for kernel in (reference_kernel(arch, x), reference_kernel(arch, x, x.clone())):
        nngp = (values + 0.1).mean()
        torch.testing.assert_close(kernel.nngp[0, 1], nngp)
        torch.testing.assert_close(kernel.ntk[0, 1], nngp + nngp + values.mean())


def test_permuting_pixels_of_both_inputs() -> None:
    """Attention without positions and GAP after 1x1 filters do not see the order of pixels; GAP with 3 taps does."""
    x = _inputs(3, 2, 5)
    moved = x[:, :, torch.randperm(5, generator=torch.Generator().manual_seed(0))]
    attention = Architecture("a", (Dense(), R, Attention(), R, GlobalAvgPool(), Dense()))
    torch.testing.assert_close(reference_kernel(attention, x, moved).ntk, reference_kernel(attention, x).ntk)
    ntk = reference_kernel(gap(1), x).ntk
    assert (reference_kernel(gap(1), x, moved).ntk - ntk).abs().max() > 1e-3


@pytest.mark.parametrize("arch", [fcn(2), gap(2), vec(1, activation="tanh")], ids=["fcn", "gap", "tanh"])
def test_kernel_is_differentiable_in_the_inputs(arch: Architecture) -> None:
    """Gradients against finite differences, the diagonal (equal inputs) included."""
    x = _inputs(2, 2, 4).requires_grad_()
    for kind in ("nngp", "ntk"):
        # both arguments move together, so the diagonal is a smooth function of x
        assert torch.autograd.gradcheck(lambda v, kind=kind: getattr(reference_kernel(arch, v), kind), (x,), atol=1e-5)
    # one argument alone, at equal inputs: half of what both together give, since the kernel is symmetric
    (alone,) = torch.autograd.grad(reference_kernel(arch, x, x.detach()).nngp.diagonal().sum(), x)
    (both,) = torch.autograd.grad(reference_kernel(arch, x).nngp.diagonal().sum(), x)
    torch.testing.assert_close(alone, both / 2, rtol=1e-8, atol=1e-8)


def test_zero_inputs_give_finite_kernels() -> None:
    x = torch.zeros(2, 2, 4, dtype=DOUBLE, requires_grad=True)
    for arch in (fcn(2), gap(2), vec(2)):
        kernel = reference_kernel(arch, x)
        assert kernel.nngp.abs().max() == 0
        (grad,) = torch.autograd.grad(kernel.ntk.sum(), x)
        assert torch.isfinite(grad).all()
