"""Average geometry of a model family at initialisation, by Monte Carlo over initialisations."""

from __future__ import annotations

import math
import time
from typing import Unpack

import torch
from torch import Tensor

from priorscope.checks import POSITIVE, SEED, number, optional, whole
from priorscope.contracts import NetworkOptions, guarded
from priorscope.machine import free_memory
from priorscope.probes.geometry._block_sums import BlockSums
from priorscope.probes.geometry._draws import Drawn, Draws
from priorscope.probes.geometry._gradient_rows import GradientRows
from priorscope.probes.geometry._probes import Probes
from priorscope.probes.geometry._result import AverageGeometry

__all__ = ["average_geometry"]


@guarded(
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
    if readout not in ("auto", "sample") or engine not in ("auto", "vmap", "loop"):
        raise ValueError(
            "readout is 'auto' or 'sample' and engine 'auto', 'vmap' or 'loop'; "
            f"got readout={readout!r}, engine={engine!r}."
        )
    probes = Probes.of(probe, n_probes, probe_std)
    D = math.prod(probes.shape)
    _check_memory(D)
    start = time.perf_counter()
    rows = GradientRows(Draws(model, probes.shape, seed, **network), probes, readout, engine)
    block, sums = rows.block_size(n_models), BlockSums(D)
    while sums.done < n_models:
        n = block if precision is None else min(block, max(1, block // 25, sums.done // 4))  # small at first
        n = min(n, n_models - sums.done)
        sums.add(rows.mean(n), n)
        if precision is not None and sums.n_blocks >= 10 and sums.relative_error <= precision:
            break
    if not torch.isfinite(sums.total).all():
        raise ValueError("the model gave gradients that are not finite; check its initialisation on these probes.")
    if not bool(sums.total.any()):
        raise ValueError("the model ignores its input: all gradients with respect to it are zero.")
    variance = rows.readout_variance()
    G = variance * sums.total / sums.done
    return AverageGeometry(
        (G + G.mT) / 2,
        variance * sums.error,
        probes.shape,
        sums.done,
        n_probes,
        rows.engine,
        f"integrated ({rows.readout.width} features)" if rows.readout else "sampled",
        time.perf_counter() - start,
        tuple(rows.notes),
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
