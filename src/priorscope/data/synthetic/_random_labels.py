"""Gaussian inputs with a given covariance and labels that mean nothing: data to memorise."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from priorscope.checks import SEED, SHAPE, checked, optional, whole
from priorscope.data._dataset import Dataset, Split
from priorscope.data.synthetic._inputs import gaussian

__all__ = ["flip_spectrum", "random_labels"]


def flip_spectrum(matrix: Tensor) -> Tensor:
    """The symmetric matrix with the same eigenvectors and its eigenvalues in reverse order.

    Holds: flipping twice gives the matrix back; trace and Frobenius norm are kept.

    Example:
        >>> flip_spectrum(torch.diag(torch.tensor([1.0, 2.0, 5.0]))).diagonal().round().tolist()
        [5.0, 2.0, 1.0]
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"flip_spectrum needs a square matrix; got shape {tuple(matrix.shape)}.")
    lam, vectors = torch.linalg.eigh(matrix.to(torch.float64))
    found: Tensor = ((vectors * lam.flip(0)) @ vectors.mT).to(matrix.dtype)
    return found


@checked(n_train=whole(2), n_test=whole(0), seed=SEED, input_shape=optional(SHAPE))
def random_labels(
    covariance: Tensor,
    n_train: int = 1000,
    n_test: int = 0,
    *,
    seed: int = 0,
    input_shape: Sequence[int] | None = None,
) -> Dataset:
    """Inputs N(0, covariance / its largest eigenvalue) with fair coin flips ±1 as targets.

    Example:
        >>> data = random_labels(torch.eye(3), n_train=10)
        >>> data.input_shape, data.task
        ((3,), 'classification')
    """
    largest = float(torch.linalg.eigvalsh(covariance.to(torch.float64))[-1])
    if largest <= 0:
        raise ValueError("random_labels needs a covariance with a positive eigenvalue; got none.")
    x = gaussian(n_train + n_test, covariance / largest, seed=seed)
    x = x if input_shape is None else x.reshape(-1, *input_shape)
    bits = torch.randint(0, 2, (len(x),), generator=torch.Generator().manual_seed(seed + 1))
    bits[:2] = torch.tensor([0, 1])  # never one class only
    y = (2.0 * bits - 1)[:, None]
    return Dataset(
        Split(x[:n_train], y[:n_train]),
        Split(x[n_train:], y[n_train:]),
        "random-labels",
        ("-1", "+1"),
        bits[:n_train],
        bits[n_train:],
    )
