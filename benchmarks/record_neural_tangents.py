"""Writes tests/models/kernels/neural_tangents.json: kernels that neural-tangents 0.6.5 gives, for the tests to compare with.

Run with the Python of an environment that has neural-tangents (jax 0.4.25). Inputs are drawn by
``numpy.random.default_rng(seed).standard_normal``, images as (n, h, w, c) there and (n, c, h, w) here. Besides the cases named
below it records random stacks (random_architectures.py), with their layers. Stacks whose kernel neural-tangents cannot give are
left out and counted; where it is known to be wrong, the record says why, and the tests ask sampled networks instead.
"""

from __future__ import annotations

import json
import sys
import types
import warnings
from pathlib import Path
from typing import Any

sys.modules["neural_tangents.experimental"] = types.ModuleType("neural_tangents.experimental")

import jax  # noqa: E402
import numpy as np  # noqa: E402

jax.config.update("jax_enable_x64", True)
import neural_tangents  # noqa: E402
from neural_tangents import stax  # noqa: E402
from random_architectures import Layers, draw  # noqa: E402

TARGET = Path(__file__).parent.parent / "tests" / "models" / "kernels" / "neural_tangents.json"
SHAPES = {"vector": (5,), "sequence": (6, 2), "image": (6, 5, 3), "even": (6, 6, 2)}


def std(variance: float) -> float:
    return variance**0.5


def dense(w: float = 1.0, b: float = 0.0) -> Any:
    return stax.Dense(1, std(w), std(b), parameterization="ntk")


def conv(
    size: int = 3, stride: int = 1, padding: str = "CIRCULAR", w: float = 1.0, b: float = 0.0, dims: int = 2
) -> Any:
    return stax.Conv(1, (size,) * dims, (stride,) * dims, padding, std(w), std(b), parameterization="ntk")


def local(size: int = 3, padding: str = "CIRCULAR", w: float = 1.0, b: float = 0.0) -> Any:
    return stax.ConvLocal(1, (size,) * 2, (1, 1), padding, std(w), std(b), parameterization="ntk")


def pool(window: int, stride: int, layer: Any = stax.AvgPool) -> Any:
    return layer((window,) * 2, (stride,) * 2, "VALID")


def residual(*body: Any) -> Any:
    return stax.serial(stax.FanOut(2), stax.parallel(stax.serial(*body), stax.Identity()), stax.FanInSum())


def fcn(phi: Any) -> Any:
    return stax.serial(dense(1.5, 0.1), phi, dense(1.5, 0.1), phi, dense(1.5, 0.1))


def branches(join: Any, *parts: Any) -> Any:
    return stax.serial(stax.FanOut(len(parts)), stax.parallel(*parts), join)


def attention(query_key: float, value: float, out: float, b: float) -> Any:
    stds = {
        "W_key_std": std(query_key),
        "W_query_std": std(query_key),
        "W_value_std": std(value),
        "W_out_std": std(out),
    }
    return stax.GlobalSelfAttention(1, 1, 1, 1, linear_scaling=True, b_std=std(b), **stds)


flat, gap, relu = stax.Flatten(), stax.GlobalAvgPool(), stax.Relu()
norm, erf = stax.LayerNorm(), stax.Erf()
warnings.simplefilter("ignore")  # it warns of its own quadrature
numerical = stax.ElementwiseNumerical(lambda x: x * jax.numpy.sin(x), 64)  # entire: its quadrature converges fast
gaussian = stax.Gaussian(0.9, -0.8)
side_by_side = branches(stax.FanInConcat(), relu, stax.serial(relu, dense(1.5, 0.1)))
gated = branches(stax.FanInProd(), stax.serial(relu, dense(1.5, 0.3)), dense(1.0, 0.5))

# name: (inputs, layers); tests/models/kernels/test_recorded.py has the same names with our layers
CASES: dict[str, tuple[str, Any]] = {
    "fcn-relu": ("vector", fcn(stax.Relu())),
    "fcn-leaky": ("vector", fcn(stax.LeakyRelu(0.2))),
    "fcn-ab": ("vector", fcn(stax.ABRelu(-0.4, 0.8))),
    "fcn-abs": ("vector", fcn(stax.Abs())),
    "fcn-erf": ("vector", fcn(stax.Erf())),
    "fcn-gelu": ("vector", fcn(stax.Gelu())),
    "fcn-sin": ("vector", fcn(stax.Sin(1.1, 0.7, 0.3))),
    "fcn-cos": ("vector", fcn(stax.Cos(0.9, 1.2))),
    "fcn-rbf": ("vector", fcn(stax.Rbf(0.4))),
    "fcn-exp": ("vector", fcn(stax.Exp(0.8, 0.4))),
    "fcn-layernorm": ("vector", stax.serial(dense(2.0, 0.1), norm, relu, dense(1.5), norm, relu, dense())),
    "fcn-residual": ("vector", stax.serial(dense(2.0), residual(relu, dense(1.5, 0.1)), residual(erf, dense()), relu, dense())),
    "vec-circular": ("image", stax.serial(conv(w=2.0, b=0.1), relu, conv(w=2.0, b=0.1), relu, flat, dense(2.0))),
    "vec-zeros": ("image", stax.serial(conv(padding="SAME", w=2.0), relu, conv(padding="SAME", w=2.0), relu, flat, dense(2.0))),
    "vec-valid": ("image", stax.serial(conv(padding="VALID", w=2.0), relu, conv(2, 1, "VALID", b=0.2), relu, flat, dense())),
    "lcn": ("image", stax.serial(local(w=2.0, b=0.1), relu, local(w=2.0), relu, flat, dense(2.0))),
    "gap-circular": ("image", stax.serial(conv(w=2.0), relu, conv(w=2.0), relu, conv(w=2.0), relu, gap, dense(2.0))),
    "gap-zeros": ("image", stax.serial(conv(padding="SAME", w=2.0, b=0.1), relu, conv(padding="SAME"), relu, gap, dense())),
    "gap-valid": ("image", stax.serial(conv(padding="VALID", w=2.0), relu, conv(2, 1, "VALID", b=0.2), relu, gap, dense())),
    "gap-stride": ("even", stax.serial(conv(1, 2, "VALID", w=2.0), relu, conv(2, 1, "VALID", b=0.2), relu, gap, dense())),
    "vec-stride": ("even", stax.serial(conv(2, 2, "VALID", w=2.0), relu, conv(padding="SAME", b=0.2), relu, flat, dense())),
    "lap": ("even", stax.serial(conv(w=2.0), relu, conv(w=2.0), relu, pool(2, 2), flat, dense(2.0))),
    "sum-pool": ("even", stax.serial(conv(w=2.0), relu, pool(3, 1, stax.SumPool), conv(padding="SAME"), relu, gap, dense())),
    "pool-middle": ("even", stax.serial(conv(w=2.0), relu, pool(2, 2), conv(w=1.5, b=0.1), relu, stax.GlobalSumPool(), dense())),
    "resnet": ("even", stax.serial(conv(w=2.0), residual(relu, conv(w=1.5, b=0.1)), residual(relu, conv()), relu, gap, dense())),
    "gap-erf-layernorm": ("image", stax.serial(conv(w=2.0), norm, erf, conv(b=0.3), stax.Gelu(), gap, dense())),
    "sequence": ("sequence", stax.serial(conv(w=2.0, dims=1), relu, conv(padding="SAME", b=0.1, dims=1), relu, gap, dense())),
    "deep-head": ("image", stax.serial(conv(w=2.0), relu, gap, dense(1.5, 0.2), relu, dense(1.5, 0.2), relu, dense())),
    "fcn-gaussian": ("vector", fcn(stax.Gaussian(1.2, -0.6))),
    "fcn-sign": ("vector", fcn(stax.Sign())),
    "fcn-hermite": ("vector", stax.serial(dense(), norm, stax.Hermite(3), dense())),  # it wants unit variance
    "fcn-monomial": ("vector", fcn(stax.Monomial(2))),
    "fcn-polynomial": ("vector", fcn(stax.Polynomial((0.3, 1.0, -0.2)))),
    "fcn-quadrature": ("vector", stax.serial(dense(1.5, 0.1), numerical, dense(1.5, 0.1))),
    "attention": ("sequence", stax.serial(conv(w=2.0, dims=1), relu, attention(2.0, 1.2, 0.8, 0.1), relu, gap, dense())),
    "attention-image": ("image", stax.serial(conv(b=0.2), relu, attention(0.7, 1.5, 1.0, 0.0), relu, flat, dense(1.5))),
    "concatenate": ("vector", stax.serial(dense(1.5), side_by_side, dense())),
    "product": ("vector", stax.serial(dense(1.5), gated, dense())),
    "dropout": ("image", stax.serial(conv(w=2.0), relu, stax.Dropout(0.7), conv(b=0.1), relu, gap, dense())),
    "gap-gaussian": ("image", stax.serial(conv(w=2.0), gaussian, conv(padding="SAME", b=0.1), relu, gap, dense())),
}  # fmt: skip


N_RANDOM = 120
PADDINGS = {"circular": "CIRCULAR", "zeros": "SAME", "valid": "VALID"}


def build(layers: Layers, dims: int) -> Any:
    """neural-tangents' layers of a random stack."""
    return stax.serial(*(single(layer[0], layer[1:], dims) for layer in layers))


def single(name: str, p: list[Any], dims: int) -> Any:
    if name == "conv":
        return conv(p[0], p[1], PADDINGS[p[2]], p[3], p[4], dims)
    if name == "local":
        return local(p[0], PADDINGS[p[1]], p[2], p[3])
    if name in ("average", "total"):
        layer = stax.AvgPool if name == "average" else stax.SumPool
        return layer((p[0],) * dims, (p[1],) * dims, "VALID")
    if name == "residual":
        return branches(stax.FanInSum(), build(p[0], dims), stax.Identity())
    if name in ("sum", "product", "concat"):
        join = {"sum": stax.FanInSum, "product": stax.FanInProd, "concat": stax.FanInConcat}[name]
        return branches(join(), *(build(branch, dims) for branch in p[0]))
    plain = {
        "dense": dense, "norm": stax.LayerNorm, "attention": attention, "flatten": stax.Flatten, "mean": stax.GlobalAvgPool,
        "all": stax.GlobalSumPool, "relu": stax.Relu, "erf": stax.Erf, "gelu": stax.Gelu, "abs": stax.Abs,
        "leaky": stax.LeakyRelu, "ab": stax.ABRelu, "sine": stax.Sin, "cosine": stax.Cos, "rbf": stax.Rbf,
        "gaussian": lambda a, b: stax.Gaussian(a, -b), "exponential": stax.Exp, "quadratic": lambda: stax.Monomial(2),
        "sign": stax.Sign, "dropout": lambda rate: stax.Dropout(1 - rate),
    }  # fmt: skip
    return plain[name](*p)


SIGN_NOTE = (
    "its Sign sets the covariances between an input's pixels to one, which holds for equal pixels only: what follows a pool or "
    "attention differs; ask sampled networks"
)
ANGLE_NOTE = (
    "its Sign has an angle of 1e-8 between an input and itself, from which the next rectifier makes 9e-6 on the diagonal; by "
    "hand the NNGP is 0.4 and the NTK 0.8 there, over 1 + 1e-12"
)
MIXES = {"average", "total", "mean", "all", "attention"}


def note(seed: str, layers: Layers) -> str | None:
    """Where neural-tangents is known to differ beyond rounding, and why."""
    if seed == "1083":
        return ANGLE_NOTE
    words = [layer[0] for layer in layers]
    mixed = any("sign" in json.dumps(layer) and MIXES & set(words[i + 1 :]) for i, layer in enumerate(layers))
    return SIGN_NOTE if mixed else None


def values(kernel: Any, seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Kernels of one draw of inputs, with itself and with another."""
    rng = np.random.default_rng(seed)
    x1, x2 = rng.standard_normal((2, *shape)), rng.standard_normal((1, *shape))
    case: dict[str, Any] = {"seed": seed, "shape": shape}
    for label, second in (("same", None), ("cross", x2)):
        found = kernel(x1, second, ("nngp", "ntk"))
        case[label] = {kind: np.asarray(getattr(found, kind)).tolist() for kind in ("nngp", "ntk")}
    return case


def record_random(record: dict[str, Any]) -> None:
    """Random stacks until N_RANDOM are recorded; what neural-tangents refuses or overflows is counted."""
    found, refused = record.setdefault("random", {}), record.setdefault("refused", {})
    seed = 1000
    while len(found) < N_RANDOM:
        seed += 1
        if str(seed) in found or str(seed) in refused:
            continue
        shape, layers = draw(seed)
        try:
            case = values(build(layers, len(shape) - 1)[2], seed, shape)
        except (ValueError, NotImplementedError, TypeError) as error:
            refused[str(seed)] = str(error).strip().splitlines()[0][:100]
            continue
        sizes = [abs(v) for label in ("same", "cross") for kind in ("nngp", "ntk") for v in np.ravel(case[label][kind])]
        if not np.isfinite(sizes).all() or max(sizes) > 1e6:
            refused[str(seed)] = "large values"
            continue
        found[str(seed)] = {**case, "layers": layers}
        print(seed, shape, layers)
    for name, case in found.items():
        case.pop("note", None)
        if (why := note(name, case["layers"])) is not None:
            case["note"] = why
    write(record)


def write(record: dict[str, Any]) -> None:
    """One line per case, so that the file stays readable."""
    lines = [f'"versions": {json.dumps(record["versions"])}', f'"inputs": {json.dumps(record["inputs"])}']
    for group in ("cases", "random", "refused"):
        rows = ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in record.get(group, {}).items())
        lines.append(f'"{group}": {{\n{rows}\n}}')
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> None:
    versions = {"neural-tangents": neural_tangents.__version__, "jax": jax.__version__, "numpy": np.__version__}
    record: dict[str, Any] = {
        "versions": versions,
        "inputs": "numpy.random.default_rng(seed).standard_normal((n, *shape)), channels last",
        "cases": {},
    }
    if TARGET.exists() and "--again" not in sys.argv:  # what is recorded stays, unless all is wanted again
        before = json.loads(TARGET.read_text())
        if before["versions"] == versions:
            record |= {group: before.get(group, {}) for group in ("cases", "random", "refused")}
    for seed, (name, (shape, (_, _, kernel))) in enumerate(CASES.items()):
        if name not in record["cases"]:
            record["cases"][name] = values(kernel, seed, SHAPES[shape])
            print(name, record["cases"][name]["same"]["ntk"][0])
    record_random(record)


if __name__ == "__main__":
    main()
