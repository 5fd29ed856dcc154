"""Refuses kernels that leave the numbers float64 has: infinite, not a number, or so small that their digits are gone."""

from __future__ import annotations

import torch
from torch import Tensor

from priorscope.models.kernels._covariance import Covariance

__all__ = ["LEAST", "LEAST_INPUT", "check_range", "check_scale", "narrowed"]

LEAST = 1e-290  # a variance between zero and this has lost digits, or is about to
LEAST_INPUT = 1e-145  # its square is LEAST
SMALL = 1e-30  # a variance below this that turns to zero has underflowed


def check_scale(*batches: Tensor | None) -> None:
    """Refuse inputs whose squares are no numbers, or none with all their digits."""
    for x in batches:
        if x is None:
            continue
        size = x.detach().abs().flatten(1).amax(1)
        least = torch.where(size > 0, size, 1.0).min()
        if least < LEAST_INPUT:
            raise ValueError(
                f"an input is nowhere larger than {float(least):.3g}, and the squares of such numbers underflow. "
                "Multiply the inputs by a constant."
            )
        if size.max() > 1e150:
            raise ValueError(
                f"inputs reach {float(size.max()):.3g}, and the squares of such numbers overflow. "
                "Divide the inputs by a constant."
            )


def largest(variances: Tensor) -> Tensor:
    """The largest variance of each input."""
    return variances.detach().abs().flatten(1).amax(1) if variances.ndim > 1 else variances.detach().abs()


def check_range(after: Covariance, before: Covariance, who: str) -> None:
    """Refuse what a layer gave when it is infinite or not a number, or its variances underflow."""
    for what, value in (
        ("covariance", after.cross),
        ("tangent kernel", after.ntk),
        ("variance", after.self1),
        ("variance", after.self2),
    ):
        if value is None or bool(torch.isfinite(value.detach()).all()):
            continue
        came = max(float(largest(v).max()) for v in (before.self1, before.self2))
        kind = "not a number" if bool(torch.isnan(value.detach()).any()) else "infinite"
        raise ValueError(
            f"{who} makes a {what} that is {kind} in float64 out of variances up to {came:.3g}. "
            "Divide the inputs by a constant, lower weight_variance, or put LayerNorm before it."
        )
    for variances, earlier in ((after.self1, before.self1), (after.self2, before.self2)):
        size, came_in = largest(variances), largest(earlier)
        gone = (size == 0) & (came_in > 0) & (came_in < SMALL)
        if bool((((size > 0) & (size < LEAST)) | gone).any()):
            raise ValueError(
                f"{who} makes a variance that underflows in float64 out of one of {float(came_in[came_in > 0].min()):.3g}. "
                "Multiply the inputs by a constant, or raise weight_variance or bias_variance."
            )


def narrowed(value: Tensor, dtype: torch.dtype) -> Tensor:
    """A kernel in the inputs' dtype, refused when it does not fit."""
    result = value.to(dtype)
    if dtype == value.dtype or not value.numel():
        return result
    size = float(value.detach().abs().max())
    limits = torch.finfo(dtype)
    if size > limits.max or 0 < size < limits.tiny:
        raise ValueError(
            f"the kernel's largest number is {size:.3g}, which {dtype} cannot hold. "
            "Pass the inputs in float64 (dtype=torch.float64), or scale them."
        )
    return result
