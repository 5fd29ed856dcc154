"""Numbers in the floating-point type of a data set: what that type cannot hold is refused, what it rounds away is told."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from priorscope.data.arrays._array import AnyArray

__all__: list[str] = []


def as_floats(array: AnyArray, dtype: torch.dtype, what: str) -> tuple[Tensor, tuple[str, ...]]:
    """The array in ``dtype``, and a note where rounding moves a feature by more than a thousandth of its deviation.

    Example:
        >>> _, notes = as_floats(np.array([[1e9], [1e9 + 1], [1e9 + 2]]), torch.float32, "inputs")
        >>> notes
        ('1 of 1 features of the inputs lose digits in float32; pass dtype=torch.float64, or subtract an offset',)
    """
    if not dtype.is_floating_point:
        raise ValueError(f"dtype must be a floating-point type such as torch.float32; got {dtype}.")
    source = torch.from_numpy(np.array(array, order="C"))
    narrow = source.dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.float16)
    if source.numel() == 0 or source.dtype == dtype or (narrow and dtype in (torch.float32, torch.float64)):
        return source.to(dtype), ()
    cast = source.to(dtype)
    flat, rounded = source.reshape(len(source), -1), cast.reshape(len(cast), -1)
    n_lossy = 0
    for start in range(0, flat.shape[1], 1024):
        exact, near = flat[:, start : start + 1024].double(), rounded[:, start : start + 1024].double()
        over = torch.isfinite(exact) & ~torch.isfinite(near)
        if bool(over.any()):
            largest = float(exact[over].abs().max())
            raise ValueError(
                f"{what} hold {largest:.3g}, beyond the range of {_name(dtype)} (largest {torch.finfo(dtype).max:.3g}). "
                "Rescale them, or pass dtype=torch.float64."
            )
        exact, near = (torch.where(torch.isfinite(exact), v, 0.0) for v in (exact, near))
        scale = exact.abs().amax(0).clamp(min=1e-300)
        deviation = (exact / scale).std(0, correction=0)
        n_lossy += int((((near - exact) / scale).abs().amax(0) > 1e-3 * deviation).logical_and(deviation > 0).sum())
    if not n_lossy:
        return cast, ()
    note = (
        f"{n_lossy} of {flat.shape[1]} features of the {what} lose digits in {_name(dtype)}; pass dtype=torch.float64, or "
        "subtract an offset"
    )
    return cast, (note,)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
