"""The symmetry of a system or a function as a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from priorscope.data.groups import Group
from priorscope.probes.symmetries._elements import moving_elements
from priorscope.probes.symmetries._symmetry import symmetry
from priorscope.system import System

__all__ = ["assert_invariant"]


def assert_invariant(
    subject: System | Callable[[Tensor], Tensor],
    group: Group,
    *,
    inputs: Tensor | None = None,
    n_elements: int = 3,
    tolerance: float = 1e-5,
    seed: int = 0,
    **options: Any,
) -> None:
    """Fails when a system is not invariant under a group, or a function f does not satisfy f(g x) = f(x).

    A :class:`~priorscope.System` is tested as :func:`priorscope.probes.symmetry` does (``options`` go there). Anything else
    is called on ``inputs`` and on their transforms; differences are relative to the spread of the outputs.

    Example:
        >>> import torch, priorscope as ps
        >>> net = ps.models.gap(depth=1).network((1, 4, 4), width=8)
        >>> x = torch.randn(5, 1, 4, 4)
        >>> ps.testing.assert_invariant(net, ps.data.groups.translations((1, 4, 4)), inputs=x)
        >>> ps.testing.assert_invariant(net, ps.data.groups.permutation((1, 4, 4)), inputs=x)
        Traceback (most recent call last):
        ...
        AssertionError: not invariant under P(cd): ...
    """
    if isinstance(subject, System):
        found = symmetry(subject, group, n_elements=n_elements, tolerance=tolerance, seed=seed, **options)
        if not found.invariant:
            p = "" if found.p_value is None else f", p = {found.p_value:.3g}"
            raise AssertionError(
                f"not invariant under {group.name}: {found.test} test, change {found.change:.3g}{p}. {found.note}".rstrip()
            )
        return
    if inputs is None:
        raise ValueError("assert_invariant of a function needs inputs=, a batch (n, *input_shape) to call it on.")
    with torch.no_grad():
        plain = subject(inputs)
        spread = float((plain - plain.mean(0)).square().mean().sqrt())
        for g in moving_elements(group, n_elements, seed):
            change = float((subject(g(inputs)) - plain).abs().max())
            if change > tolerance * max(spread, float(torch.finfo(plain.dtype).tiny)) + 1e-6 * float(plain.abs().max()):
                raise AssertionError(
                    f"not invariant under {group.name}: outputs change by {change:.3g}, their spread is {spread:.3g}."
                )
