"""Exact spectrum on a product of spheres against the Gram matrix whose eigenvalues are as accurate as sampling gets.

Run: python benchmarks/spectrum.py [--samples 2000]

Both compute the leading eigenvalues of the one-hidden-layer ReLU tangent kernel of VEC at d0 = s = 3, p = 16. The Gram matrix
is given the accuracy it can reach; the exact spectrum is right to 1e-8 (its truncation bound is printed), so the ratio of
times is at the Gram matrix's accuracy or better.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from _results import row, write

import priorscope as ps


def main(n_samples: int, path: str | None = None, repeats: int = 5) -> float:
    """Prints both times, the accuracy of each, and the ratio, which is returned."""
    d0, p = 3, 16
    arch = ps.models.vec(depth=1)
    ps.probes.sphere_spectrum(arch, d0, p, order=2)  # warm up imports
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        exact = ps.probes.sphere_spectrum(arch, d0, p, order=2)
        times.append(time.perf_counter() - start)
    ps.probes.gram_spectrum(arch, d0, p, 16)  # compile what is compiled
    start = time.perf_counter()
    gram = ps.probes.gram_spectrum(arch, d0, p, n_samples)
    sampled = time.perf_counter() - start
    ours = min(times)
    m = 3 * p
    error = abs(float(np.mean(gram[1 : 1 + m])) / exact.expanded(1 + m)[1] - 1)
    print(f"exact: {1e3 * ours:8.2f} ms, orders 0 to 2, truncation below {exact.truncation:.0e}")
    print(f"Gram:  {1e3 * sampled:8.2f} ms, n = {n_samples}, error of the order-1 eigenvalue {error:.1%}")
    print(f"ratio: {sampled / ours:.0f}x")
    if path:
        note = f"the Gram matrix is off by {error:.1%}, the exact spectrum by less than {exact.truncation:.0e}"
        case = "VEC on a product of 16 spheres, orders 0 to 2"
        write(path, "spectrum", [row(case, ours, sampled, f"Gram matrix, n = {n_samples}", note=note)])
    return sampled / ours


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--json", help="file for the rows of the performance page")
    options = parser.parse_args()
    main(options.samples, options.json)
