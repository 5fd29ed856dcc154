"""Assertions and dense oracles for people who test their own models with priorscope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from priorscope.checks import NOT_NEGATIVE, POSITIVE, SEED, checked, no_options, whole
from priorscope.data.groups import Group
from priorscope.models import group_moves
from priorscope.probes.symmetries import moving_elements, symmetry
from priorscope.system import System

__all__ = ["assert_equivariant", "assert_invariant", "dense_flow", "dense_kernel_regression", "dense_ntk"]

Vector: TypeAlias = NDArray[np.float64]


def _as_it_is(x: Tensor) -> Tensor:
    return x


@checked(relative=NOT_NEGATIVE)
@torch.no_grad()
def assert_equivariant(
    function: Callable[[Tensor], Tensor],
    inputs: Tensor,
    act_input: Callable[[Tensor], Tensor] | str | Group,
    act_output: Callable[[Tensor], Tensor] | str = "same",
    *,
    relative: float = 1e-4,
) -> None:
    r"""Assert :math:`f(g\,x) = g\,f(x)` on a batch, and that the batch can tell: g must move inputs or outputs.

    ``act_input`` is one move, or a finite group (a name such as "p4", or one of ``priorscope.data.groups``), whose elements are
    all tried (sixteen of larger groups); ``act_output`` is a move too, "same" (outputs move as inputs do) or "invariant".
    ``relative`` bounds the largest deviation by the root mean square of the outputs.

    Example:
        >>> x = torch.randn(4, 1, 8, generator=torch.Generator().manual_seed(0))
        >>> conv = torch.nn.Conv1d(1, 2, 3, padding=1, padding_mode="circular")
        >>> assert_equivariant(conv, x, lambda v: v.roll(1, -1), lambda v: v.roll(1, -1))
        >>> assert_equivariant(conv, x, "shifts")
        >>> assert_equivariant(torch.nn.Flatten(), x, lambda v: v.roll(1, -1), lambda v: v)
        Traceback (most recent call last):
        ...
        AssertionError: not equivariant: f(g x) and g f(x) differ by up to ...
    """
    if isinstance(act_input, str | Group):
        if isinstance(act_input, str):
            moves: Sequence[Callable[[Tensor], Tensor]] = group_moves(act_input, tuple(inputs.shape[1:]))[1:][:16]
        else:
            moves = moving_elements(act_input, 16)
        for move in moves:
            assert_equivariant(function, inputs, move, act_output, relative=relative)
        return
    if isinstance(act_output, str):
        if act_output not in ("same", "invariant"):
            raise ValueError(f"act_output is a function, 'same' or 'invariant'; got {act_output!r}.")
        act_output = act_input if act_output == "same" else _as_it_is
    moved = act_input(inputs)
    if moved.shape == inputs.shape and torch.equal(moved, inputs):
        raise ValueError(
            "the action leaves all of these inputs as they are, so equivariance cannot be seen; use others."
        )
    left, right = function(moved), act_output(function(inputs))
    if left.shape != right.shape:
        raise AssertionError(
            f"f(g x) has shape {tuple(left.shape)} but g f(x) has {tuple(right.shape)}; check act_output."
        )
    scale = float(right.square().mean().sqrt())
    worst = float((left - right).abs().max())
    if not worst <= relative * scale:
        raise AssertionError(
            f"not equivariant: f(g x) and g f(x) differ by up to {worst:.3g}, {worst / max(scale, 1e-300):.3g} of the outputs' "
            f"root mean square; allowed is {relative:g}."
        )


@checked(n_elements=whole(), tolerance=NOT_NEGATIVE, seed=SEED)
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
    no_options("assert_invariant", options, "options go to systems only")
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


def dense_ntk(network: torch.nn.Module, x1: Tensor, x2: Tensor | None = None) -> Tensor:
    r"""Empirical tangent kernel of the first output by explicit Jacobians, :math:`J_1 J_2^T` (n1, n2): slow and sure.

    Example:
        >>> dense_ntk(torch.nn.Linear(2, 1, bias=False), torch.eye(2)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    params = {name: p.detach() for name, p in network.named_parameters() if p.requires_grad}

    def jacobian(x: Tensor) -> Tensor:
        def outputs(p: dict[str, Tensor]) -> Tensor:
            found: Tensor = torch.func.functional_call(network, p, (x,)).reshape(len(x), -1)[:, 0]
            return found

        return torch.cat([j.reshape(len(x), -1) for j in torch.func.jacrev(outputs)(params).values()], 1)

    J1 = jacobian(x1)
    return J1 @ (J1 if x2 is None else jacobian(x2)).mT


@checked(ridge=NOT_NEGATIVE)
def dense_kernel_regression(train: Tensor, cross: Tensor, targets: Tensor, ridge: float = 0.0) -> Tensor:
    r""":math:`K(x,X)(K + r)^{-1}y` by a dense solve in float64.

    Example:
        >>> dense_kernel_regression(torch.eye(2), torch.eye(2), torch.tensor([[1.0], [3.0]]), ridge=1.0).flatten().tolist()
        [0.5, 1.5]
    """
    K = train.double() + ridge * torch.eye(len(train), dtype=torch.float64)
    found: Tensor = cross.double() @ torch.linalg.solve(K, targets.double())
    return found


@checked(time=NOT_NEGATIVE, rtol=POSITIVE, atol=POSITIVE)
def dense_flow(
    velocity: Callable[[Vector], Vector], start: Vector, time: float, *, rtol: float = 1e-8, atol: float = 1e-10
) -> Vector:
    r"""Solution at ``time`` of :math:`\dot w = v(w)` by scipy's adaptive Runge-Kutta, on numpy vectors.

    Example:
        >>> round(float(dense_flow(lambda w: -w, np.ones(1), 1.0)[0]), 6)
        0.367879
    """
    from scipy.integrate import solve_ivp

    found: Vector = solve_ivp(lambda _, w: velocity(w), (0.0, time), start, rtol=rtol, atol=atol).y[:, -1]
    return found
