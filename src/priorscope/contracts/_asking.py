"""What is asked of a model behind the door: its kernel matrices, its settled form, its name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar, cast

from torch import Tensor

from priorscope.contracts._models import KernelModel

__all__ = ["kernel_matrices", "kernel_matrix", "name_of", "settled"]

Settling = TypeVar("Settling", bound=KernelModel)


def kernel_matrix(model: KernelModel, x1: Tensor, x2: Tensor | None = None, kind: str = "ntk") -> Tensor:
    """One kernel of a model between two batches as a tensor.

    Example:
        >>> import torch, priorscope as ps
        >>> kernel_matrix(ps.models.fcn(1), torch.eye(3)).shape
        torch.Size([3, 3])
    """
    return kernel_matrices(model, x1, x2, (kind,))[kind]


def kernel_matrices(
    model: KernelModel, x1: Tensor, x2: Tensor | None = None, kinds: Iterable[str] = ("nngp", "ntk")
) -> dict[str, Tensor]:
    """Kernels of a model between two batches by their names, from one call; what is no such matrix is refused.

    Example:
        >>> import torch, priorscope as ps
        >>> sorted(kernel_matrices(ps.models.fcn(1), torch.eye(3)))
        ['nngp', 'ntk']
    """
    kinds = tuple(kinds)
    for kind in kinds:
        if kind not in ("nngp", "ntk"):
            raise ValueError(f"kind must be 'ntk' or 'nngp'; got {kind!r}.")
    pair = model.kernel(x1, x2, kinds=kinds)
    found = {kind: getattr(pair, kind, None) for kind in kinds}
    wanted = (len(x1), len(x1 if x2 is None else x2))
    for kind, matrix in found.items():
        who = f"{type(model).__name__}.kernel"
        if matrix is None:
            raise TypeError(
                f"wanted {who}(x1, x2) to give an object with {kind}, a matrix (n1, n2); got {type(pair).__name__} without it."
            )
        if tuple(getattr(matrix, "shape", ())) != wanted:
            raise ValueError(
                f"wanted {who}(x1, x2).{kind} of shape {wanted}; got {tuple(getattr(matrix, 'shape', ()))}."
            )
    return cast(dict[str, Tensor], found)


def settled(model: Settling, inputs: Tensor) -> Settling:
    """The model with all it takes from the training inputs fixed, by its method ``settled``; itself where it has none.

    A kernel whose bandwidth is the median distance is another kernel on other inputs: whoever fits settles it first.

    Example:
        >>> import torch, priorscope as ps
        >>> settled(ps.models.laplace(), torch.tensor([[0.0], [1.0], [5.0]])).bandwidth
        4.0
    """
    settle = getattr(model, "settled", None)
    return cast(Settling, settle(inputs)) if callable(settle) else model


def name_of(thing: object) -> str:
    """What to call a model in words: its ``name``, a function's own name, else the name of its class.

    Example:
        >>> from torch import nn
        >>> import priorscope as ps
        >>> name_of(ps.models.fcn(2)), name_of(nn.Linear(2, 1))
        ('fcn', 'Linear')
    """
    for attribute in ("name", "__name__"):
        found = getattr(thing, attribute, None)
        if isinstance(found, str) and found and found != "<lambda>":
            return found
    return type(thing).__name__
