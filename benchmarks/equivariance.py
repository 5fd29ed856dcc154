"""Models with symmetries built in, each part beside what it replaces, in one run.

Run: python benchmarks/equivariance.py [--json benchmarks/results/equivariance.json] [--only invariant]

Every section is a function that prints its table and gives back rows; SECTIONS lists them.

``invariant``: the kernel over the eight symmetries of the square against eight plain kernels, each computed alone; processor
time, the least of several repeats taken in turn, so that other programs on the machine disturb both alike.

``transforms``: the Fourier transform on SO(3) against a direct sum over the grid, and against s2fft where S2FFT_PYTHON names the
interpreter of an environment that has it, alone and with its gradient. s2fft's Wigner transform is compiled before the clock
runs, told that signals are real, and mapped over the batch; it is given its own grid, of (2b-1)² 2b points
instead of (2b)³. ``steerable``: a steerable convolution on voxels against e3nn's, alone, with gradients, and frozen.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

import torch
from _results import row, write

import priorscope as ps

Rows = list[dict[str, Any]]
PEER_REPEATS = 100  # of runs of a fraction of a millisecond


def in_turn(first: Callable[[], object], second: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Least processor seconds of two functions that are run in turn, after one run of each that does not count."""
    times: tuple[list[float], list[float]] = ([], [])
    for repeat in range(repeats + 1):
        for one, seen in zip((first, second), times):
            start = time.process_time()
            one()
            if repeat:
                seen.append(time.process_time() - start)
    return min(times[0]), min(times[1])


def invariant(repeats: int = 5) -> Rows:
    """An averaged kernel over |G| = 8 against eight times the plain one."""
    rows: Rows = []
    for plain, n in ((ps.models.gap(3), 150), (ps.models.vec(3), 300), (ps.models.fcn(3), 600)):
        averaged = ps.models.invariant(plain, "p4m")
        x = torch.randn(n, 1, 8, 8, generator=torch.Generator().manual_seed(0))
        averaged.average((1, 8, 8))  # the test of joint invariance, once for every shape
        alone, together = in_turn(partial(plain.kernel, x), partial(averaged.kernel, x), repeats)
        times = together / alone
        print(
            f"{plain.name}-3, n = {n}: plain {alone:.4f} s, averaged over 8 moves {together:.4f} s: {times:.2f} times"
        )
        note = f"one averaged kernel takes as long as {times:.2f} plain ones"
        rows.append(row(f"{averaged.name}, depth 3, n = {n}", together, 8 * alone, "eight plain kernels", note=note))
    return rows


def direct_sum(signals: torch.Tensor, harmonics: torch.Tensor) -> torch.Tensor:
    """All coefficients of signals on SO(3) by one product with a table (grid points, coefficients)."""
    return signals.flatten(1).to(harmonics.dtype) @ harmonics


def transforms(repeats: int = 15) -> Rows:
    """The Fourier transform on SO(3) against a direct sum over the grid, and against s2fft in an environment of its own."""
    spheres = ps.models.spheres
    rows: Rows = []
    for b, n in ((6, 64), (8, 64)):
        alpha, beta = spheres.soft_angles(b)
        B, A, C = torch.meshgrid(beta, alpha, alpha, indexing="ij")
        weights = (spheres.soft_weights(b) / (2 * b) ** 2)[:, None, None, None, None]
        blocks = [(spheres.wigner_D(l, A, B, C).conj() * weights).flatten(0, 2).flatten(1) for l in range(b)]
        table = torch.cat(blocks, 1).to(torch.complex64)
        x = torch.randn(n, 2 * b, 2 * b, 2 * b, generator=torch.Generator().manual_seed(0))
        found, wanted = spheres.so3_fft(x), direct_sum(x, table)
        assert torch.allclose(torch.cat([block.flatten(1) for block in found], 1), wanted, atol=1e-5)
        ours, direct = in_turn(partial(spheres.so3_fft, x), partial(direct_sum, x, table), repeats)
        print(
            f"SO(3) transform, b = {b}, {n} signals: {ours:.4f} s, direct sum {direct:.4f} s: {direct / ours:.1f} times"
        )
        rows.append(row(f"SO(3) transform, bandwidth {b}, {n} signals", ours, direct, "direct sum, table made before"))
    python = os.environ.get("S2FFT_PYTHON")
    if python is None:
        print("s2fft: not run; set S2FFT_PYTHON to the interpreter of an environment that has it")
        return rows
    for b, n in ((8, 16), (8, 64), (16, 16)):
        x = torch.randn(n, 2 * b, 2 * b, 2 * b, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        command = [python, "-c", S2FFT, str(b), str(n), str(PEER_REPEATS)]
        ours, both = in_turn(partial(spheres.so3_fft, x), partial(with_gradient, x), PEER_REPEATS)
        peer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for what, mine, theirs in (("", ours, peer["seconds"]), (" and its gradient", both, peer["both"])):
            case = f"SO(3) transform{what}, bandwidth {b}, {n} signals, double precision"
            print(f"{case}: {mine:.5f} s, s2fft {theirs:.5f} s: {theirs / mine:.2f} times")
            note = "its Wigner transform in JAX, compiled, tables computed before, mapped over the signals"
            rows.append(row(case, mine, theirs, f"s2fft {peer['version']}", note=note))
    return rows


def with_gradient(signals: torch.Tensor) -> torch.Tensor:
    """The transform, and the gradient of the sum of products of its coefficients with themselves held fixed."""
    x = signals.detach().requires_grad_()
    blocks = ps.models.spheres.so3_fft(x)
    (found,) = torch.autograd.grad(blocks, x, [block.detach() for block in blocks])
    return found


S2FFT = """
import json, sys, time
from importlib.metadata import version
import numpy as np, jax
jax.config.update("jax_enable_x64", True)
from s2fft.precompute_transforms.wigner import forward_transform_jax
from s2fft.precompute_transforms.construct import wigner_kernel_jax
b, n, repeats = map(int, sys.argv[1:])
kernel = wigner_kernel_jax(b, b, reality=True, sampling="dh", forward=True)
f = np.random.default_rng(0).normal(size=(n, 2 * b - 1, 2 * b, 2 * b - 1))
one = lambda x: forward_transform_jax(x, kernel, b, b, sampling="dh", reality=True, nside=None)
many = jax.jit(jax.vmap(one))
f = jax.numpy.asarray(f)
def gradient(x):
    value, back = jax.vjp(many, x)
    return back(value)[0]
both = jax.jit(gradient)
def least(run):
    run(f).block_until_ready()
    seen = []
    for _ in range(repeats):
        start = time.process_time()
        run(f).block_until_ready()
        seen.append(time.process_time() - start)
    return min(seen)
print(json.dumps({"seconds": least(many), "both": least(both), "version": version("s2fft")}))
"""


def steerable(repeats: int = 15) -> Rows:
    """Steerable convolution, forward and backward, against e3nn's voxel convolution of the same irreps and size."""
    from e3nn.nn.models.v2104.voxel_convolution import Convolution

    rows: Rows = []
    for side, fields in ((9, (8, 4, 2)), (15, (8, 4, 2))):
        irreps = "+".join(f"{m}x{l}e" for l, m in enumerate(fields))
        torch.manual_seed(0)
        ours = ps.models.steerable.SteerableConv3d(fields, fields, 5, padding=2)
        orders = "+".join(f"{l}e" for l in range(2 * len(fields) - 1))
        theirs = Convolution(irreps, irreps, orders, diameter=5.0, num_radial_basis=3, steps=(1.0, 1.0, 1.0))
        x = torch.randn(2, ps.models.steerable.channels_of(fields), side, side, side)

        def step(layer: torch.nn.Module, x: torch.Tensor = x) -> None:
            layer.zero_grad()
            layer(x).square().mean().backward()

        def ahead(layer: torch.nn.Module, x: torch.Tensor = x) -> None:
            with torch.no_grad():
                layer(x)

        weights = [sum(p.numel() for p in layer.parameters()) for layer in (ours, theirs)]
        size = f"kernel of 5³ voxels; {weights[0]:,} weights, theirs {weights[1]:,}"
        cases = (
            ("forward and backward", partial(step, ours), partial(step, theirs)),
            ("forward", partial(ahead, ours), partial(ahead, theirs)),
            ("forward, ours exported by plain()", partial(ahead, ours.plain()), partial(ahead, theirs)),
        )
        for what, first, second in cases:
            mine, peer = in_turn(first, second, repeats)
            print(
                f"steerable convolution, {side}³ voxels, {what}: {mine:.5f} s, e3nn {peer:.5f} s: {peer / mine:.2f} times"
            )
            case = f"steerable convolution, {irreps}, {side}³ voxels, {what}"
            rows.append(row(case, mine, peer, f"e3nn {version('e3nn')}", note=size))
        bank, kernel = in_turn(ours.filters, theirs.kernel, repeats)
        print(f"  its bank of filters alone: {bank:.5f} s, e3nn {kernel:.5f} s: {kernel / bank:.1f} times")
        if side == 9:
            rows.append(row(f"bank of filters, {irreps}, 5³", bank, kernel, f"e3nn {version('e3nn')}"))
    return rows


SECTIONS: dict[str, Callable[[], Rows]] = {"invariant": invariant, "transforms": transforms, "steerable": steerable}


def main(only: str | None = None, path: str | None = None) -> Rows:
    """Run the sections, or one; write their rows."""
    rows = [line for name, section in SECTIONS.items() if only in (None, name) for line in section()]
    if path:
        write(path, "equivariance", rows)
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=list(SECTIONS), help="one section")
    parser.add_argument("--json", help="file for the rows of the performance page")
    options = parser.parse_args()
    main(options.only, options.json)
