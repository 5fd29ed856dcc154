"""The measured learning curve of kernel regression inside a pilot sample."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from priorscope.checks import NOT_NEGATIVE, POSITIVE, SEED, optional, whole, word_or
from priorscope.contracts import LabelledData, guarded
from priorscope.printing import printed
from priorscope.probes.curves.pilot import (
    Nested,
    Pilot,
    draw_pilot,
    fold_sizes,
    gram_of,
    nested_regression,
    prefix_sizes,
    tuned_regression,
    with_folds,
)

if TYPE_CHECKING:
    import altair as alt

__all__ = ["LearningCurve", "check_ridge", "learning_curve", "measure"]

Array = NDArray[np.float64]
_ONE_THREAD = 1000  # samples of a pilot up to which linear algebra stays on one thread


@printed
@dataclass(frozen=True)
class LearningCurve:
    """Test error against training size, measured on the pilot by training on parts of it and testing on the rest.

    ``error`` is the mean squared error over samples and outputs, ``wrong`` the share of misclassified samples (None in
    regression); ``low``/``high`` bracket the error by a bootstrap over the pilot's samples (90 %). ``ridge`` is the one used at
    each size.

    Example:
        >>> import priorscope as ps, torch
        >>> x = torch.randn(60, 3, generator=torch.Generator().manual_seed(0))
        >>> data = ps.data.from_arrays(x, x[:, :1], test_fraction=0.0)
        >>> curve = learning_curve(data, lambda a, b: a @ b.T + 0.001 * torch.eye(len(a)))
        >>> bool(curve.error[-1] < curve.error[0])
        True
    """

    sizes: NDArray[np.int64]
    error: Array
    low: Array
    high: Array
    wrong: Array | None
    wrong_low: Array | None
    wrong_high: Array | None
    pilot: int
    null_error: float
    ridge: Array
    time: float | None
    jitter: float
    seconds: float
    draws: Array = field(repr=False)
    wrong_draws: Array | None = field(repr=False)
    nested: Nested = field(repr=False)

    def table(self) -> pd.DataFrame:
        """One row per training size."""
        frame = pd.DataFrame({"n": self.sizes, "error": self.error, "low": self.low, "high": self.high})
        if self.wrong is not None:
            frame["misclassified"] = self.wrong
        return frame

    def chart(self) -> alt.TopLevelMixin:
        """Error against training size on log axes; bars are the 90 % bootstrap interval."""
        import altair as alt

        base = alt.Chart(self.table(), title="learning curve measured on the pilot").encode(
            x=alt.X("n:Q", title="training samples n").scale(type="log")
        )
        points = base.mark_point(filled=True).encode(
            y=alt.Y("error:Q", title="test error (mean squared)").scale(type="log"), tooltip=["n:Q", "error:Q"]
        )
        chart: alt.TopLevelMixin = base.mark_rule().encode(y="low:Q", y2="high:Q") + points
        return chart


def _sizes(n: int, closed_form: bool) -> NDArray[np.int64]:
    """Prefixes below half of the pilot and, where folds have a closed form, their sizes above; else prefixes throughout."""
    prefixes = prefix_sizes(n)
    if not closed_form:
        return prefixes
    folds = np.array(sorted(fold_sizes(n).values()), dtype=int)
    return np.append(prefixes[prefixes < 0.95 * folds[0]], folds)


def check_ridge(ridge: float | str, time: float | None) -> None:
    """Training to a finite time has no ridge to tune."""
    if isinstance(ridge, str) and time is not None:
        raise ValueError(
            f"a tuned ridge is for training to the end; got time = {time}. Give a number as ridge, or no time."
        )


def _regressions(
    gram: Array, pilot: Pilot, ridge: float | str, time: float | None, orderings: int, seed: int
) -> tuple[Nested, Array]:
    """Errors at all sizes, and the ridge of each."""
    sizes, y, labels = _sizes(len(pilot), time is None), pilot.targets, pilot.labels
    if isinstance(ridge, str):
        return tuned_regression(gram, y, sizes, labels=labels, seed=seed)
    turns, often = (orderings, len(pilot) // 2 - 1) if time is None else (min(orderings, 8), None)  # folds do the rest
    nested = nested_regression(
        gram, y, sizes, labels=labels, ridge=ridge, time=time, orderings=turns, often=often, seed=seed
    )
    if time is None:
        nested = with_folds(nested, gram, y, labels=labels, ridge=ridge, seed=seed)
    return nested, np.full(len(nested.sizes), ridge)


@cache
def _controller() -> ThreadpoolController:
    """The linear-algebra libraries of this process: looking them up takes as long as a small curve."""
    return ThreadpoolController()


def measure(
    gram: Array,
    pilot: Pilot,
    *,
    ridge: float | str = 0.0,
    time: float | None = None,
    orderings: int = 24,
    seed: int = 0,
    draws: int = 200,
) -> LearningCurve:
    """The curve from a kernel matrix of the pilot; see :func:`learning_curve`.

    Thousands of products of small matrices: threads of one would wait for each other longer than they work, many times so
    beside other busy processes, so small pilots are measured on one.
    """
    started = clock.perf_counter()
    n = len(pilot)
    check_ridge(ridge, time)
    with _controller().limit(limits=1 if n <= _ONE_THREAD else None, user_api="blas"):
        nested, ridges = _regressions(gram, pilot, ridge, time, orderings, seed)
    weights = np.random.default_rng(seed + 1).multinomial(n, np.full(n, 1 / n), size=draws).astype(float)
    tested = np.maximum(weights @ nested.count.T, 1e-12)
    spread = (weights @ nested.loss.T) / tested  # (draws, sizes)
    error = nested.loss.sum(1) / nested.count.sum(1)
    low, high = np.quantile(spread, [0.05, 0.95], axis=0)
    wrong = wrong_low = wrong_high = wrong_spread = None
    if nested.wrong is not None:
        wrong = nested.wrong.sum(1) / nested.count.sum(1)
        wrong_spread = (weights @ nested.wrong.T) / tested
        wrong_low, wrong_high = np.quantile(wrong_spread, [0.05, 0.95], axis=0)
    return LearningCurve(
        nested.sizes,
        error,
        low,
        high,
        wrong,
        wrong_low,
        wrong_high,
        n,
        float((pilot.targets**2).mean()),
        ridges,
        time,
        nested.jitter,
        clock.perf_counter() - started,
        spread,
        wrong_spread,
        nested,
    )


@guarded(
    pilot=optional(whole()), ridge=word_or(NOT_NEGATIVE, "tuned"), time=optional(POSITIVE), orderings=whole(), seed=SEED
)
def learning_curve(
    data: LabelledData,
    model: object,
    *,
    pilot: int | None = 400,
    kind: str = "ntk",
    ridge: float | str = 0.0,
    time: float | None = None,
    orderings: int = 24,
    seed: int = 0,
    **kernel_options: Any,
) -> LearningCurve:
    r"""Measure the error of kernel regression at many training sizes from one kernel matrix of a pilot sample.

    For each random ordering of the pilot, one Cholesky factorisation :math:`K = LL^\top` gives the predictions of *every*
    prefix: :math:`f_p(x_j) = \sum_{i<p} L_{ji}(L^{-1}y)_i`. Errors are averaged over 24 orderings (tuned by us: more change
    the curve by less than its sampling error). From half of the pilot on, cross-validation in 2 to 16 folds and
    leave-one-out, closed forms of one inverse, test every sample equally often; not where ``time`` is finite. ``model`` is an
    Architecture, an ``nn.Module`` (empirical tangent kernel), a kernel function of two batches, or a kernel matrix of the
    training split. ``time`` stops gradient flow early. ``ridge="tuned"`` takes at each size the ridge with the lowest error.

    Example:
        >>> import priorscope as ps, torch
        >>> x = torch.randn(40, 2, generator=torch.Generator().manual_seed(0))
        >>> data = ps.data.from_arrays(x, x[:, 0] * x[:, 1], test_fraction=0.0)
        >>> learning_curve(data, lambda a, b: torch.exp(-torch.cdist(a, b))).sizes[-1].item()
        39
    """
    check_ridge(ridge, time)
    drawn = draw_pilot(data, pilot, seed)
    gram = gram_of(model, data, drawn, kind=kind, **kernel_options)
    return measure(gram, drawn, ridge=ridge, time=time, orderings=orderings, seed=seed)
