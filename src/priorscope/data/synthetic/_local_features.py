"""Synthetic colour images whose labels depend on local features."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from priorscope.checks import SEED, checked, number, whole
from priorscope.data._dataset import Dataset, Split
from priorscope.data._memory import check_memory

__all__ = ["local_features"]


@checked(n_train=whole(2), n_test=whole(2), size=whole(3), channels=whole(), noise=number(least=0, below=1), seed=SEED)
def local_features(
    n_train: int = 512, n_test: int = 512, *, size: int = 8, channels: int = 3, noise: float = 0.0, seed: int = 0
) -> Dataset:
    r"""Smooth random images with labels ±1: the sign of a mean over pixels of a product of two local filters.

    .. math:: y = \operatorname{sign}\Big(d^{-1}\sum_α (w_1 * x)_α (w_2 * x)_α - \text{median}\Big)

    with 2×2 filters w over all channels (circular), fixed by the seed: a function of order 2, local, invariant to cyclic
    shifts and to nothing else (a definition of ours).
    Locality and weight sharing help; a rotation of the pixels hides both. ``noise`` is the part
    of training labels that is flipped.

    Example:
        >>> data = local_features(20, 10)
        >>> data.input_shape, sorted(set(data.targets.flatten().tolist()))
        ((3, 8, 8), [-1.0, 1.0])
    """
    generator = torch.Generator().manual_seed(seed)
    n = n_train + n_test
    check_memory(8 * n * channels * size**2, f"{n} images of {channels} × {size} × {size} numbers")
    white = torch.randn(n, channels, size, size, generator=generator)
    x = white + white.roll(1, 2) + white.roll(1, 3) + white.roll((1, 1), (2, 3))  # neighbours share colours
    x = x / x.std()
    filters = torch.randn(2, channels, 2, 2, generator=generator)
    values = _local_product(x, filters)
    labels = (values > values.median()).long()
    y = 2.0 * labels[:, None] - 1
    flip = torch.rand(n_train, 1, generator=generator) < noise
    y[:n_train] = torch.where(flip, -y[:n_train], y[:n_train])
    return Dataset(
        Split(x[:n_train], y[:n_train]),
        Split(x[n_train:], y[n_train:]),
        name="local features",
        classes=("below", "above"),
        train_labels=(y[:n_train, 0] > 0).long(),
        test_labels=labels[n_train:],
    )


def _local_product(x: Tensor, filters: Tensor) -> Tensor:
    responses = F.conv2d(F.pad(x, (0, 1, 0, 1), mode="circular"), filters)  # (n, 2, size, size)
    return (responses[:, 0] * responses[:, 1]).mean((1, 2))
