"""Two classes of MNIST and CIFAR-10, with pixels from 0 to 255 or of unit variance."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from priorscope.data import cifar10, digits, mnist


@lru_cache(maxsize=2)
def _all(name: str) -> tuple[Tensor, Tensor]:
    """Training and test images together as rows, from 0 to 1, and signs: the parity of the class."""
    data = mnist("classes") if name == "mnist" else cifar10("classes") if name == "cifar10" else digits("classes")
    x = torch.cat([data.train.inputs, data.test.inputs]).flatten(1)
    labels = torch.cat([data.train.targets, data.test.targets]).argmax(1)
    return x.double(), (labels % 2 * 2 - 1).double()


def two_classes(name: str, n: int, n_test: int, seed: int, unit: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Inputs and signs of ``n`` random training images and ``n_test`` others; ``unit``: "bytes" (0 to 255) or "variance"."""
    x, y = _all(name)
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(x))[: n + n_test])
    rows, signs = x[order] * 255 if unit == "bytes" else (x[order] - x.mean()) / x.std(), y[order]
    return rows[:n], signs[:n], rows[n:], signs[n:]
