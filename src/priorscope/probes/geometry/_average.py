"""Average geometry of a model family at initialisation, by Monte Carlo over initialisations."""

from __future__ import annotations

import math
import time
from typing import Unpack

import torch
from torch import Tensor

from priorscope.checks import POSITIVE, SEED, SHAPE, check, checked, number, optional, whole
from priorscope.contracts import NetworkOptions
from priorscope.machine import free_memory
from priorscope.probes.geometry._draws import Drawn, Draws
from priorscope.probes.geometry._engine import rows_by_loop, rows_by_vmap, sign_cotangents, stratified_cotangents
from priorscope.probes.geometry._readout import Features, find_readout
from priorscope.probes.geometry._result import AverageGeometry

__all__ = ["average_geometry"]

BLOCK_BYTES = 48_000_000  # gradient rows and stacked parameters held at once
MAX_FEATURES = 8  # features per probe: beyond it, fresh networks tell more than further features of one
LARGE_FEATURES = 1  # the same for large models, where a feature costs as much as a forward pass (measured on ResNet18)
VMAP_LIMIT = 1_500_000  # parameters beyond which a batched convolution is slower than a plain one


@checked(
    n_models=whole(2),
    n_probes=whole(),
    probe_std=POSITIVE,
    precision=optional(number(above=0, below=1, advice="It is a relative error, such as 0.05.")),
    seed=SEED,
)
def average_geometry(
    model: Drawn,
    probe: Tensor | tuple[int, ...],
    *,
    n_models: int = 10_000,
    n_probes: int = 16,
    probe_std: float = 1.0,
    readout: str = "auto",
    engine: str = "auto",
    precision: float | None = None,
    seed: int = 0,
    **network: Unpack[NetworkOptions],
) -> AverageGeometry:
    r"""Average geometry :math:`G = E_{\theta, x}[\nabla_x f_\theta(x)\,\nabla_x f_\theta(x)^T]` at initialisation.

    ``model`` is an architecture (``network`` passes width, parametrisation …), a ``torch.nn.Module`` (drawn again by its
    own initial law, as :class:`priorscope.models.Redrawing` reads it; a note says so, and a module whose law cannot be read
    is refused) or a factory ``seed -> Module`` (one without arguments is seeded through torch's generator).
    Networks are in evaluation mode: no dropout, and BatchNorm at its first running statistics is the identity.
    ``probe`` is an input shape, for Gaussian probes :math:`N(0, \sigma_P^2 I)` in antithetic pairs, or a tensor of points
    (n, *shape) from which probes are taken.

    Where the model ends in a linear layer whose weights are independent with mean zero, that layer is integrated out
    exactly (``readout="auto"``): :math:`E_a[\nabla f\nabla f^T] = v\sum_i \nabla h_i\nabla h_i^T` with v the variance of a
    readout weight. Features are dealt out to the probes of a network (at most 8 per probe, one for large models), so the sum
    costs one gradient per feature, not one per feature and probe; the estimate stays unbiased. ``readout="sample"`` uses the
    drawn readout as it is.

    ``engine`` is "vmap" (all networks of a block in one call), "loop", or "auto": vmap for models below 1.5 million
    parameters that it can trace, else the loop, with a note that says so. Standard errors come from at least 10 blocks of
    networks; with ``precision``, drawing stops when the relative error (Frobenius) falls below it (blocks are then small at
    first and grow).

    Source: geometric invariance hypothesis paper, eq. 2. Several outputs: the mean over outputs.

    Example:
        >>> from torch import nn
        >>> G = average_geometry(nn.Linear(3, 1), (3,), n_models=2000)
        >>> [round(v, 1) for v in G.matrix.diagonal().tolist()]  # variance of U(-1/√3, 1/√3) is 1/9
        [0.1, 0.1, 0.1]
    """
    shape, points = _probe(probe)
    if readout not in ("auto", "sample") or engine not in ("auto", "vmap", "loop"):
        raise ValueError(
            "readout is 'auto' or 'sample' and engine 'auto', 'vmap' or 'loop'; "
            f"got readout={readout!r}, engine={engine!r}."
        )
    _check_memory(math.prod(shape))
    start = time.perf_counter()
    draws = Draws(model, shape, seed, **network)
    dtype = next(draws.template.parameters()).dtype
    first = _draw_probes(points, shape, 1, n_probes, probe_std, draws.generator, dtype)[0]
    outputs = _outputs(draws.template, first)
    found = find_readout(draws.template, first) if readout == "auto" else None
    if found is not None and found.name == "":
        found = None
    features = Features(draws.template, found)
    notes = list(draws.notes)
    if any(isinstance(part, torch.nn.modules.batchnorm._BatchNorm) for part in draws.template.modules()):
        notes.append("BatchNorm in evaluation mode: at its first running statistics it is the identity")
    if engine == "auto":
        engine = "vmap" if draws.n_params <= VMAP_LIMIT else "loop"
        if engine == "loop":
            notes.append("networks run one by one: this model is large enough that batching does not pay")
    most = MAX_FEATURES if draws.n_params <= VMAP_LIMIT else LARGE_FEATURES
    r = min(-(-found.width // n_probes), most) if found else 1
    D = first[0].numel()
    per_model = 4 * (3 * r * n_probes * D + draws.n_params + r * n_probes * (found.width if found else outputs))
    block = max(1, min(-(-n_models // 20), BLOCK_BYTES // per_model))
    total = torch.zeros(D, D, dtype=torch.float64)
    squares = torch.zeros(D, D, dtype=torch.float64)
    weight_sums = [0.0, 0.0, 0]
    done = n_blocks = 0
    while done < n_models:
        n = block if precision is None else min(block, max(1, block // 25, done // 4))  # small at first, to stop early
        n = min(n, n_models - done)
        stacked = draws(n)
        x = _draw_probes(points, shape, n, n_probes, probe_std, draws.generator, dtype)
        if found is not None:
            cots = stratified_cotangents(n, n_probes, found.width, r, dtype, draws.generator)
            for i, value in enumerate(features.readout_second_moment(stacked)):
                weight_sums[i] += value
        else:
            cots = sign_cotangents(n, n_probes, outputs, dtype, draws.generator)
        if engine == "vmap":
            try:
                rows = rows_by_vmap(features, stacked, x, cots)
            except Exception as error:
                if n_blocks:
                    raise
                engine = "loop"
                notes.append(f"vmap could not trace this model ({type(error).__name__}); networks run one by one")
        if engine == "loop":
            rows = rows_by_loop(features, stacked, x, cots)
        estimate = (rows.mT @ rows).double() / (n * n_probes)  # block mean
        total += n * estimate
        squares += n * estimate**2
        done += n
        n_blocks += 1
        if precision is not None and n_blocks >= 10 and _relative(total, squares, done, n_blocks) <= precision:
            break
    if not torch.isfinite(total).all():
        raise ValueError("the model gave gradients that are not finite; check its initialisation on these probes.")
    if not bool(total.any()):
        raise ValueError("the model ignores its input: all gradients with respect to it are zero.")
    variance = 1.0
    if found is not None:
        variance = weight_sums[0] / weight_sums[2]
        mean = weight_sums[1] / weight_sums[2]
        if abs(mean) > 6 * (variance / weight_sums[2]) ** 0.5:
            raise ValueError(
                f"readout weights have mean {mean:.3g}, not zero, so they cannot be integrated out; use readout='sample'."
            )
    G = variance * total / done
    noise = variance * _error(total, squares, done, n_blocks)
    return AverageGeometry(
        (G + G.mT) / 2,
        noise,
        shape,
        done,
        n_probes,
        engine,
        f"integrated ({found.width} features)" if found else "sampled",
        time.perf_counter() - start,
        tuple(notes),
    )


def _check_memory(D: int) -> None:
    """Refuse a G that cannot fit: the sums, their squares, the result and its eigenvectors are D × D in float64."""
    needed = 6 * 8 * D**2
    have = free_memory()
    if needed > have:
        raise ValueError(
            f"G of {D:,} inputs takes {needed / 1e9:.0f} GB and {have / 1e9:.0f} GB are free; "
            "use smaller images, such as 3x32x32."
        )


def _error(total: Tensor, squares: Tensor, done: int, n_blocks: int) -> Tensor:
    """Standard error of the mean over blocks, elementwise; not a number for a single block."""
    mean = total / done
    spread = (squares / done - mean**2).clamp(min=0)
    return (spread / max(n_blocks - 1, 1)).sqrt() if n_blocks > 1 else torch.full_like(mean, torch.nan)


def _relative(total: Tensor, squares: Tensor, done: int, n_blocks: int) -> float:
    return float(_error(total, squares, done, n_blocks).norm() / (total / done).norm())


def _probe(probe: Tensor | tuple[int, ...]) -> tuple[tuple[int, ...], Tensor | None]:
    if isinstance(probe, Tensor):
        if probe.ndim < 2 or len(probe) == 0 or not torch.isfinite(probe).all():
            raise ValueError(f"probe points must be finite with shape (n, *input_shape); got {tuple(probe.shape)}.")
        return tuple(probe.shape[1:]), probe
    check("a probe", "shape", probe, SHAPE)
    return tuple(int(s) for s in probe), None


def _draw_probes(
    points: Tensor | None,
    shape: tuple[int, ...],
    n: int,
    n_probes: int,
    std: float,
    generator: torch.Generator,
    dtype: torch.dtype,
) -> Tensor:
    """Probes (n, P, *shape): random rows of the given points, or antithetic Gaussian pairs."""
    if points is not None:
        return points[torch.randint(len(points), (n, n_probes), generator=generator)].to(dtype)
    half = std * torch.randn(n, (n_probes + 1) // 2, *shape, generator=generator, dtype=dtype)
    return torch.cat([half, -half], 1)[:, :n_probes]


def _outputs(template: torch.nn.Module, x: Tensor) -> int:
    try:
        with torch.no_grad():
            out = template(x)
    except RuntimeError as error:
        raise ValueError(f"the model does not take inputs of shape {tuple(x.shape[1:])}: {error}") from error
    if out.ndim != 2 or len(out) != len(x):
        raise ValueError(
            f"the model must map (n, *input_shape) to (n, outputs); got outputs of shape {tuple(out.shape)}."
        )
    return int(out.shape[1])
