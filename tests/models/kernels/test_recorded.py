"""Kernels that neural-tangents gave, recorded once by benchmarks/record_neural_tangents.py."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from priorscope.models import (
    RBF,
    ABReLU,
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
    GlobalAvgPool,
    GlobalSumPool,
    Hermite,
    LayerNorm,
    LeakyReLU,
    LocallyConnected,
    Monomial,
    ParallelSum,
    Polynomial,
    Product,
    Residual,
    Sequential,
    Sine,
    SumPool,
)

sys.path.insert(0, str(Path(__file__).parents[1] / "layers"))
from finite_width import empirical_kernels

RECORD = json.loads((Path(__file__).parent / "neural_tangents.json").read_text())


def fcn(phi):
    return (Dense(1.5, 0.1), Activation(phi), Dense(1.5, 0.1), Activation(phi), Dense(1.5, 0.1))


def conv(size=3, stride=1, padding="circular", w=1.0, b=0.0):
    return Conv(size, stride, padding, w, b)


def local(w=1.0, b=0.0):
    return LocallyConnected(3, 1, "circular", w, b)


def residual(*body):
    return Residual(Sequential(body))


relu, gap, flat, zeros, valid = Activation("relu"), GlobalAvgPool(), Flatten(), "zeros", "valid"
erf, gelu, norm = Activation("erf"), Activation("gelu"), LayerNorm()

CASES = {
    "fcn-relu": fcn("relu"),
    "fcn-leaky": fcn(LeakyReLU(0.2)),
    "fcn-ab": fcn(ABReLU(-0.4, 0.8)),
    "fcn-abs": fcn("abs"),
    "fcn-erf": fcn("erf"),
    "fcn-gelu": fcn("gelu"),
    "fcn-sin": fcn(Sine(1.1, 0.7, 0.3)),
    "fcn-cos": fcn(Cosine(0.9, 1.2)),
    "fcn-rbf": fcn(RBF(0.4)),
    "fcn-exp": fcn(Exponential(0.8, 0.4)),
    "fcn-layernorm": (Dense(2.0, 0.1), norm, relu, Dense(1.5), norm, relu, Dense()),
    "fcn-residual": (Dense(2.0), residual(relu, Dense(1.5, 0.1)), residual(erf, Dense()), relu, Dense()),
    "vec-circular": (conv(w=2.0, b=0.1), relu, conv(w=2.0, b=0.1), relu, flat, Dense(2.0)),
    "vec-zeros": (conv(padding=zeros, w=2.0), relu, conv(padding=zeros, w=2.0), relu, flat, Dense(2.0)),
    "vec-valid": (conv(padding=valid, w=2.0), relu, conv(2, 1, valid, b=0.2), relu, flat, Dense()),
    "lcn": (local(2.0, 0.1), relu, local(2.0), relu, flat, Dense(2.0)),
    "gap-circular": (conv(w=2.0), relu, conv(w=2.0), relu, conv(w=2.0), relu, gap, Dense(2.0)),
    "gap-zeros": (conv(padding=zeros, w=2.0, b=0.1), relu, conv(padding=zeros), relu, gap, Dense()),
    "gap-valid": (conv(padding=valid, w=2.0), relu, conv(2, 1, valid, b=0.2), relu, gap, Dense()),
    "gap-stride": (conv(1, 2, valid, w=2.0), relu, conv(2, 1, valid, b=0.2), relu, gap, Dense()),
    "vec-stride": (conv(2, 2, valid, w=2.0), relu, conv(padding=zeros, b=0.2), relu, flat, Dense()),
    "lap": (conv(w=2.0), relu, conv(w=2.0), relu, AvgPool(2), flat, Dense(2.0)),
    "sum-pool": (conv(w=2.0), relu, SumPool(3, 1), conv(padding=zeros), relu, gap, Dense()),
    "pool-middle": (conv(w=2.0), relu, AvgPool(2), conv(w=1.5, b=0.1), relu, GlobalSumPool(), Dense()),
    "resnet": (conv(w=2.0), residual(relu, conv(w=1.5, b=0.1)), residual(relu, conv()), relu, gap, Dense()),
    "gap-erf-layernorm": (conv(w=2.0), norm, erf, conv(b=0.3), gelu, gap, Dense()),
    "sequence": (conv(w=2.0), relu, conv(padding=zeros, b=0.1), relu, gap, Dense()),
    "deep-head": (conv(w=2.0), relu, gap, Dense(1.5, 0.2), relu, Dense(1.5, 0.2), relu, Dense()),
    "fcn-gaussian": fcn(Gaussian(1.2, 0.6)),
    "fcn-sign": fcn("sign"),
    "fcn-hermite": (Dense(), norm, Activation(Hermite(3)), Dense()),
    "fcn-monomial": fcn(Monomial(2)),
    "fcn-polynomial": fcn(Polynomial((0.3, 1.0, -0.2))),
    "fcn-quadrature": (Dense(1.5, 0.1), Activation(lambda x: x * torch.sin(x)), Dense(1.5, 0.1)),
    "attention": (conv(w=2.0), relu, Attention(2.0, 1.2, 0.8, 0.1), relu, gap, Dense()),
    "attention-image": (conv(b=0.2), relu, Attention(0.7, 1.5, 1.0, 0.0), relu, flat, Dense(1.5)),
    "concatenate": (Dense(1.5), Concatenate((relu, Sequential((relu, Dense(1.5, 0.1))))), Dense()),
    "product": (Dense(1.5), Product((Sequential((relu, Dense(1.5, 0.3))), Dense(1.0, 0.5))), Dense()),
    "dropout": (conv(w=2.0), relu, Dropout(0.3), conv(b=0.1), relu, gap, Dense()),
    "gap-gaussian": (conv(w=2.0), Activation(Gaussian(0.9, 0.8)), conv(padding=zeros, b=0.1), relu, gap, Dense()),
}
# these run on the reference only
UNFUSED = {
    "fcn-hermite", "fcn-monomial", "fcn-polynomial", "fcn-quadrature", "attention", "attention-image", "concatenate",
    "product", "dropout",
}  # fmt: skip


def build(layers):
    """Our layers of a recorded random stack: lists of a name and its numbers."""
    return tuple(single(layer[0], layer[1:]) for layer in layers)


def single(name, p):
    if name == "residual":
        return residual(*build(p[0]))
    if name in ("sum", "product", "concat"):
        join = {"sum": ParallelSum, "product": Product, "concat": Concatenate}[name]
        return join(tuple(Sequential(build(branch)) for branch in p[0]))
    layers = {
        "dense": Dense, "conv": Conv, "local": lambda size, padding, w, b: LocallyConnected(size, 1, padding, w, b),
        "norm": LayerNorm, "attention": Attention, "flatten": Flatten, "mean": GlobalAvgPool, "all": GlobalSumPool,
        "average": AvgPool, "total": SumPool, "dropout": Dropout,
    }  # fmt: skip
    if name in layers:
        return layers[name](*p)
    nonlinearities = {
        "leaky": LeakyReLU, "ab": ABReLU, "sine": Sine, "cosine": Cosine, "rbf": RBF, "gaussian": Gaussian,
        "exponential": Exponential,
    }  # fmt: skip
    return Activation(nonlinearities[name](*p) if name in nonlinearities else name)


def inputs(case):
    """The recorded draw, channels moved to the front."""
    rng = np.random.default_rng(case["seed"])
    return [torch.from_numpy(np.moveaxis(rng.standard_normal((n, *case["shape"])), -1, 1).copy()) for n in (2, 1)]


def error(kernel, recorded):
    values = {kind: torch.tensor(recorded[kind], dtype=torch.float64) for kind in ("nngp", "ntk")}
    return max(float((getattr(kernel, k).double() - v).abs().max() / v.abs().max()) for k, v in values.items())


@pytest.mark.parametrize(
    "name,path", [(n, p) for n in CASES for p in ("fused", "reference") if p == "reference" or n not in UNFUSED]
)
def test_kernels_agree_with_the_recorded_ones(name, path):
    case, arch = RECORD["cases"][name], Architecture(name, CASES[name])
    x1, x2 = inputs(case)
    for label, second in (("same", None), ("cross", x2)):
        assert error(arch.kernel(x1, second, path=path), case[label]) < 1e-8
        single = arch.kernel(x1.float(), None if second is None else second.float(), path=path)
        assert error(single, case[label]) < 1e-4


def random_case(name):
    case = RECORD["random"][name]
    return case, Architecture(name, build(case["layers"])), inputs(case)


@pytest.mark.parametrize("name", [n for n, case in RECORD["random"].items() if "note" not in case])
def test_random_stacks_agree_with_the_recorded_kernels(name):
    case, arch, (x1, x2) = random_case(name)
    for label, second in (("same", None), ("cross", x2)):
        for path in ("auto", "reference"):
            assert error(arch.kernel(x1, second, path=path), case[label]) < 1e-8  # their ReLU's diagonal is 7.5e-9 off


def test_where_the_recorded_diagonal_is_off_it_is_known_by_hand():
    """Sign, filter, LayerNorm and a rectifier of slopes -0.4 and 0.8: variance one, halves of 0.16 + 0.64, and as much again."""
    case, arch, (x1, _) = random_case("1083")
    kernel, exact = arch.kernel(x1), 0.4 / (1 + 1e-12)
    for value, recorded, factor in ((kernel.nngp, case["same"]["nngp"], 1), (kernel.ntk, case["same"]["ntk"], 2)):
        assert value.diagonal().tolist() == pytest.approx([factor * exact] * 2, rel=1e-12)
        assert torch.tensor(recorded).diagonal().tolist() != pytest.approx([factor * exact] * 2, rel=1e-10)


@pytest.mark.parametrize("name", ["1030", "1070"])
def test_where_sign_meets_a_pool_sampled_networks_decide(name):
    """Means over networks of width 128, within four standard errors and corrections of the order of one over the width."""
    case, arch, (x1, _) = random_case(name)
    sampled = empirical_kernels(arch, x1.float(), 128, range(100))
    kernel = arch.kernel(x1)
    for kind, draws in zip(("nngp", "ntk"), sampled):
        ours, theirs = getattr(kernel, kind), torch.tensor(case["same"][kind], dtype=torch.float64)
        mean, noise = draws.double().mean(0), draws.double().std(0) / len(draws) ** 0.5
        allowed = 4 * noise + 4 / 128 * ours.diagonal().max()
        assert ((mean - ours).abs() < allowed).all()
        assert ((mean - theirs).abs() > allowed).any()  # the control: the recorded kernel is not theirs


def test_the_random_stacks_hold_what_they_should():
    """160 recorded kernels in all; few of them set aside, and each kind of layer in many."""
    assert len(RECORD["cases"]) + len(RECORD["random"]) >= 160
    assert sum("note" in case for case in RECORD["random"].values()) <= 16
    words = {name: json.dumps(case["layers"]) for name, case in RECORD["random"].items() if "note" not in case}
    for word in ("attention", "dropout", "product", "average", "total", "concat", "local", "residual", "norm"):
        assert sum(word in text for text in words.values()) >= 15, word
    filters = [
        {(layer[1] % 2, layer[2] > 1) for layer in RECORD["random"][name]["layers"] if layer[0] == "conv"}
        for name in words
    ]
    assert sum(any(even == 0 for even, _ in found) for found in filters) >= 30
    assert sum(any(strided for _, strided in found) for found in filters) >= 25


def test_every_recorded_case_is_compared_and_a_wrong_variance_is_seen():
    assert set(CASES) == set(RECORD["cases"])
    assert len(CASES) >= 24
    case = RECORD["cases"]["fcn-relu"]
    wrong = (Dense(1.5, 0.1), relu, Dense(1.5, 0.1001), relu, Dense(1.5, 0.1))
    assert error(Architecture("wrong", wrong).kernel(inputs(case)[0]), case["same"]) > 1e-6
