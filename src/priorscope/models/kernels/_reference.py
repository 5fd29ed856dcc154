"""The readable path: covariances of whole batches, layer by layer, in torch on any device, differentiable in the inputs.

It computes in float64 where the device has it, whatever the inputs' dtype. In float32 a correlation near one is known to
6e-8 only, and an angle near zero then to 3e-4, since arccos is like a square root there: no formula after the rounding brings
the digits back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._kernel import Kernel, check_kinds
from priorscope.models.kernels._need import Need
from priorscope.models.kernels._range import check_range, check_scale, narrowed
from priorscope.models.layers._flatten import Flatten

if TYPE_CHECKING:
    from priorscope.models.architectures._architecture import Architecture

__all__ = ["check_inputs", "reference_diagonal", "reference_kernel"]


def check_inputs(x: Tensor, name: str = "x1") -> None:
    """A batch of finite real numbers with a channel axis."""
    if not isinstance(x, Tensor):
        raise TypeError(f"kernel needs {name} as a torch tensor; got {type(x).__name__}. Use torch.as_tensor.")
    if x.ndim not in (2, 3, 4):
        raise ValueError(
            f"kernel needs {name} of shape (n, features), (n, c, length) or (n, c, h, w); got {tuple(x.shape)}."
        )
    if not x.is_floating_point():
        raise TypeError(f"kernel needs {name} in floating point; got {x.dtype}. Use {name}.float() or .double().")
    if not torch.isfinite(x.detach()).all():
        raise ValueError(f"{name} holds NaN or infinite values; clean or impute the data first.")


def _wide(x: Tensor) -> Tensor:
    """Cast to float64, unless the device (Apple's) has none."""
    return x if x.device.type == "mps" else x.double()


def _propagate(
    arch: Architecture, x1: Tensor, x2: Tensor | None, kinds: tuple[str, ...], paired: bool = False
) -> Covariance:
    """Check the inputs and hand their covariance through all layers, watching its range."""
    check_inputs(x1, "x1")
    if x2 is not None:
        check_inputs(x2, "x2")
        if x1.shape[1:] != x2.shape[1:]:
            raise ValueError(
                f"kernel needs two batches of the same input shape; got {tuple(x1.shape[1:])} and {tuple(x2.shape[1:])}."
            )
    arch.check_input_shape(tuple(x1.shape[1:]))
    if x1.ndim > 2 and arch.layers and type(arch.layers[0]) is Flatten:
        x1, x2 = x1.flatten(1), None if x2 is None else x2.flatten(1)
    x1, x2 = _wide(x1), None if x2 is None else _wide(x2)
    needs = arch.body.needs(Need.NONE)
    cov = Covariance.of_inputs(x1, x2, needs[0], ntk="ntk" in kinds, paired=paired)
    check_scale(x1, x2)
    for at, (layer, need) in enumerate(zip(arch.layers, needs[1:]), 1):
        after = layer.propagate(cov, need)
        check_range(after, cov, f"layer {at} of {len(arch.layers)} of {arch.name}, {layer!r},")
        cov = after
    return cov


def reference_kernel(
    arch: Architecture, x1: Tensor, x2: Tensor | None = None, kinds: tuple[str, ...] = ("nngp", "ntk")
) -> Kernel:
    """NNGP and NTK of ``arch`` between two batches, all pairs at once."""
    kinds = check_kinds(kinds)
    return _kernel(_propagate(arch, x1, x2, kinds), kinds, x1.dtype)


def reference_diagonal(arch: Architecture, x: Tensor, kinds: tuple[str, ...] = ("nngp", "ntk")) -> Kernel:
    """Kernels of each input with itself: vectors ``(n,)``."""
    kinds = check_kinds(kinds)
    return _kernel(_propagate(arch, x, None, kinds, paired=True), kinds, x.dtype)


def _kernel(cov: Covariance, kinds: tuple[str, ...], dtype: torch.dtype) -> Kernel:
    """What was asked for, in the inputs' dtype."""
    values = {"nngp": cov.cross, "ntk": cov.ntk}
    return Kernel(**{kind: narrowed(value, dtype) for kind in kinds if (value := values[kind]) is not None})
