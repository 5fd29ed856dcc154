"""Every layer and nonlinearity: kernels of finite networks approach the limit like width^(-1/2), without bias.

Tolerances: four standard errors over seeds, for the fitted exponent and for the mean at the largest width; a limit 1.1 times
as large must be told from the right one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
import torch
from torch import nn

from priorscope import models
from priorscope.models import (
    RBF,
    ABReLU,
    Abs,
    Activation,
    Architecture,
    Attention,
    AvgPool,
    Concatenate,
    Conv,
    Cosine,
    Dense,
    Dropout,
    Exponential,
    Flatten,
    Gaussian,
    GeneralAvgPool,
    GeneralConv,
    GlobalAvgPool,
    GlobalSumPool,
    GroupConv,
    GroupNorm,
    GroupPool,
    Hermite,
    Identity,
    Layer,
    LayerNorm,
    LeakyReLU,
    Linear,
    LocallyConnected,
    Monomial,
    Nonlinearity,
    ParallelSum,
    Polynomial,
    Product,
    Quadrature,
    Residual,
    RMSNorm,
    Scale,
    Sequential,
    Sign,
    Sine,
    SumPool,
    ZeroPad,
    nonlinearity,
)

sys.path.insert(0, str(Path(__file__).parent))
from finite_width import measure

NONLINEAR: list[Nonlinearity] = [
    ABReLU(-0.3, 1.0),
    Abs(),
    nonlinearity("erf"),
    Exponential(0.5, 0.5),
    nonlinearity("gelu"),
    Gaussian(1.2, 0.6),
    Hermite(2),
    LeakyReLU(0.2),
    Linear(),
    Monomial(2),
    Polynomial((0.3, 1.0, -0.2)),
    RBF(0.4),
    nonlinearity("relu"),
    Sign(),
    Sine(1.2, 0.8, 0.3),
    Cosine(0.7, 1.3),
    nonlinearity("tanh"),
    nonlinearity("softplus"),
    Quadrature(nn.CELU(0.7)),
    Quadrature(nn.Hardswish()),
]

R, D, C = Activation("relu"), Dense(1.5, 0.1), Conv(3, 1, "circular", 1.5, 0.1)
FLAT, LINE, IMAGE = (5,), (2, 4), (2, 3, 3)
LAYERS: dict[str, tuple[tuple[int, ...], tuple[Layer, ...]]] = {
    "conv 1-D, flatten": (LINE, (C, R, C, R, Flatten(), D)),
    "conv 2-D, global average": (IMAGE, (C, R, C, R, GlobalAvgPool(), D)),
    "conv stride, zeros, valid, global sum": (
        IMAGE,
        (Conv(3, 2, "zeros", 1.5, 0.1), R, Conv(2, 1, "valid"), R, GlobalSumPool(), D),
    ),
    "locally connected": (
        LINE,
        (LocallyConnected(3, 1, "zeros", 1.5, 0.1), R, LocallyConnected(3), R, GlobalAvgPool(), D),
    ),
    "locally connected under conv": (LINE, (LocallyConnected(3, 1, "circular", 1.5, 0.1), R, C, R, GlobalAvgPool(), D)),
    "average and sum pools": (LINE, (C, AvgPool(2, 1), R, SumPool(2, 1), Flatten(), D)),
    "identity, residual": (FLAT, (D, Identity(), Residual(Sequential((R, D))), R, D)),
    "parallel sum": (FLAT, (D, ParallelSum((Sequential((R, D)), Dense(0.5))), R, D)),
    "concatenate": (FLAT, (D, Concatenate((R, Sequential((R, D)))), D)),
    "product": (FLAT, (D, Product((Activation("erf"), Dense(1.0, 0.5))), D)),
    "scale": (LINE, (C, Scale(-0.7), R, Scale(1.5), GlobalAvgPool(), D)),
    "rectangular, strided, dilated and padded filters": (
        IMAGE,
        (
            *(GeneralConv((3, 2), (2, 1), ((2, 1), (0, 2)), None, False, 1.5, 0.1), R),
            *(GeneralConv((2, 2), None, ((1, 1), (2, 0)), (1, 2), True, 1.2), R, GlobalAvgPool(), D),
        ),
    ),
    "padded filters, flatten": (LINE, (GeneralConv((3,), (2,), ((2, 2),), (2,), False, 1.5, 0.1), R, Flatten(), D)),
    "padded average pools": (
        IMAGE,
        (
            *(C, GeneralAvgPool((2, 3), (1, 2), (1, 1)), R),
            *(GeneralAvgPool((3, 2), (2, 1), (1, 0), False), ZeroPad(((1, 0), (2, 1))), C, R, Flatten(), D),
        ),
    ),
    "group convolution and group pool": (IMAGE, (GroupConv(3, "p4", "zeros", 1.5, 0.2), R, GroupPool(), Flatten(), D)),
    "rms norm": (LINE, (C, RMSNorm(0.1), R, RMSNorm(), GlobalAvgPool(), D)),
    "group norm": (LINE, (C, GroupNorm(2, 0.1), R, Flatten(), D)),
    "dropout of whole channels": (LINE, (C, R, Dropout(0.3, whole_channels=True), C, R, GlobalAvgPool(), D)),
    "layer norm": (LINE, (C, LayerNorm(), R, Flatten(), D)),
    "dropout": (LINE, (C, R, Dropout(0.3), C, R, GlobalAvgPool(), D)),
    "attention": (LINE, (C, R, Attention(2.0, 1.2, 0.8, 0.1), R, GlobalAvgPool(), D)),
}


def parts(thing: object) -> Iterator[object]:
    """A layer and all that it is made of: branches, nonlinearities."""
    yield thing
    inner = [getattr(thing, f.name) for f in fields(thing)] if is_dataclass(thing) else thing
    for part in inner if isinstance(inner, list | tuple) else ():
        yield from parts(part)


def exported(base: type) -> set[type]:
    found = [getattr(models, name) for name in models.__all__]
    return {cls for cls in found if isinstance(cls, type) and issubclass(cls, base) and cls is not base}


def untested(base: type, cases: Iterable[object]) -> set[type]:
    """Exported classes that take part in none of these cases."""
    return exported(base) - {type(part) for case in cases for part in parts(case)}


def test_every_exported_layer_and_nonlinearity_is_tested_below() -> None:
    assert len(exported(Layer)) > 20
    assert len(exported(Nonlinearity)) > 10
    layers = [layer for _, case in LAYERS.values() for layer in case]
    assert untested(Layer, layers) == set(), "a layer needs a case in LAYERS: its kernel as the limit of its networks"
    assert untested(Nonlinearity, NONLINEAR) == set(), "a nonlinearity needs a case in NONLINEAR"


def test_the_rule_on_untested_layers_can_fail() -> None:
    without = [layer for name, (_, case) in LAYERS.items() if name != "attention" for layer in case]
    assert untested(Layer, without) == {Attention}
    assert Dense in {type(part) for part in parts(LAYERS["parallel sum"][1])}


def _check(arch: Architecture, shape: tuple[int, ...], widths: tuple[int, ...], seeds: int) -> None:
    x = torch.randn(2, *shape, generator=torch.Generator().manual_seed(3))
    for kind, result in measure(arch, x, widths, seeds).items():
        assert result.holds, (kind, result)


@pytest.mark.parametrize("phi", NONLINEAR, ids=[f"{i}-{type(phi).__name__}" for i, phi in enumerate(NONLINEAR)])
def test_nonlinearity_converges(phi: Nonlinearity) -> None:
    _check(Architecture("one hidden layer", (D, Activation(phi), D)), FLAT, (16, 32, 64, 128, 256), 72)


@pytest.mark.parametrize("name", LAYERS)
def test_layer_converges(name: str) -> None:
    shape, layers = LAYERS[name]
    _check(Architecture(name, layers), shape, (16, 32, 64, 128), 144)
