"""Deformed batches against a sampler of one field per call, and what the transform costs in a training loop.

The peer is the sampler of the paper, pcsl-epfl/diffeomorphism, where ``$PRIORSCOPE_PEERS/diffeomorphism/diff.py`` exists;
besides, the same formulas written out here for one image per call. Both deform 1,000 images of 3×32×32 by fields of their
own (δ = 1, cutoff 3). The transform is timed in a loop that trains LeNet on batches of 128 such images. CPU seconds of one
thread; every figure is the best of several runs.
Run: python benchmarks/deformations.py
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from _results import row, write

from priorscope import models
from priorscope.data import Deform
from priorscope.data.deformations import deform, temperature_for


def one_field(image: torch.Tensor, temperature: float, cutoff: int, interpolation: str) -> torch.Tensor:
    """One image deformed by one field: the double sum over modes, and a reading between pixels of all of them."""
    n = image.shape[-1]
    k = torch.arange(1, cutoff + 1, dtype=image.dtype)
    waves = torch.sin(math.pi * torch.linspace(0, 1, n)[:, None] * k)
    length = (k[:, None] ** 2 + k**2).sqrt()
    law = (length < cutoff + 0.5) / length * temperature**0.5 * n
    line = torch.arange(n, dtype=image.dtype)
    u = (line - torch.einsum("ij,xi,yj->yx", law * torch.randn(cutoff, cutoff), waves, waves)).clamp(0, n - 1)
    v = (line[:, None] - torch.einsum("ij,xi,yj->yx", law * torch.randn(cutoff, cutoff), waves, waves)).clamp(0, n - 1)
    if interpolation == "gaussian":
        weights = torch.exp(
            -((u[..., None, None] - line) ** 2 + (v[..., None, None] - line[:, None]) ** 2) / (2 * 0.4715**2)
        )
        return torch.einsum("yxab,cab->cyx", weights / weights.sum((2, 3), keepdim=True), image)
    left, top = u.floor().long(), v.floor().long()
    right, bottom = u.ceil().long(), v.ceil().long()
    a, b = u - left, v - top
    upper = (1 - a) * image[:, top, left] + a * image[:, top, right]
    return (1 - b) * upper + b * ((1 - a) * image[:, bottom, left] + a * image[:, bottom, right])


def published() -> Any | None:
    """The published sampler, where it lies beside the other peers."""
    file = Path(os.environ.get("PRIORSCOPE_PEERS", "")) / "diffeomorphism" / "diff.py"
    if not os.environ.get("PRIORSCOPE_PEERS") or not file.is_file():
        return None
    spec = importlib.util.spec_from_file_location("diff", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def seconds(action: Callable[[], Any], repeats: int) -> float:
    """CPU seconds of the fastest of several runs, after one to warm up."""
    action()
    found = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        found.append(time.process_time() - start)
    return min(found)


def step_of_lenet(augment: Deform | None, steps: int) -> float:
    """CPU seconds of one training step on 128 images, with or without the transform."""
    network = models.lenet().network((3, 32, 32), outputs=10)
    optimiser = torch.optim.SGD(network.parameters(), 0.01)
    x, y = torch.rand(128, 3, 32, 32), torch.arange(128) % 10

    def step() -> None:
        optimiser.zero_grad()
        batch = x if augment is None else augment(x)
        torch.nn.functional.cross_entropy(network(batch), y).backward()
        optimiser.step()

    return seconds(step, steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", help="file for the rows of the performance page")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # the peer's own
    N = arguments.images
    x, T = torch.rand(N, 3, 32, 32), temperature_for(1.0, 3, 32)
    peer, rows = published(), []
    for interpolation, few in (("bilinear", N), ("gaussian", max(N // 50, 1))):
        ours = seconds(lambda i=interpolation: deform(x, T, 3, interpolation=i), arguments.repeats)
        samplers: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
            "one field per call, the same formulas": lambda image, i=interpolation: one_field(image, T, 3, i)
        }
        if peer is not None:
            word = {"bilinear": "linear"}.get(interpolation, interpolation)
            samplers["pcsl-epfl/diffeomorphism"] = lambda image, w=word: peer.deform(image, T, 3, w)
        for name, sampler in samplers.items():
            repeats = arguments.repeats if interpolation == "bilinear" else 2
            theirs = seconds(lambda s=sampler, f=few: torch.stack([s(image) for image in x[:f]]), repeats) * N / few
            print(
                f"{interpolation:<10}{name:<40}{ours:>9.4f} s{theirs:>10.4f} s{theirs / ours:>8.1f} times", flush=True
            )
            note = "" if few == N else f"peer timed on {few} images"
            rows.append(row(f"{N:,} images 3×32×32, {interpolation}", ours, theirs, name, unit="CPU s", note=note))
    plain, augmented = step_of_lenet(None, 40), step_of_lenet(Deform(1.0, 3), 40)
    share = augmented / plain - 1
    print(
        f"a step of LeNet on 128 images: {plain * 1e3:.1f} ms, with the transform {augmented * 1e3:.1f} ms ({share:+.1%})"
    )
    note = f"without it {plain * 1e3:.1f} ms: {share:+.1%}"
    rows.append(row("a LeNet step of 128 images with the transform", 1e3 * augmented, unit="CPU ms", note=note))
    if arguments.json:
        write(arguments.json, "deformations", rows)


if __name__ == "__main__":
    main()
