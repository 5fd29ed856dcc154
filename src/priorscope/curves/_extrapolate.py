"""The error of one predictor at more samples than were measured."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from priorscope.checks import FRACTION, checked
from priorscope.curves._cautions import cautions_of
from priorscope.curves._points import read_points
from priorscope.curves._posterior import posterior_of
from priorscope.curves._prior import ANY, learnt_prior
from priorscope.curves._result import Extrapolation, interval_at

__all__ = ["KINDS", "extrapolate"]

KINDS = ("linear", "tree", "kernel", "neighbours", "network")
"""Kinds of predictors that have a prior of their own.

Example:
    >>> "tree" in KINDS
    True
"""


@checked(level=FRACTION)
def extrapolate(
    sizes: ArrayLike,
    errors: ArrayLike,
    *,
    to: float,
    tests: ArrayLike | None = None,
    kind: str | None = None,
    errors_se: ArrayLike | None = None,
    repeats: float = 1.0,
    level: float = 0.9,
) -> Extrapolation:
    r"""Extrapolate measured errors along :math:`e(n) = c + a n^{-\alpha}` with what thousands of measured curves did.

    ``sizes`` are training samples, ``errors`` the test errors there: shares of mistakes where ``tests`` says how many rows are
    behind each (one number, or one per size; the same rows at all sizes), else any loss above zero, with its standard errors
    ``errors_se`` where they are known. ``repeats`` is the number of trainings whose mean each error is. ``kind`` is one of
    ``linear``, ``tree``, ``kernel``, ``neighbours``, ``network`` or None; it chooses the prior of floor, exponent and scatter,
    which is learnt from public curves (the data file ``prior.json`` says from which). The form of the curve is that of
    Cortes et al. (1994, NIPS 6).

    Example:
        >>> found = ps.extrapolate([1000, 5000, 25000], [0.42, 0.23, 0.13], to=100_000, tests=10_000, kind="network")
        >>> 0 < found.estimate.low < found.estimate.value < 0.13
        True
        >>> found.needed(0.05).low > 25_000
        True
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"extrapolate knows the kinds {', '.join(KINDS)}, or None for any other; got {kind!r}.")
    prior = learnt_prior()
    points = read_points(sizes, errors, tests=tests, errors_se=errors_se, repeats=repeats, shared=prior.shared)
    belief = prior.belief(kind, points.last, None if tests is None else float(points.error[-1]))
    posterior = posterior_of(points, belief, prior)
    scatter = float(np.exp(prior.kinds[kind or ANY]["scatter"] @ np.log(prior.scatters)))
    mistakes = None
    if tests is not None:
        rows = np.broadcast_to(np.asarray(tests, dtype=float), points.sizes.shape)
        last = int(np.argmax(np.asarray(sizes, dtype=float)))
        mistakes = float(rows[last] * np.asarray(errors, dtype=float)[last])
    elif not np.all(np.asarray(errors, dtype=float) > 0):
        mistakes = 0.0
    estimate = interval_at(posterior, float(to), level, tests is not None)
    order = np.argsort(np.asarray(sizes, dtype=float), kind="stable")
    return Extrapolation(
        estimate,
        float(to),
        level,
        points.sizes,
        np.asarray(errors, dtype=float)[order],
        kind,
        tests is not None,
        cautions_of(points, float(to), scatter, mistakes, tests is not None),
        posterior,
    )
