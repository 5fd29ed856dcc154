"""Kernel regression that learns features: a fit, its average gradient outer product, and a fit in the metric of that."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from priorscope.checks import NOT_NEGATIVE, POSITIVE, Rule, checked, number, optional, whole, word_or
from priorscope.contracts import FeatureKernel, Needs, Samples, kernel_matrix, require, settled
from priorscope.inference._check import check_data, check_depends
from priorscope.inference._fitted import Fitted, Trajectory
from priorscope.inference.kernels._feature_map import FeatureSetting
from priorscope.inference.kernels._feature_plan import FeaturePlan, FeatureStart, Learning
from priorscope.inference.kernels._feature_race import race_features
from priorscope.inference.kernels._feature_search import plan_features
from priorscope.inference.ridge import Landmarks, RidgeSolution, mean_eigenvalue, solved

__all__ = ["FeatureMachine", "FittedFeatures"]

Array = NDArray[np.float64]
MOST = 4000  # rows from which features are learnt
TOGETHER = 1500  # rows of one fit where features go on from those of a race
NUMBERS = 2_000_000  # of the kernel with the landmarks that are computed at once
_CHOICE = Rule("True, False or 'auto' as {name}", lambda v: isinstance(v, bool) or (isinstance(v, str) and v == "auto"))

_SHARE = Rule(
    "a number 0 < {name} <= 1, or 'auto'",
    lambda v: v == "auto" if isinstance(v, str) else v == 1 or number(above=0, below=1).accepts(v),
)


@dataclass(eq=False)
class FittedFeatures(Fitted):
    r"""A kernel predictor :math:`f(x) = b + \sum_j K(Ax, Az_j)\,c_j` with the features it learnt.

    ``moment`` is :math:`M = E[\nabla f\nabla f^\top]` of the last fit before the metric was fed back, over rows and outputs
    (of patches for convolutional kernels), or of the only fit where no round helped; ``plan`` tells what was chosen (None
    where all was given).

    Example:
        >>> import priorscope as ps
        >>> x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
        >>> found = ps.inference.FeatureMachine().fit(ps.models.laplace(), ps.data.from_arrays(x, x[:, 0] ** 2))
        >>> int(found.importances.argmax())
        0
    """

    model: FeatureKernel
    kind: str
    anchors: Tensor = field(repr=False)
    coefficients: Array = field(repr=False)
    offset: Array = field(repr=False)
    moment: Tensor = field(repr=False)
    setting: FeatureSetting
    rounds: int
    ridge: float
    trajectory: Trajectory = field(repr=False)
    seconds: float = 0.0
    plan: FeaturePlan | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    def predict(self, inputs: Tensor) -> Tensor:
        """Predictions (n, outputs)."""
        parts = [
            np.asarray(kernel_matrix(self.model, part, self.anchors, self.kind), dtype=np.float64) @ self.coefficients
            for part in inputs.to(self.anchors.dtype).split(_block(len(self.anchors)))
        ]
        return torch.from_numpy(np.concatenate(parts) + self.offset).to(inputs.dtype)

    def gradients(self, inputs: Tensor) -> Tensor:
        """Gradients (n, outputs, *input_shape) of the predictor, in float64."""
        c = torch.from_numpy(self.coefficients)
        return self.model.expansion_gradients(inputs.to(self.anchors.dtype), self.anchors, c, kind=self.kind)

    @property
    def importances(self) -> Tensor:
        """Diagonal of M over its trace: how much of the predictor's slope each input has."""
        own = self.moment.diagonal().clamp(min=0.0)
        return own / own.sum().clamp(min=1e-300)


@checked(
    rounds=whole(0),
    power=word_or(POSITIVE, "auto"),
    diagonal=_CHOICE,
    bandwidth=word_or(POSITIVE, "auto"),
    ridge=word_or(NOT_NEGATIVE, "auto"),
    screen=whole(20),
    folds=whole(2),
    landmarks=optional(whole(2)),
    share=_SHARE,
)
@dataclass(frozen=True)
class FeatureMachine:
    r"""Kernel regression alternated with the average gradient outer product: a kernel machine that learns features.

    From :math:`A_0 = 1` on, fit :math:`f_t(x) = b + K(A_tx, A_tX)\,c_t`, take :math:`M_t = E[\nabla f_t\nabla f_t^\top]` over the
    training rows and outputs, and set :math:`A_{t+1} \propto M_t^s` (Radhakrishnan et al. 2024, Science 383, 1461, with s =
    ½; arXiv 2212.13881). Kernels of the distance, NTK and NNGP of fully connected networks see whole inputs
    through A, convolutional ones their patches (Beaglehole et al. 2023, arXiv 2309.00570).

    What is "auto", and the number of rounds up to ``rounds``, is chosen by left-out rows that no M has seen. Up to ``screen``
    rows that is closed-form leave-one-out, each row under an M that was learnt without its fold (of ``folds``). With more rows
    settings race: each learns from 500 rows (two thirds of them where there are fewer), 400 others judge, and what is surely
    worse drops out; the last M is then learnt anew from all rows. Nothing is lost where features do not help: zero rounds are
    kernel regression.

    ``ridge`` is in units of the mean eigenvalue of the centred kernel, ``bandwidth`` a factor on the kernel's own; ``landmarks``
    (None: all rows up to 5,000, then 2,000) carry the solution by Nyström's method. ``share`` of the rows (up to 4,000) are used
    in rounds before the last; "auto" is all of them where settings are given, and after a race for the last M only, averaged
    over fits to up to 1,500 rows each: a tenth of the time at hardly more error.

    Example:
        >>> import priorscope as ps
        >>> x = torch.randn(200, 6, generator=torch.Generator().manual_seed(0))
        >>> data = ps.data.from_arrays(x, torch.sin(3 * x[:, 0]), test_fraction=0.5)
        >>> plain, learnt = (ps.System(data, ps.models.laplace(), FeatureMachine(rounds=r)).run().test_error for r in (0, 4))
        >>> learnt < 0.5 * plain
        True
    """

    kind: str = "ntk"
    rounds: int = 4
    power: float | str = "auto"
    diagonal: bool | str = "auto"
    bandwidth: float | str = "auto"
    ridge: float | str = "auto"
    screen: int = 400
    folds: int = 3
    landmarks: int | None = None
    share: float | str = "auto"
    needs: ClassVar[Needs] = "kernel"

    def __post_init__(self) -> None:
        if self.kind not in ("ntk", "nngp"):
            raise ValueError(f"kind must be 'ntk' or 'nngp'; got {self.kind!r}.")

    @property
    def chooses(self) -> bool:
        """Whether anything is left to leave-one-out."""
        return any(isinstance(v, str) for v in (self.power, self.diagonal, self.bandwidth, self.ridge))

    def fit(
        self,
        model: FeatureKernel,
        data: Samples,
        seed: int = 0,
        *,
        weights: NDArray[np.float64] | None = None,
        blocks: NDArray[np.int64] | None = None,
    ) -> FittedFeatures:
        """Choose what is not given, and learn; ``weights`` (n,) of the samples, ``blocks`` (n,) of those left out together.

        The seed draws rows, folds and landmarks.
        """
        started = clock.perf_counter()
        x, y = check_data(data)
        model = require(
            model,
            FeatureKernel,
            "a model whose kernel can be differentiated (.expansion_gradients) and mapped (.mapped)",
            "Use an Architecture or a kernel of the distance.",
        )
        n = len(x)
        w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        model = settled(model, x)
        learning = Learning(model, self.kind, x, y.double().numpy(), w, blocks)
        plan = self._plan(learning, seed) if self.chooses else None
        setting = self._setting(plan)
        rounds = self.rounds if plan is None else plan.rounds
        ridges = self._ridges(plan, rounds)
        count = self.landmarks if self.landmarks is not None else (n if n <= 5000 else 2000)
        order = np.random.default_rng([seed, 12]).permutation(n)
        z = learning if count >= n else learning.part(np.sort(order[:count]))
        some = min(n if isinstance(self.share, str) else max(2, math.ceil(self.share * n)), MOST)
        seen = learning if some >= n else learning.part(np.sort(order[:some]))
        now, errors = learning.mapped(None, setting), []
        check_depends(torch.from_numpy(learning.part(np.arange(min(n, 50))).gram(now)))
        moment: Tensor | None = None
        start = plan.start if plan is not None and isinstance(self.share, str) else None
        if start is not None:
            moment, loss = _continued(learning, start, ridges[rounds - 1], order)
            errors.append(loss)
            now = learning.mapped(moment, setting)
        for t in range(rounds if start is None else 0):
            solution, loss = _solve(seen, seen, now, ridges[t])
            errors.append(loss)
            moment = now.feature_moment(seen.x, seen.x, torch.from_numpy(solution.coefficients), kind=self.kind)
            now = learning.mapped(moment, setting)
        solution, loss = _solve(learning, z, now, ridges[rounds])
        errors.append(loss)
        if moment is None:
            moment = now.feature_moment(seen.x, z.x, torch.from_numpy(solution.coefficients), kind=self.kind)
        notes = [f"{count} of {n} rows are landmarks (Nyström)"] if count < n else []
        if rounds and len(seen.x) < n:
            notes.append(f"features were learnt on {len(seen.x)} of {n} rows")
        path = Trajectory(
            torch.arange(rounds + 1 - len(errors), rounds + 1, dtype=torch.float64),
            torch.tensor(errors, dtype=torch.float64),
        )
        return FittedFeatures(
            now,
            self.kind,
            z.x,
            solution.coefficients,
            solution.offset,
            moment,
            setting,
            rounds,
            solution.ridge,
            path,
            clock.perf_counter() - started,
            plan,
            tuple(notes),
        )

    def _plan(self, learning: Learning, seed: int) -> FeaturePlan:
        ridge = None if isinstance(self.ridge, str) else self.ridge
        wanted = (self.rounds, self.power, self.diagonal, self.bandwidth, ridge)
        if len(learning.x) > self.screen:
            return race_features(learning, *wanted, seed=seed)
        return plan_features(learning, *wanted, folds=self.folds, seed=seed)

    def _setting(self, plan: FeaturePlan | None) -> FeatureSetting:
        if plan is not None:
            return plan.setting
        assert not isinstance(self.power, str)
        assert not isinstance(self.diagonal, str)
        assert not isinstance(self.bandwidth, str)
        return FeatureSetting(self.power, self.diagonal, self.bandwidth)

    def _ridges(self, plan: FeaturePlan | None, rounds: int) -> tuple[float, ...]:
        if plan is not None:
            return plan.ridges
        assert not isinstance(self.ridge, str)
        return (self.ridge,) * (rounds + 1)


def _block(anchors: int) -> int:
    """Rows whose kernel with the anchors is computed at once."""
    return max(1, NUMBERS // anchors)


def _continued(
    learning: Learning, start: FeatureStart, relative: float, order: NDArray[np.int64]
) -> tuple[Tensor, float]:
    """The last M over all rows, up to 4,000: that of the race, and those of fits to blocks of the others, each in its share."""
    others = order[~np.isin(order, start.rows)][: max(0, MOST - len(start.rows))]
    total, losses = len(start.rows) * start.moment, []
    for rows in np.array_split(others, math.ceil(len(others) / TOGETHER)) if len(others) else []:
        part = learning.part(np.sort(rows))
        solution, loss = _solve(part, part, start.model, relative)
        c = torch.from_numpy(solution.coefficients)
        total = total + len(rows) * start.model.feature_moment(part.x, part.x, c, kind=learning.kind)
        losses.append(loss)
    return total / (len(start.rows) + len(others)), float(np.mean(losses))


def _solve(learning: Learning, z: Learning, model: FeatureKernel, relative: float) -> tuple[RidgeSolution, float]:
    """The fit with a ridge in units of the mean eigenvalue, and its mean squared training error."""
    if len(z.x) == len(learning.x):
        K = learning.gram(model)
        ridge = relative * mean_eigenvalue(K, learning.weights)
        found = solved(K, learning.targets, learning.weights, ridge, overwrite=True)
        missed = found.ridge * found.coefficients / learning.weights[:, None]
    else:
        inner = z.gram(model)

        def blocks() -> Iterator[Array]:
            for part in learning.x.split(_block(len(z.x))):
                yield np.asarray(kernel_matrix(model, part, z.x, z.kind), dtype=np.float64)

        ridge = relative * mean_eigenvalue(inner, np.ones(len(inner)))
        sums = Landmarks(inner, learning.targets, learning.weights)
        for block in blocks():
            sums.add(block)
        found = sums.solve(ridge)
        fitted = np.concatenate([block @ found.coefficients for block in blocks()]) + found.offset
        missed = fitted - learning.targets
    return found, float((missed**2).mean())
