"""Seeded random networks, scales and awkward inputs: each kernel is finite and the same on both paths, or refused in one line."""

from collections import Counter

import numpy as np
import pytest
import torch

from priorscope import models as M
from priorscope.models.kernels._plan import plan

PHIS = (
    "relu", "abs", "sign", "erf", "gelu", "sine", "cosine", "rbf", "gaussian", "exponential", "quadratic", "linear", "leaky_relu",
    M.Monomial(5), M.Polynomial((0.5, -1.0, 0.0, 2.0)), M.Hermite(4), M.Exponential(2.0, 3.0), M.Gaussian(1.0, 1e4), M.RBF(1e4),
    M.Sine(1.0, 1e3), M.ABReLU(-3.0, 5.0),
)  # fmt: skip
SCALES = (1e-300, 1e-160, 1e-40, 1e-8, 1e-3, 1.0, 1e3, 1e8, 1e40, 1e100, 1e200)
REFUSALS = ("Multiply", "Divide", "Standardise", "standardise", "cannot hold")


def network(rng: np.random.Generator) -> tuple[M.Architecture, tuple[int, ...]]:
    """A stack of one of five forms, with its input shape."""
    one = lambda options: options[int(rng.integers(len(options)))]  # noqa: E731
    phi, w, b = one(PHIS), one((0.1, 1.0, 2.0, 50.0)), one((0.0, 0.0, 0.1, 2.0))
    depth, padding = one((1, 2, 5, 30)), one(("circular", "zeros"))
    form = int(rng.integers(5))
    if form == 0:
        return M.fcn(depth, phi, w, b), (6,)
    if form == 1:
        layers = (M.Dense(w, b), M.LayerNorm(), M.Activation(phi)) * min(depth, 5)
        return M.Architecture("normed", (*layers, M.Dense())), (6,)
    if form == 2:
        return M.gap(min(depth, 3), 3, padding, phi, w, b), (2, 4, 4)
    if form == 3:
        return M.lap(min(depth, 2), 3, padding, phi, w, b, 2), (2, 4, 4)
    block = M.Residual(M.Sequential((M.Activation(phi), M.Dense(w, b))))
    return M.Architecture("residual", (M.Dense(w, b), *(block,) * min(depth, 5), M.Activation(phi), M.Dense())), (6,)


def inputs(rng: np.random.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    """Draws at one scale, some of them with zeros, duplicates, opposites, numbers below the normal ones, or of two scales."""
    x = rng.standard_normal((4, *shape)) * SCALES[int(rng.integers(len(SCALES)))]
    kind = int(rng.integers(6))
    if kind == 0:
        x[1] = 0.0
    elif kind == 1:
        x[2], x[3] = x[0], -x[0]
    elif kind == 2:
        x[1] = 5e-324
    elif kind == 3:
        x[1] *= 1e-6
    elif kind == 4:
        x[:, 0] = 0.0
    return torch.from_numpy(x)


def outcome(arch, x, second, path):
    """The kernel, or None when it was refused in a line that says what to do."""
    try:
        kernel = arch.kernel(x, second, path=path)
    except ValueError as refused:
        if any(word in str(refused) for word in REFUSALS) and "\n" not in str(refused):
            return None
        raise
    return kernel


@pytest.mark.parametrize("chunk", range(4))
def test_every_kernel_is_finite_and_one_on_both_paths_or_refused(chunk):
    ends: Counter[str] = Counter()
    for seed in range(150 * chunk, 150 * (chunk + 1)):
        rng = np.random.default_rng(seed)
        arch, shape = network(rng)
        x = inputs(rng, shape)
        if rng.random() < 0.3:
            x = x.clamp(-3e38, 3e38).float()
        second = x[1:3].clone() if rng.random() < 0.4 else None
        expected = outcome(arch, x, second, "reference")
        if plan(arch, shape) is not None:
            fused = outcome(arch, x, second, "fused")
            assert (fused is None) == (expected is None), seed
        else:
            fused = expected
        ends["refused" if expected is None else "right"] += 1
        if expected is None or fused is None:
            continue
        for kind in ("nngp", "ntk"):
            a, b = getattr(fused, kind).double(), getattr(expected, kind).double()
            assert torch.isfinite(a).all(), seed
            assert torch.isfinite(b).all(), seed
            assert float((a - b).abs().max()) <= 1e-9 * float(b.abs().max()) * (
                1 if x.dtype == torch.float64 else 1e3
            ), seed
            if second is None:
                assert (b.diagonal() >= 0).all(), seed
                size = b.diagonal().sqrt()
                assert (b.abs() <= (1 + 1e-6) * size[:, None] * size + 1e-300).all(), seed
    assert ends["right"] > 40
    assert ends["refused"] > 20  # the control: the scales do reach what must be refused


def test_the_layer_is_named():
    x = torch.ones(2, 6, dtype=torch.float64)
    with pytest.raises(ValueError, match=r"layer 3 of 4 of fcn, Activation\(fn=Exponential.*infinite in float64"):
        M.fcn(1, activation="exponential").kernel(100 * x)
    with pytest.raises(ValueError, match="squares of such numbers underflow"):
        M.fcn(1).kernel(1e-200 * x)
    with pytest.raises(ValueError, match="squares of such numbers overflow"):
        M.fcn(1).kernel(1e200 * x)
    with pytest.raises(ValueError, match="which torch.float32 cannot hold"):
        M.fcn(1).kernel(1e25 * x.float())
    with pytest.raises(ValueError, match="variance that underflows"):
        M.fcn(100, weight_variance=1e-4).kernel(x)
