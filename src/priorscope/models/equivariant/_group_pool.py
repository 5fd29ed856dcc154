"""The mean of any kernel over a finite group, and whether one sum over the group is enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from priorscope.contracts import FiniteGroup, Shape, require
from priorscope.models.equivariant._moves import moves_named
from priorscope.models.kernels._average import Average, Move

__all__ = ["group_name", "group_pool", "is_jointly_invariant", "moves_of"]

KernelFunction = Callable[[Tensor, Tensor], Tensor]
TRIED = 16  # elements of a large group that are tried: one outside a proper subgroup is missed with probability 2^-16
CLOSE = 1e-6  # of the kernel's size; kernels that are not invariant differ by some percent
MOST = 10_000  # elements


def group_name(group: str | FiniteGroup) -> str:
    """What a group is called: the name itself, or that of the object."""
    return group if isinstance(group, str) else group.name


def moves_of(group: str | FiniteGroup, shape: Shape) -> tuple[Move, ...]:
    """The elements of a group as moves of inputs of ``shape``, the identity first.

    Example:
        >>> import priorscope as ps
        >>> len(moves_of(ps.data.groups.dihedral((1, 4, 4)), (1, 4, 4)))
        8
    """
    if isinstance(group, str):
        return moves_named(group, shape)
    advice = "Take a finite group of priorscope.data.groups, or a name such as 'p4m'."
    found = require(group, FiniteGroup, "a finite group with elements", advice)
    if tuple(found.input_shape) != tuple(shape):
        raise ValueError(
            f"the group {found.name} acts on inputs of shape {tuple(found.input_shape)}; these have shape {tuple(shape)}. Make "
            "the group for the shape of one input of your data: dataset.input_shape."
        )
    elements = list(found.elements())
    if not 1 <= len(elements) <= MOST:
        raise ValueError(f"a mean is taken over 1 to {MOST} elements; {found.name} has {len(elements)}.")
    return _checked(found.name, elements, shape)


def _probe(shape: Shape, n: int, seed: int) -> Tensor:
    return torch.randn(n, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _checked(name: str, elements: list[Move], shape: Shape) -> tuple[Move, ...]:
    """The identity brought to the front; sets that are no group, or that change the inputs' shape, are refused."""
    x = _probe(shape, 1, 0)
    orbit = [element(x) for element in elements]
    if any(y.shape != x.shape for y in orbit):
        raise ValueError(f"the elements of {name} change the shape {tuple(shape)} of inputs; a group keeps it.")
    flat = torch.stack(orbit).flatten(1)  # (|G|, numbers)
    size = float(x.abs().max())

    def place(y: Tensor) -> int | None:
        near = (flat - y.flatten()).abs().amax(1)
        best = int(near.argmin())
        return best if float(near[best]) < 1e-9 * size else None

    first = place(x)
    if first is None:
        raise ValueError(f"{name} has no identity among its {len(elements)} elements, so it is no group.")
    source = torch.Generator().manual_seed(1)
    for _ in range(TRIED):
        a, b = torch.randint(len(elements), (2,), generator=source).tolist()
        if place(elements[a](orbit[b])) is None:
            raise ValueError(
                f"{name} is no group: the product of two of its {len(elements)} elements is not among them. A mean over it would "
                "not be invariant; list all products."
            )
    return (elements[first], *elements[:first], *elements[first + 1 :])


def is_jointly_invariant(kernel: KernelFunction, moves: Sequence[Move], shape: Shape) -> bool:
    """Whether k(g x, g x') = k(x, x'), tried on four random inputs in float64 and up to :data:`TRIED` elements.

    Elements for which it holds form a subgroup, so that a few random ones decide.

    Example:
        >>> inner = lambda a, b: a.flatten(1) @ b.flatten(1).T
        >>> is_jointly_invariant(inner, moves_named("p4", (1, 3, 3)), (1, 3, 3))
        True
        >>> weighted = lambda a, b: (a * torch.arange(3.0)).flatten(1) @ b.flatten(1).T
        >>> is_jointly_invariant(weighted, moves_named("mirror", (1, 3)), (1, 3))
        False
    """
    a, b = _probe(shape, 2, 2), _probe(shape, 2, 3)
    plain = kernel(a, b)
    tried = list(moves[1:])
    if len(tried) > TRIED:
        order = torch.randperm(len(tried), generator=torch.Generator().manual_seed(4))[:TRIED]
        tried = [tried[int(i)] for i in order]
    bound = CLOSE * float(plain.abs().max())
    return all(float((kernel(g(a), g(b)) - plain).abs().max()) <= bound for g in tried)


def group_pool(kernel: KernelFunction, x1: Tensor, x2: Tensor | None = None, *, group: str | FiniteGroup) -> Tensor:
    r"""The mean of a kernel function over a finite group, between two batches: a kernel of invariant functions.

    .. math:: k_G(x, x') = \frac1{|G|^2}\sum_{g, g' \in G} k(g x, g' x') = \frac1{|G|}\sum_{g\in G} k(x, g x')

    Haasdonk & Burkhardt (2007); the second form where :math:`k(gx, gx') = k(x, x')`, which is tried on random inputs, and |G|
    times cheaper. ``kernel(a, b)`` gives the matrix between two batches; ``group`` is one of ``priorscope.data.groups``, anything
    with ``name``, ``input_shape`` and ``elements()``, or a name: "mirror", "flips", "p2", "p4", "p4m", "shifts", "sign".

    Holds: :math:`k_G(gx, x') = k_G(x, x')` for every g; symmetric and positive semidefinite where k is.

    Example:
        >>> x = torch.tensor([[[1.0, 2.0]], [[2.0, 1.0]]])
        >>> group_pool(lambda a, b: a.flatten(1) @ b.flatten(1).T, x, group="mirror").tolist()  # (5 + 4) / 2 by hand
        [[4.5, 4.5], [4.5, 4.5]]
    """
    shape = tuple(x1.shape[1:])
    moves = moves_of(group, shape)
    second = x1 if x2 is None else x2
    average = Average(group_name(group), moves, not is_jointly_invariant(kernel, moves, shape))
    total = sum(kernel(left(x1), right(second)) for left in average.left for right in moves)
    assert isinstance(total, Tensor)
    found = total / average.times
    return (found + found.mT) / 2 if x2 is None else found
