"""Empirical kernels of finite networks at growing width, for the tests of convergence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call, jacrev, vmap

from priorscope.models import Architecture
from priorscope.statistics import PowerLaw, fit_power_law

ONE_SIGMA = 0.6827  # level of an interval of one standard error either side; judged at four of them
OUTPUTS = 4  # outputs in units of the width, over which f f' is averaged


def empirical_kernels(arch: Architecture, x: Tensor, width: int, seeds: range) -> tuple[Tensor, Tensor]:
    """NNGP (mean of f f' over many outputs) and NTK (one output) of each seed: two tensors (seeds, n, n)."""
    shape = tuple(x.shape[1:])
    torch.manual_seed(width)  # masks of dropout come from the global generator
    many = arch.ensemble(shape, width, OUTPUTS * width, seeds, dtype=x.dtype)
    with torch.no_grad():
        f = many(x)  # (seeds, n, width)
    nngp = f @ f.mT / f.shape[-1]
    one = arch.ensemble(shape, width, 1, seeds, dtype=x.dtype)

    def tangent(params: dict[str, Tensor]) -> Tensor:
        jac = jacrev(lambda p: functional_call(one.template, p, (x,))[:, 0])(params)
        return sum((j.flatten(1) @ j.flatten(1).mT for j in jac.values()), torch.zeros(len(x), len(x), dtype=x.dtype))

    ntk = vmap(tangent, randomness="different", chunk_size=8)({k: v.detach() for k, v in one.stacked.items()})
    return nngp, ntk


@dataclass
class Convergence:
    """What a test judges: the power law of the error over width, and the deviation of the mean in standard errors."""

    fit: PowerLaw
    deviation: float  # largest over entries, at the largest width
    deviation_control: float  # the same against 1.1 times the kernel

    @property
    def holds(self) -> bool:
        """Within four standard errors (0.5 % for all cases of the suite together): exponent -1/2 and not 0; no bias; and a
        kernel wrong by the factor 1.1 is seen."""
        error = (self.fit.high - self.fit.low) / 2
        rate = abs(self.fit.exponent + 0.5) < 4 * error < -self.fit.exponent
        return rate and self.deviation < 4 < self.deviation_control


def measure(arch: Architecture, x: Tensor, widths: tuple[int, ...], seeds: int) -> dict[str, Convergence]:
    """Convergence of both kernels. The distance is Frobenius, per seed, relative to the limit."""
    limit = arch.kernel(x.double(), path="reference")
    errors: dict[str, list[np.ndarray]] = {"nngp": [], "ntk": []}
    last: dict[str, Tensor] = {}
    for i, width in enumerate(widths):
        kernels = empirical_kernels(arch, x, width, range(1000 * i, 1000 * i + seeds))
        for kind, empirical in zip(("nngp", "ntk"), kernels):
            exact = getattr(limit, kind)
            distance = (empirical.double() - exact).flatten(1).norm(dim=1) / exact.norm()
            errors[kind].append(distance.numpy())
            last[kind] = empirical.double()
    results = {}
    for kind, columns in errors.items():
        fit = fit_power_law(widths, np.stack(columns, 1), level=ONE_SIGMA)
        exact, empirical = getattr(limit, kind), last[kind]
        noise = empirical.std(0) / seeds**0.5 + 1e-6 * exact.abs().max()
        deviations = [float(((empirical.mean(0) - factor * exact) / noise).abs().max()) for factor in (1.0, 1.1)]
        results[kind] = Convergence(fit, *deviations)
    return results
