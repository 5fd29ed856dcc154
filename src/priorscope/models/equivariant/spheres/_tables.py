"""What a transform between samples and coefficients needs, computed once per bandwidth, degree and precision."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from priorscope.models.equivariant.spheres._grid import soft_angles, soft_weights
from priorscope.models.equivariant.spheres._wigner import wigner_d

__all__ = ["Plan", "coefficients", "plan", "values"]


@dataclass(frozen=True)
class Plan:
    r"""The tables of one transform between a grid of bandwidth b and L degrees.

    A *pair* is a pair of orders (m, n) of the Fourier transform over the angles, in the order that this transform leaves them
    (``rows`` times ``columns``); a real signal has the pairs with n ≥ 0 (on the sphere m ≥ 0) alone, the others follow from
    :math:`\hat f_{-m,-n} = (-1)^{m-n} \overline{\hat f_{mn}}`. A *coefficient* is a place (l, m, n), degree by degree.
    """

    rows: tuple[int, ...]  # the orders m of the pairs
    columns: tuple[int, ...]  # and n
    table: Tensor  # (pairs, L, 2b): weighted for the analysis; (pairs, 2b, L) for the synthesis
    take: Tensor  # analysis: the (pair, l) of each coefficient; synthesis: the coefficient of each (pair, l)
    signs: Tensor | None  # (taken, 1, 2): factors of the real and imaginary parts of what is taken


def coefficients(degrees: int, *, sphere: bool, half: bool) -> list[tuple[int, int, int]]:
    """The places (l, m, n), degree by degree; those with m ≥ 0 where ``half``; n = 0 on the sphere.

    Example:
        >>> coefficients(2, sphere=True, half=False)
        [(0, 0, 0), (1, -1, 0), (1, 0, 0), (1, 1, 0)]
    """
    return [
        (l, m, n)
        for l in range(degrees)
        for m in range(0 if half else -l, l + 1)
        for n in ([0] if sphere else range(-l, l + 1))
    ]


def values(bandwidth: int, degrees: int, rows: tuple[int, ...], columns: tuple[int, ...], *, analysis: bool) -> Tensor:
    r"""Values :math:`d^l_{mn}(\beta_j)`, (pairs, L, 2b), float64; zero where l < max(\|m\|, \|n\|).

    Times the weights of the grid for the ``analysis``, else times 2l+1.

    Example:
        >>> values(2, 1, (0,), (0,), analysis=False)
        tensor([[[1., 1., 1., 1.]]], dtype=torch.float64)
    """
    _, beta = soft_angles(bandwidth)
    found = torch.zeros(len(rows), len(columns), degrees, 2 * bandwidth, dtype=torch.float64)
    for l in range(degrees):
        d = wigner_d(l, beta) * (soft_weights(bandwidth)[:, None, None] if analysis else 2 * l + 1)  # (2b, 2l+1, 2l+1)
        m = torch.tensor([i for i, order in enumerate(rows) if abs(order) <= l])
        n = torch.tensor([i for i, order in enumerate(columns) if abs(order) <= l])
        left, right = (torch.tensor([which[i] + l for i in kept]) for which, kept in ((rows, m), (columns, n)))
        found[m[:, None], n, l] = d[:, left[:, None], right].permute(1, 2, 0)
    return found.flatten(0, 1)


@lru_cache(maxsize=64)
def plan(
    bandwidth: int,
    degrees: int,
    dtype: torch.dtype,
    device: torch.device,
    *,
    sphere: bool,
    real: bool,
    half: bool,
    analysis: bool,
) -> Plan:
    """The plan of a transform; ``half`` says that the coefficients are those with m ≥ 0."""
    with torch.inference_mode(False), torch.no_grad():  # what is kept must serve gradients later
        around, ahead = _orders(bandwidth, degrees)
        rows, columns = (ahead if real else around, (0,)) if sphere else (around, ahead if real else around)
        table = values(bandwidth, degrees, rows, columns, analysis=analysis)
        if not analysis:
            table = table.mT.contiguous()
        place = {(m, n): i for i, (m, n) in enumerate((m, n) for m in rows for n in columns)}
        known = coefficients(degrees, sphere=sphere, half=half)
        if analysis:
            taken = [_from_pair(l, m, n, place, degrees) for l, m, n in known]
        else:
            index = {which: i for i, which in enumerate(known)}
            taken = [_from_coefficient(l, m, n, index) for m, n in place for l in range(degrees)]
        signs = torch.tensor([sign for _, sign in taken], dtype=dtype, device=device)[:, None] if real else None
        take = torch.tensor([i for i, _ in taken], device=device)
        return Plan(rows, columns, table.to(device, dtype), take, signs)


def _orders(bandwidth: int, degrees: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Orders in the order of a Fourier transform, and those of a real one; with the highest, of no use, where none is cut off."""
    if degrees == bandwidth:
        return (*range(bandwidth + 1), *range(1 - bandwidth, 0)), tuple(range(bandwidth + 1))
    return (*range(degrees), *range(1 - degrees, 0)), tuple(range(degrees))


def _from_pair(l: int, m: int, n: int, place: dict[tuple[int, int], int], degrees: int) -> tuple[int, tuple[int, int]]:
    """Which (pair, l) holds a coefficient; of a real signal its conjugate, whose mirror is free of that (signs of re and im)."""
    if (m, n) in place:
        return place[m, n] * degrees + l, (1, -1)
    sign = 1 - 2 * ((m - n) % 2)
    return place[-m, -n] * degrees + l, (sign, sign)


def _from_coefficient(l: int, m: int, n: int, index: dict[tuple[int, int, int], int]) -> tuple[int, tuple[int, int]]:
    """Which coefficient belongs to a (pair, l), conjugated; where there is none any one, since the table is zero there."""
    if (l, m, n) in index:
        return index[l, m, n], (1, -1)
    sign = 1 - 2 * ((m - n) % 2)
    return index.get((l, -m, -n), 0), (sign, sign)
