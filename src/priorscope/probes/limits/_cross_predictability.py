"""How well one function of a family predicts another: what decides whether gradient descent can learn the family."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from priorscope.checks import SEED, check, optional, whole
from priorscope.contracts import guarded
from priorscope.statistics import Interval, seed_interval

__all__ = ["cross_predictability", "monomial_cross_predictability", "sampled_cross_predictability"]

Array = NDArray[np.float64]
Function = Callable[[Tensor], Tensor]


def _law(weights: ArrayLike | None, n: int, name: str) -> Array:
    if weights is None:
        return np.full(n, 1 / n)
    law = np.asarray(weights, dtype=np.float64)
    if law.shape != (n,) or (law < 0).any() or not np.isclose(law.sum(), 1, rtol=0, atol=1e-9):
        raise ValueError(
            f"cross_predictability needs {name} of {n} probabilities that sum to 1; got shape {law.shape}."
        )
    return law


@guarded()
def cross_predictability(
    values: ArrayLike, *, functions: ArrayLike | None = None, inputs: ArrayLike | None = None
) -> float:
    r"""Cross-predictability of a family that can be listed: ``values[f, x]`` is function f at input x.

    .. math:: \mathrm{CP} = \mathbb E_{F,F'}\big(\mathbb E_X F(X) F'(X)\big)^2

    Abbe & Sandon, *Universality and limitations of deep learning* (2018), the definition on the slide
    "cross-predictability". ``functions`` and ``inputs`` are the probabilities of either, equal unless given. 1 means
    that one function tells all about the others; below 1/poly(n), noisy gradient descent on a network of polynomial
    size cannot learn the family.

    Holds: for orthonormal families of D equally likely functions, 1/D.

    Example:
        >>> x = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])
        >>> cross_predictability(np.stack([x[:, 0] * x[:, 1], x[:, 1] * x[:, 2], x[:, 0] * x[:, 2]]))  # one in three
        0.3333333333333333
    """
    if np.asarray(values).dtype == bool:
        raise ValueError(
            "cross_predictability needs the values of functions, -1 and 1 for yes and no; got True and False."
        )
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape or not np.isfinite(table).all():
        raise ValueError(f"cross_predictability needs finite values (functions, inputs); got shape {table.shape}.")
    p, q = _law(functions, len(table), "functions"), _law(inputs, table.shape[1], "inputs")
    if len(table) <= table.shape[1]:
        products = (table * q) @ table.T  # (functions, functions)
        return float(p @ products**2 @ p)
    products = (table.T * p) @ table  # the same expectation with functions and inputs exchanged
    return float(q @ products**2 @ q)


@guarded(n=whole(), degree=optional(whole(0)))
def monomial_cross_predictability(n: int, degree: int | None = None) -> float:
    r"""The closed form for uniform inputs: :math:`2^{-n}` for all parities, :math:`1/\binom n k` for products of ``degree`` bits.

    Abbe & Sandon (2018): both families are orthonormal.

    Example:
        >>> monomial_cross_predictability(10), round(monomial_cross_predictability(10, 2), 4)
        (0.0009765625, 0.0222)
    """
    check("monomial_cross_predictability", "n", n, whole(1))
    check("monomial_cross_predictability", "degree", degree, optional(whole(0, most=n)))
    return 2.0**-n if degree is None else 1 / math.comb(n, degree)


@guarded(pairs=whole(2), batch=whole(), seed=SEED)
def sampled_cross_predictability(
    function: Callable[[int], Function],
    inputs: Callable[[int, int], Tensor],
    *,
    pairs: int = 400,
    batch: int = 1000,
    seed: int = 0,
) -> Interval:
    """Cross-predictability of a family that can only be drawn: ``function(seed)`` gives one, ``inputs(seed, n)`` gives n inputs.

    Each pair of functions is compared on two independent batches, whose means are multiplied: squaring one mean would add
    1/batch. Unbiased, so it may come out below zero where the truth is small; the interval is Student's t over pairs.

    Example:
        >>> import torch
        >>> def bit(seed):
        ...     k = seed % 4
        ...     return lambda x: x[:, k]
        >>> def signs(seed, n):
        ...     return torch.randint(2, (n, 4), generator=torch.Generator().manual_seed(seed)).double() * 2 - 1
        >>> sampled_cross_predictability(bit, signs).contains(0.25)
        True
    """
    check("sampled_cross_predictability", "pairs", pairs, whole(2))
    check("sampled_cross_predictability", "batch", batch, whole(2))
    check("sampled_cross_predictability", "seed", seed, SEED)
    seeds = np.random.default_rng(seed).integers(2**31, size=(pairs, 4))
    found = []
    for first, second, one, two in seeds.tolist():
        f, g = function(first), function(second)
        means = []
        for draw in (one, two):
            x = inputs(draw, batch)
            a, b = f(x).double().flatten(), g(x).double().flatten()
            if len(a) != batch or len(b) != batch:
                raise ValueError(f"a function of the family must give one value per input; got {len(a)} for {batch}.")
            means.append(float((a * b).mean()))
        found.append(means[0] * means[1])
    if not np.isfinite(found).all():
        raise ValueError("a function of the family gave values that are not finite.")
    return seed_interval(found)
