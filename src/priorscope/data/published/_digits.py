"""The digits bundled with scikit-learn: 1,797 images of 8 × 8 pixels, no download."""

from __future__ import annotations

import torch

from priorscope.checks import SEED, checked, number
from priorscope.data._dataset import Dataset
from priorscope.data.arrays._from_arrays import from_arrays

__all__ = ["digits"]


@checked(test_fraction=number(least=0, below=1), seed=SEED)
def digits(
    classes: str = "classes",
    *,
    test_fraction: float = 0.2,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """Handwritten digits (1, 8, 8), pixels scaled to [0, 1]; ``classes`` is a label scheme.

    Source: UCI "Optical Recognition of Handwritten Digits", test part, as bundled with scikit-learn.

    Example:
        >>> data = digits("parity")
        >>> data.input_shape, data.n_outputs, len(data.train) + len(data.test)
        ((1, 8, 8), 1, 1797)
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return from_arrays(
        bunch.images[:, None] / 16.0,
        bunch.target,
        test_fraction=test_fraction,
        seed=seed,
        classes=classes,
        class_names=tuple(str(i) for i in range(10)),
        name="digits",
        dtype=dtype,
    )
