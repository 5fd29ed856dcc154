"""Learning curves: the exact expectation over teachers beside sampled fields, and all repetitions of a curve beside a loop.

Run: ``python benchmarks/curves.py`` (``--quick`` for small sizes). Times are seconds of one core. *Expectation*: errors of a
student at several sizes on fixed points. The peer draws fields of the teacher and fits each by the same factorisation, in one
batch; it is given as many fields as bring its standard error to a thousandth of the value, by the spread seen in the first 3000,
where the expectation is exact to round-off. *Curve*: regression at many sizes and orderings of one sample, beside
scikit-learn's KernelRidge fitted and tested at each of them, with one ridge or with the best of those we try.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import torch
from _results import row, write
from scipy.linalg import cho_factor, cho_solve
from sklearn.kernel_ridge import KernelRidge

import priorscope as ps
from priorscope.contracts import kernel_matrix
from priorscope.probes.curves.teacher._teacher_student import expected_errors

ACCURACY, BATCH = 1e-3, 3000


def seconds(call: Any) -> tuple[float, Any]:
    """Processor time of a call, and what it gave."""
    started = time.process_time()
    found = call()
    return time.process_time() - started, found


def sampled(teacher: Any, student: Any, train: Any, test: Any, sizes: list[int], draws: int) -> np.ndarray:
    """Errors (sizes, draws) on fields of the teacher."""
    field = ps.probes.gaussian_field(teacher, torch.cat([train, test]), draws=draws).numpy()
    n = len(train)
    K, k = kernel_matrix(student, train).numpy(), kernel_matrix(student, train, test).numpy()
    found = []
    for p in sizes:
        coefficients = cho_solve(cho_factor(K[:p, :p]), field[:p])
        found.append(((k[:p].T @ coefficients - field[n:]) ** 2).mean(0))
    return np.stack(found)


def expectation(teacher: Any, student: Any, dim: int, sizes: list[int]) -> dict[str, Any]:
    """Both ways to the same numbers; the sampled one's time is that of a batch, in proportion to the fields needed."""
    train = ps.probes.teacher_points("sphere", dim, max(sizes), seed=0)
    test = ps.probes.teacher_points("sphere", dim, 200, seed=1)
    expected_errors(teacher, student, train[:64], test[:8], [64])
    ours, exact = seconds(lambda: expected_errors(teacher, student, train, test, sizes))
    fixed, _ = seconds(lambda: sampled(teacher, student, train, test, sizes, 1))
    batch, errors = seconds(lambda: sampled(teacher, student, train, test, sizes, BATCH))
    spread = errors.std(1) / exact
    needed = float((spread.max() / ACCURACY) ** 2)
    peer = fixed + max(batch - fixed, 0.0) / BATCH * needed
    off = float(np.abs((errors.mean(1) / exact - 1) / (spread / BATCH**0.5)).max())
    name = (
        f"{ps.contracts.name_of(teacher)} teacher, {ps.contracts.name_of(student)} student, d = {dim}, n = {max(sizes)}"
    )
    note = f"{needed:,.0f} fields for {ACCURACY:.1%}; means of {BATCH} within {off:.1f} standard errors"
    return row(name, ours, peer, "sampled fields of equal accuracy", note=note)


def curve(pilot: int, orderings: int, tuned: bool) -> dict[str, Any]:
    """The digits' learning curve with a Gaussian kernel, at one ridge or at the best of the grid for each size."""
    data = ps.data.digits(classes="parity")
    model = ps.models.gaussian(2.0)
    ps.probes.learning_curve(data, model, pilot=60, orderings=2)
    ridge: float | str = "tuned" if tuned else 1e-3
    ours, found = seconds(lambda: ps.probes.learning_curve(data, model, pilot=pilot, ridge=ridge, orderings=orderings))
    rng = np.random.default_rng(0)
    x, y = data.inputs.flatten(1).double().numpy(), data.targets[:, 0].double().numpy()
    rows = rng.permutation(len(x))[:pilot]
    gram = kernel_matrix(model, torch.from_numpy(x[rows])).numpy()
    grid = np.maximum(ps.probes.ridge_grid(gram), 1e-10) if tuned else np.array([1e-3])

    def loop() -> np.ndarray:
        errors = np.zeros((len(grid), len(found.sizes)))
        for _ in range(orderings):
            order = rng.permutation(rows)
            for i, p in enumerate(found.sizes):
                for g, strength in enumerate(grid):
                    machine = KernelRidge(kernel="rbf", gamma=1 / 8, alpha=strength).fit(x[order[:p]], y[order[:p]])
                    errors[g, i] += ((machine.predict(x[order[p:]]) - y[order[p:]]) ** 2).mean() / orderings
        return errors.min(0)

    peer, plain = seconds(loop)
    apart = float(np.abs(found.error / plain - 1)[: len(plain) // 2].max())
    told = f"the best of {len(grid)} ridges" if tuned else "one ridge"
    note = f"{len(found.sizes)} sizes, {orderings} repetitions, {told}; up to {apart:.0%} apart at small sizes, other samples"
    return row(f"learning curve, {pilot} digits", ours, peer, "loop over scikit-learn's KernelRidge", note=note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", default=None)
    options = parser.parse_args()
    torch.set_num_threads(1)
    sizes = [64, 128, 256] if options.quick else [128, 256, 512, 1024]
    pilots = [200] if options.quick else [400, 800]
    rows = [
        expectation(ps.models.laplace(2.0), ps.models.laplace(2.0), 2, sizes),
        expectation(ps.models.gaussian(3.0), ps.models.laplace(3.0), 3, sizes),
        *(curve(pilot, 24, False) for pilot in pilots),
        curve(pilots[0], 24, True),
    ]
    for line in rows:
        print(f"{line['case']}: {line['ours']:.3g} s, {line['peer_name']} {line['peer']:.3g} s, {line['ratio']:.3g}×")
        print(f"    {line['note']}")
    if options.json:
        write(options.json, "curves", rows)


if __name__ == "__main__":
    main()
