"""The runs behind the claims on spectral bias: one function per kind of point."""

from __future__ import annotations

from math import pi

import numpy as np
import torch
from scipy.special import zeta
from torch import Tensor

import priorscope.data as data
import priorscope.inference as inference
import priorscope.models as m
from priorscope.contracts import KernelModel, require
from priorscope.lab import Metrics, Point
from priorscope.probes import circle_modes, empirical_ntk, spectral_bias
from priorscope.probes.spectra.bias import identity_error
from priorscope.statistics import fit_power_law
from priorscope.system import System

MODES = 7  # constant, and sine and cosine of frequencies 1 to 3


def architecture(name: str) -> tuple[m.Architecture, tuple[int, ...]]:
    """The three kinds of layers of the theorem, with a smooth activation, and the shape of their inputs."""
    v: Point = {"weight_variance": 1.5, "bias_variance": 0.1}
    act = m.Activation("erf")
    if name == "fc":
        return m.Architecture("fc", (m.Dense(**v), act, m.Dense(**v), act, m.Dense(**v))), (5,)
    if name == "conv":
        return m.Architecture("conv", (m.Conv(3, **v), act, m.Conv(3, **v), act, m.Flatten(), m.Dense(**v))), (2, 4, 4)
    body = m.Residual(m.Sequential((m.Dense(**v), act)))
    return m.Architecture("residual", (m.Dense(**v), act, body, m.Dense(**v))), (5,)


def inputs(n: int, shape: tuple[int, ...], seed: int) -> Tensor:
    """Points of a sphere of radius √d, in the shape of images where asked."""
    dim = int(np.prod(shape))
    return data.sphere(n, dim, radius=dim**0.5, seed=seed, dtype=torch.float64).reshape(n, *shape)


def run_identity(point: Point) -> Metrics:
    """Both sides of the residual identity, on training and on other points, at the start and after some training."""
    arch, shape = architecture(point["network"])
    seed, n = point["seed"], point["n"]
    x, off = inputs(n, shape, 2 * seed), inputs(n, shape, 2 * seed + 1)
    y = torch.sin(x.flatten(1)[:, :1]) + x.flatten(1)[:, 1:2]
    network = arch.network(shape, width=point["width"], seed=seed, dtype=torch.float64)
    largest = float(torch.linalg.eigvalsh(empirical_ntk(network, x))[-1]) / n
    flow = inference.FourthOrderFlow(network, x, y, largest)
    errors = []
    for _ in range(2):
        errors.append([identity_error(flow, points) for points in (x, off)])
        flow.advance(2 / largest)
    return {"train_error": max(e[0] for e in errors), "off_train_error": max(e[1] for e in errors)}


def run_concentration(point: Point) -> Metrics:
    """Distance of one network's kernel at the start from the infinite-width one."""
    arch, shape = architecture(point["network"])
    x = inputs(point["n"], shape, seed=0)
    exact = arch.kernel(x, kinds=("ntk",)).ntk
    found = empirical_ntk(arch.network(shape, width=point["width"], seed=point["seed"], dtype=torch.float64), x)
    scale = exact.square().mean().sqrt()
    return {"distance": float((found - exact).square().mean().sqrt() / scale)}


def run_antisymmetric(point: Point) -> Metrics:
    """Output and kernel of the antisymmetric network beside those of the plain network with the same draw."""
    arch, shape = architecture(point["network"])
    x = inputs(point["n"], shape, seed=point["seed"])
    options: Point = {"width": point["width"], "seed": point["seed"], "dtype": torch.float64}
    plain, paired = arch.network(shape, **options), arch.network(shape, initialisation="antisymmetric", **options)
    kernel, twin = empirical_ntk(plain, x), empirical_ntk(paired, x)
    with torch.no_grad():
        output, usual = paired(x).abs().max(), plain(x).abs().max()
    return {
        "output": float(output),
        "plain_output": float(usual),
        "kernel_error": float((kernel - twin).norm() / kernel.norm()),
    }


def circle_system(width: int, n: int, seed: int, points: int = 360) -> System:
    """A network on the circle whose target has the same share of the leading seven Fourier modes."""

    def target(x: Tensor) -> Tensor:
        angle = torch.atan2(x[:, 1], x[:, 0])
        waves = [w for k in (1, 2, 3) for w in (torch.cos(k * angle), torch.sin(k * angle))]
        return 0.4 * (1 / 2**0.5 + torch.stack(waves).sum(0))[:, None]

    angles = 2 * pi * torch.arange(points, dtype=torch.float64) / points
    even = torch.stack([angles.cos(), angles.sin()], 1)
    x = data.sphere(n, 2, seed=1000 + seed, dtype=torch.float64)
    pairs = data.Dataset(data.Split(x, target(x)), data.Split(even, target(even)), "circle")
    arch = m.fcn(1, "erf", weight_variance=1.5, bias_variance=0.1)
    return System(pairs, arch, inference.GradientFlow(), width=width, initialisation="antisymmetric")


def run_dynamics(point: Point) -> Metrics:
    """Gradient flow on the circle, in Fourier modes, up to a time in units of the fourth eigenvalue's."""
    system = circle_system(point["width"], point["n"], point["seed"])
    kernel = require(system.model, KernelModel, "a model with a kernel", "Use an Architecture.")
    modes = circle_modes(kernel, degree_max=8)
    end = point["units"] / float(modes.eigenvalues[3])
    found = spectral_bias(system, MODES, modes=modes, time=end, n_times=10, step=0.5, seed=point["seed"])
    later = found.times > 0
    per_mode = (found.projections - found.ideal) ** 2
    with_total = np.append((found.deviations[later] / found.bounds[later]).max(), 0.0)
    return {
        "rate_ratios": found.rates / found.eigenvalues,
        "mode_deviation": per_mode[-1],
        "early_mode_deviation": per_mode[int(np.abs(found.times - 0.5 / found.eigenvalues[0]).argmin())],
        "total_deviation": float(found.total_deviation[-1]),
        "worst_ratio": float(max(with_total.max(), (found.total_deviation[later] / found.total_bound[later]).max())),
        "epsilon": found.epsilon,
        "free_term": float(4 * found.target_bound**2 * found.kernel_distance**2),
        "kernel_change": float(found.kernel_change[-1]),
        "times": found.times,
        "projections": found.projections,
        "ideal": found.ideal,
    }


def run_smoothness(point: Point) -> Metrics:
    """Ideal dynamics of targets whose power at frequency k is k^-b, on a circle of evenly spaced points."""
    n = point["n"]
    angles = 2 * pi * torch.arange(n, dtype=torch.float64) / n
    even = torch.stack([angles.cos(), angles.sin()], 1)
    row = m.fcn(1, bias_variance=0.1).kernel(even[:1], even, kinds=("ntk",)).ntk[0].double().numpy()
    sigma = np.fft.rfft(row).real / n  # a circulant Gram: its eigenvalues are the transform of a row
    last = n // 16
    k = np.arange(1, n // 4)
    # frequencies of both parities have their own prefactor: the law is fitted to their geometric mean, pairwise
    pairs = np.sqrt(np.clip(sigma[8 : last + 1 : 2] * sigma[9 : last + 2 : 2], 1e-300, None))
    decay = -fit_power_law(np.arange(8, last + 1, 2) + 0.5, pairs).exponent
    power = k ** -float(point["power"])
    times = np.geomspace(4 / pairs[4], 1 / pairs[-1] / 8, 25)
    beyond = zeta(float(point["power"]), n // 4)  # frequencies too high to have decayed by then
    left = beyond + np.array([(power * np.exp(-2 * np.clip(sigma[1 : n // 4], 0, None) * t)).sum() for t in times])
    fit = fit_power_law(times, left)
    return {
        "kernel_decay": decay,
        "rate": -fit.exponent,
        "rate_low": -fit.high,
        "rate_high": -fit.low,
        "times": times,
        "left": left,
    }
