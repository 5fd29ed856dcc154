"""Kernel machines on tables of 1,000 to 1,000,000 rows: processor seconds, memory and error beside FALKON, EigenPro and trees.

Run: python benchmarks/scale.py [--rows 1000 10000] [--peers falkon eigenpro xrfm trees] [--json PATH]

30 columns, of which eight matter (curves of directions and one product of signs), three classes drawn with probabilities that
a formula gives, so that the least possible error is known. Each predictor has a process of its own: CPU seconds are those of fit
on one thread, memory the largest that the operating system saw. FALKON (Rudi, Carratino & Rosasco 2017) and EigenPro 2 (Ma &
Belkin 2019) are references in torch, written for this from the papers: the Laplace kernel of ``KernelMachine("laplace")`` in
float32, as many landmarks, ridge (or epochs) chosen by a tenth of the rows held out. xRFM runs where ``xrfm`` is installed.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from _results import row, write
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[np.float64]
Predict = Callable[[Array], NDArray[np.int64]]
LANDMARKS, STEPS, CACHED = 4000, 15, 2e9  # of FALKON; bytes of the kernel that it keeps
RIDGES = (1e-6, 1e-5, 1e-4, 1e-3)
NEW = 20_000
EIGENPRO_ROWS = 20_000  # beyond, n² values of the kernel in every epoch are too many


def table(n: int, seed: int) -> tuple[Array, NDArray[np.int64], float]:
    """Rows, classes and the least possible error."""
    fixed = np.random.default_rng(7)
    W, V = fixed.normal(size=(8, 3)), fixed.normal(size=(8, 8)) / np.sqrt(8)
    rng = np.random.default_rng([seed, n])
    x = rng.normal(size=(n, 30))
    u = x[:, :8]
    score = 3 * np.tanh(1.5 * u @ V) @ W + 3 * np.sign(u[:, :1] * u[:, 1:2]) * np.array([1.0, -1.0, 0.0])
    p = np.exp(score - score.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    return x, (rng.random((n, 1)) > p.cumsum(1)[:, :2]).sum(1), float(1 - p.max(1).mean())


def laplace(x: Tensor, z: Tensor, width: float) -> Tensor:
    """The Laplace kernel in the inputs' precision."""
    squared = torch.addmm(x.square().sum(1)[:, None] + z.square().sum(1), x, z.mT, alpha=-2.0)
    return squared.clamp_(min=0).sqrt_().mul_(-1 / width).exp_()


def prepared(X: Array, y: NDArray[np.int64]) -> tuple[Tensor, Tensor, float]:
    """Standardised rows and one-hot targets without their means, in float32, and the median distance."""
    x = torch.from_numpy((X - X.mean(0)) / X.std(0)).float()
    some = x[:1000]
    onehot = torch.nn.functional.one_hot(torch.from_numpy(y)).float()
    return x, onehot - onehot.mean(0), float(torch.pdist(some).median())


def predicting(X: Array, y: NDArray[np.int64], z: Tensor, c: Tensor, width: float) -> Predict:
    """The class with the largest output."""
    mean, scale, shares = X.mean(0), X.std(0), torch.from_numpy(np.bincount(y) / len(y)).float()

    def predict(new: Array) -> NDArray[np.int64]:
        rows = torch.from_numpy((new - mean) / scale).float()
        return torch.cat([laplace(part, z, width) @ c + shares for part in rows.split(2000)]).argmax(1).numpy()

    return predict


def falkon(X: Array, y: NDArray[np.int64]) -> Predict:
    """Nyström's normal equations by preconditioned conjugate gradients, Algorithm 1 of the paper; every ridge from scratch."""
    x, targets, width = prepared(X, y)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    m = min(LANDMARKS, len(x) // 2)
    z, held = x[order[:m]], order[-len(x) // 10 :]
    rest = order[: len(x) - len(held)]
    K = laplace(z, z, width)
    T = torch.linalg.cholesky(K.double() + 1e-6 * m * torch.eye(m, dtype=torch.float64)).mT.float()

    def solve(rows: Tensor, ridge: float) -> Tensor:
        A = torch.linalg.cholesky((T @ T.mT / m).double() + ridge * torch.eye(m, dtype=torch.float64)).mT.float()
        parts = rows.split(4000)
        kept = [laplace(x[p], z, width) for p in parts] if 4 * len(rows) * m <= CACHED else None
        back = lambda b: torch.linalg.solve_triangular(  # noqa: E731
            T, torch.linalg.solve_triangular(A, b, upper=True), upper=True
        )
        forth = lambda b: torch.linalg.solve_triangular(  # noqa: E731
            A.mT, torch.linalg.solve_triangular(T.mT, b, upper=False), upper=False
        )

        def normal(c: Tensor | None) -> Tensor:
            total = torch.zeros(m, targets.shape[1])
            for k, p in enumerate(parts):
                block = laplace(x[p], z, width) if kept is None else kept[k]
                total += block.mT @ (targets[p] if c is None else block @ c)
            return total / len(rows)

        beta = torch.zeros(m, targets.shape[1])
        r = forth(normal(None))
        p, size = r.clone(), r.square().sum(0)
        for _ in range(STEPS):
            inner = back(p)
            q = forth(normal(inner) + ridge * (K @ inner))
            step = size / (p * q).sum(0)
            beta, r = beta + step * p, r - step * q
            size, before = r.square().sum(0), size
            p = r + size / before * p
        return back(beta)

    cross = laplace(x[held], z, width)
    losses = [float((cross @ solve(rest, r) - targets[held]).square().mean()) for r in RIDGES]
    return predicting(X, y, z, solve(order, RIDGES[int(np.argmin(losses))]), width)


def eigenpro(X: Array, y: NDArray[np.int64], top: int = 150, few: int = 2000, most: int = 12) -> Predict:
    """Stochastic gradients preconditioned by the leading modes of some rows, all rows as centres; stopped by held-out rows."""
    x, targets, width = prepared(X, y)
    generator = torch.Generator().manual_seed(0)
    order = torch.randperm(len(x), generator=generator)
    held, rest = order[: len(x) // 10], order[len(x) // 10 :]
    some = rest[:few]
    lam, V = torch.linalg.eigh(laplace(x[some], x[some], width).double())
    lam, V = lam.flip(0), V.flip(1)
    last = float(lam[top])
    scaled = (V[:, :top] * ((1 - last / lam[:top]) / lam[:top])).float()
    V = V[:, :top].float()
    size = max(int(1 / (last / len(some))), 1)
    rate = 1.0 / (1 + (size - 1) * last / len(some)) * size
    c, best = torch.zeros(len(x), targets.shape[1]), (float("inf"), torch.zeros(0))
    cross = laplace(x[held], x, width)
    for _ in range(most):
        for batch in rest[torch.randperm(len(rest), generator=generator)].split(size):
            K = laplace(x[batch], x, width)
            missed = (K @ c - targets[batch]) * (rate / len(batch))
            c[batch] -= missed
            c[some] += scaled @ (V.mT @ (K[:, some].mT @ missed))
        loss = float((cross @ c - targets[held]).square().mean())
        if loss >= best[0]:
            break
        best = loss, c.clone()
    return predicting(X, y, x, best[1], width)


def machine(arch: str, **settings: Any) -> Callable[[Array, NDArray[np.int64]], Predict]:
    """A kernel machine of this library."""

    def fit(X: Array, y: NDArray[np.int64]) -> Predict:
        from priorscope import KernelMachine

        made = KernelMachine(arch, task="classification", **settings).fit(X, y)
        print(made.report_, file=sys.stderr)
        return made.predict

    return fit


def trees(X: Array, y: NDArray[np.int64]) -> Predict:
    """Boosted trees of scikit-learn as they come."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0).fit(X, y).predict


def xrfm(X: Array, y: NDArray[np.int64]) -> Predict:
    """Recursive feature machines at their defaults, a tenth of the rows to choose by."""
    from xrfm import xRFM

    cut = len(X) - len(X) // 10
    made = xRFM(device="cpu")
    made.fit(X[:cut].astype(np.float32), y[:cut], X[cut:].astype(np.float32), y[cut:])
    return lambda new: np.asarray(made.predict(new.astype(np.float32))).ravel()


FITS: dict[str, Callable[[Array, NDArray[np.int64]], Predict]] = {
    "auto": machine("auto"),
    "laplace": machine("laplace"),
    "features": machine("auto", features="learn"),
    "falkon": falkon,
    "eigenpro": eigenpro,
    "trees": trees,
    "xrfm": xrfm,
}
OURS = ("auto", "laplace", "features")


def measured(name: str, n: int) -> dict[str, float]:
    """CPU seconds of fit, of 20,000 predictions, the error and the largest memory, of this process."""
    torch.set_num_threads(1)
    X, y, _ = table(n, 0)
    new, truth, _ = table(NEW, 1)
    if name in OURS:
        machine("fcn-1")(X[:60], y[:60])  # compiled
    began = time.process_time()
    predict = FITS[name](X, y)
    fitted = time.process_time()
    error = float((predict(new) != truth).mean())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"seconds": fitted - began, "predict": time.process_time() - fitted, "error": error, "gigabytes": memory}


def main() -> None:
    """Print a line for each predictor and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--peers", nargs="*", default=["falkon", "eigenpro", "trees"], choices=[*FITS])
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measured(arguments.one[0], int(arguments.one[1]))))
        return
    rows = []
    for n in arguments.rows:
        least = table(NEW, 1)[2]
        found: dict[str, dict[str, float]] = {}
        for name in ("auto", "laplace", *arguments.peers):
            if name == "eigenpro" and n > EIGENPRO_ROWS:
                continue
            done = subprocess.run(
                [sys.executable, __file__, "--one", name, str(n)], stdout=subprocess.PIPE, text=True, check=False
            )
            if done.returncode:
                print(f"{n:,} rows, {name}: did not end (code {done.returncode})")
                continue
            f = found[name] = json.loads(done.stdout.splitlines()[-1])
            print(
                f"{n:,} rows, {name}: {f['seconds']:.1f} CPU s, {100 * f['error']:.2f} % wrong (least possible "
                f"{100 * least:.2f}), {f['gigabytes']:.2f} GB, {f['predict']:.2f} s for {NEW:,} predictions",
                flush=True,
            )
        for name, f in found.items():
            mine = found.get("auto" if name in ("trees", "xrfm") else "laplace")
            if name not in OURS and mine:
                note = f"{100 * mine['error']:.1f} % wrong beside {100 * f['error']:.1f}"
                rows.append(row(f"{n:,} rows", mine["seconds"], f["seconds"], name, note=note))
            elif name in OURS:
                note = f"{100 * f['error']:.1f} % wrong, {f['gigabytes']:.1f} GB"
                rows.append(row(f"{n:,} rows, {name}", f["seconds"], note=note))
    if arguments.json:
        write(arguments.json, "scale", rows)


if __name__ == "__main__":
    main()
