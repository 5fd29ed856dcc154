"""Random architectures on random inputs of any scale: a right kernel or a refusal in words.

Right means: finite, symmetric, positive semidefinite, the same by the fused path, the reference path and the diagonal; and, for
a part of them, the second moment of the outputs of finite networks drawn at random, which share no line with either.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

import priorscope as ps
from priorscope.models.kernels._plan import plan
from priorscope.models.kernels._reference import reference_diagonal, reference_kernel

M = ps.models
BLOCK = 20  # inputs per test
pytestmark = pytest.mark.filterwarnings("ignore:quadrature of:UserWarning")  # what is lost is told, with its size
FUSED = [
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
ACTIVATIONS = [*FUSED, "tanh", "sigmoid", "softplus", M.Monomial(2), M.Polynomial((0.3, 1.0, -0.5)), M.Hermite(2)]
GROWING = (M.Exponential, M.Monomial, M.Polynomial, M.Hermite)


class Draw:
    """Random architectures and inputs, all from one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([17, seed])
        self.plain = bool(self.rng.random() < 0.6)  # only what has a fused step

    def pick(self, *values):
        return values[int(self.rng.integers(len(values)))]

    def variances(self):
        return self.pick((1.0, 0.0), (2.0, 0.1), (0.7, 0.3), (1e-3, 0.0), (4.0, 2.0))

    def weights(self, spatial: bool, keep_size: bool):
        w, b = self.variances()
        if not spatial or self.rng.random() < 0.2:
            return M.Dense(w, b)
        kind = self.pick(M.Conv, M.Conv, M.LocallyConnected)
        padding = self.pick("circular", "zeros") if keep_size else self.pick("circular", "zeros", "valid")
        return kind(self.pick(1, 2, 3, 4), 1 if keep_size else self.pick(1, 1, 2), padding, w, b)

    def block(self, spatial: bool) -> list:
        phi = M.Activation(self.pick(*(FUSED if self.plain else ACTIVATIONS)))
        layers = [self.weights(spatial, False)]
        extra = self.rng.integers(9)
        if self.plain and extra >= 3:
            return [*layers, phi]
        if extra == 0:
            layers.append(M.LayerNorm(0.01))
        elif extra == 1:
            layers.append(M.Residual(M.Sequential((phi, self.weights(spatial, True)))))
        elif extra == 2:
            layers.append(M.ParallelSum((self.weights(spatial, True), M.Dense(0.5, 0.2), M.Identity())))
        elif extra == 3:
            layers += [M.Concatenate((self.weights(spatial, True), M.Dense(0.5, 0.2))), self.weights(spatial, True)]
        elif extra == 4:
            branches = (self.weights(spatial, True), self.weights(spatial, True))
            layers += [M.Product(branches), self.weights(spatial, True)]
        elif extra == 5:
            layers.append(M.Scale(self.pick(0.5, 2.0)))
        layers.append(phi)
        if self.rng.random() < 0.15:
            layers.append(M.Dropout(0.3))
        return layers

    def architecture(self):
        space = self.pick((), (), (5,), (4, 6), (5, 5))
        layers: list = []
        for _ in range(self.pick(1, 2, 3)):
            layers += self.block(bool(space))
            if space and self.rng.random() < 0.3:
                layers.append(self.pick(M.AvgPool(2), M.SumPool(2, 1), M.AvgPool(3, 2)))
        if space and not self.plain and self.rng.random() < 0.2:
            layers += [self.weights(True, True), M.Attention()]
        if space:
            layers.append(self.pick(M.Flatten(), M.GlobalAvgPool(), M.GlobalSumPool()))
        layers.append(M.Dense(*self.variances()))
        return M.Architecture("random", tuple(layers)), (int(self.pick(1, 2, 3)), *space)

    def inputs(self, shape: tuple[int, ...], n: int) -> Tensor:
        x = torch.tensor(self.rng.standard_normal((n, *shape)))
        twist = self.rng.integers(8)
        if twist == 0:
            x[0] = 0.0
        elif twist == 1:
            x[-1] = x[0]
        elif twist == 2:
            x[-1] = -x[0]
        elif twist == 3:
            x[-1] = x[0] * (1 + 1e-9)
        elif twist == 4:
            x = torch.ones_like(x) * x[:1]
        scale = 10.0 ** self.pick(0, 0, 0, -3, 3, -8, 8, -30, 30)
        return x * scale


def grows(arch) -> bool:
    """Whether a nonlinearity grows faster than its input, so that large inputs may leave floating point."""
    text = repr(arch)
    return any(kind.__name__ in text for kind in GROWING) or "Product" in text


def refusal(error: Exception) -> bool:
    """A refusal says in words what was wrong."""
    return len(str(error).split()) >= 4


def check(seed: int) -> str:
    draw = Draw(seed)
    arch, shape = draw.architecture()
    x, z = draw.inputs(shape, draw.pick(1, 2, 4)), draw.inputs(shape, draw.pick(1, 3))
    note = f"seed {seed}: {arch} on {shape}"
    try:
        whole, cross = arch.kernel(x), arch.kernel(x, z)
    except (ValueError, NotImplementedError, OverflowError) as error:
        if not refusal(error):
            raise
        return "refused"
    reference, across = reference_kernel(arch, x), reference_kernel(arch, x, z)
    diagonal = reference_diagonal(arch, x)
    possible = plan(arch, shape) is not None
    for kind in ("nngp", "ntk"):
        K, C = getattr(whole, kind), getattr(cross, kind)
        assert torch.isfinite(K).all(), f"{note}: {kind} is not finite"
        assert torch.isfinite(C).all(), f"{note}: cross {kind} is not finite"
        top = float(K.abs().max())
        size = top + 1e-300
        assert float((K - K.T).abs().max()) <= 1e-9 * size, f"{note}: {kind} is not symmetric"
        lam = np.linalg.eigvalsh(((K + K.T) / 2 / size).numpy())
        assert lam.min() >= -1e-9 * len(K), f"{note}: {kind} has the eigenvalue {lam.min():.2g} of {lam.max():.2g}"
        assert float((getattr(diagonal, kind) - K.diagonal()).abs().max()) <= 1e-9 * size, f"{note}: diagonal of {kind}"
        if possible:
            for fast, slow in ((K, getattr(reference, kind)), (C, getattr(across, kind))):
                scale = max(float(slow.abs().max()), 1e-300)
                gap = float((fast - slow).abs().max()) / scale
                assert gap <= 1e-9, f"{note}: {kind} differs by {gap:.2g} between the paths"
    return "fused" if possible else "reference"


def run(block: int) -> dict[str, int]:
    seen = {"refused": 0, "fused": 0, "reference": 0}
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        seen[check(seed)] += 1
    return seen


def test_a_few_random_kernels_are_right_or_refused():
    seen = run(0)
    assert seen["fused"] >= 5  # the control: most are kernels, not refusals


@pytest.mark.slow
@pytest.mark.parametrize("block", range(1, 21))
def test_random_kernels_are_right_or_refused(block):
    run(block)


def sampled(seed: int, width: int = 96, draws: int = 300) -> None:
    """Mean product of the outputs of finite networks against the NNGP, within five standard errors and 1/width."""
    draw = Draw(10_000 + seed)
    while True:
        arch, shape = draw.architecture()
        x = torch.tensor(draw.rng.standard_normal((2, *shape)))
        try:
            arch.check_input_shape(shape)
            K = arch.kernel(x, kinds=("nngp",)).nngp
        except (ValueError, NotImplementedError):
            continue
        if not grows(arch) and "Attention" not in repr(arch) and "Concatenate" not in repr(arch):
            break
    layers = len(arch.layers)
    networks = [arch.network(shape, width=width, outputs=1, seed=s).double().eval() for s in range(draws)]
    with torch.no_grad():
        f = torch.stack([net(x)[:, 0] for net in networks])
    products = f[:, :, None] * f[:, None, :]
    noise = products.std(0) / math.sqrt(draws)
    bias = 4 * layers / width * K.diagonal().max()  # the mean of a layer's moments moves by O(1/width)
    gap = (products.mean(0) - K).abs()
    assert (gap <= 5 * noise + bias).all(), f"seed {seed}: {arch} on {shape}: {products.mean(0)} is not {K}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_random_kernels_are_the_moments_of_random_networks(seed):
    sampled(seed)


def test_one_random_kernel_is_the_moment_of_random_networks():
    sampled(100, width=64, draws=150)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_wrong_inputs_are_refused_in_words(dtype):
    """Shapes, values and types that no kernel has, drawn at random."""
    rng = np.random.default_rng(3)
    arch = M.gap(1)
    for _ in range(60):
        x = torch.tensor(rng.standard_normal((3, 2, 5, 5)), dtype=dtype)
        wrong = int(rng.integers(7))
        if wrong == 0:
            x = x.flatten()[: int(rng.integers(1, 9))]
        elif wrong == 1:
            x.flatten()[int(rng.integers(x.numel()))] = float(rng.choice([np.nan, np.inf, -np.inf]))
        elif wrong == 2:
            x = x.long()
        elif wrong == 3:
            x = x[:0]
        elif wrong == 4:
            x = x.numpy()
        elif wrong == 5:
            x = x[None]
        else:
            x = x.to(torch.complex64)
        with pytest.raises((ValueError, TypeError)) as caught:
            arch.kernel(x)
        assert refusal(caught.value)
