"""Which features a kernel should learn: settings, rounds and ridge by left-out rows that no M has seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gmean, sem
from torch import Tensor

from priorscope.contracts import FeatureKernel, kernel_matrix
from priorscope.inference.kernels._feature_map import FeatureSetting, feature_map
from priorscope.inference.kernels._ridge_path import RidgePath
from priorscope.inference.kernels._ridge_solution import mean_eigenvalue, solved
from priorscope.printing import printed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FeaturePlan", "Learning", "plan_features"]

Array = NDArray[np.float64]
RIDGES = np.geomspace(1e-6, 10.0, 22)  # in units of the mean eigenvalue of the centred kernel
BANDWIDTHS = (0.5, 2.0)  # factors tried beside one; then on in the better direction
POWERS = (0.25, 1.0)  # tried beside one half
MOST = 2500  # rows on which settings are compared in the end
SURE = 2.0  # standard errors by which features must be better
FARTHEST = 8.0  # factor on the bandwidth beyond which no better one is looked for


@printed
@dataclass(frozen=True, eq=False)
class Learning:
    """Rows to learn from: inputs, targets (n, outputs), weights; the model, and which of its kernels."""

    model: FeatureKernel
    kind: str
    x: Tensor
    targets: Array
    weights: Array

    def part(self, rows: NDArray[np.int64]) -> Learning:
        """Some of the rows."""
        return replace(self, x=self.x[rows], targets=self.targets[rows], weights=self.weights[rows])

    def gram(self, model: FeatureKernel) -> Array:
        """The kernel of the rows with each other."""
        return np.asarray(kernel_matrix(model, self.x, None, self.kind), dtype=np.float64)

    def mapped(self, moment: Tensor | None, setting: FeatureSetting) -> FeatureKernel:
        """The model behind the map of a moment; with None, behind the bandwidth alone."""
        if moment is None:
            return self.plain(setting.bandwidth)
        flat = self.x[:500].flatten(1)
        seen = flat if flat.shape[1] == len(moment) else None
        return self.model.mapped(feature_map(moment, setting, seen))

    def plain(self, bandwidth: float) -> FeatureKernel:
        """The model before any features."""
        if bandwidth == 1.0:
            return self.model
        size = len(self.model.feature_moment(self.x[:2], self.x[:2], _ones(2), kind=self.kind))
        return self.model.mapped(_ones(size)[:, 0] / bandwidth)


def _ones(n: int) -> Tensor:
    import torch

    return torch.ones(n, 1, dtype=torch.float64)


@printed
@dataclass(frozen=True, eq=False)
class FeaturePlan:
    """What was chosen and how well it did: ``ridges`` per round in units of the mean eigenvalue, the last for the predictor.

    ``losses`` is the left-out squared error by number of rounds, with the chosen settings; ``scores`` (n, outputs) are left-out
    predictions of the choice and ``plain`` those of the kernel without features at its best bandwidth, both for ``rows``;
    ``tried`` has every setting with its lowest loss.

    Example:
        >>> FeaturePlan(FeatureSetting(), 1, (0.1, 0.1), (0.5, 0.2), np.zeros((3, 1)), np.zeros((3, 1)), np.arange(3)).loss
        0.2
    """

    setting: FeatureSetting
    rounds: int
    ridges: tuple[float, ...]
    losses: tuple[float, ...]
    scores: Array
    plain: Array
    rows: NDArray[np.int64]
    tried: tuple[tuple[str, float], ...] = ()

    @property
    def loss(self) -> float:
        """Left-out squared error of the choice."""
        return self.losses[self.rounds]

    def table(self) -> pd.DataFrame:
        """One row per number of rounds: the left-out squared error, and whether it was chosen."""
        import pandas as pd

        at = range(len(self.losses))
        return pd.DataFrame({"rounds": at, "loss": self.losses, "chosen": [t == self.rounds for t in at]})


@dataclass(frozen=True, eq=False)
class _Trial:
    """One setting measured on rows: squared errors by round, predictions, ridges of the predictors and of the fits for M."""

    setting: FeatureSetting
    errors: Array  # (rounds + 1,), with the best ridge of each
    scores: Array  # (rounds + 1, n, outputs)
    ridges: Array  # (rounds + 1,)
    inner: tuple[float, ...]  # (rounds,)

    @property
    def loss(self) -> float:
        return float(self.errors.min())


def plan_features(
    learning: Learning,
    *,
    rounds: int,
    power: float | str,
    diagonal: bool | str,
    bandwidth: float | str,
    ridge: float | None,
    screen: int,
    folds: int,
    seed: int,
) -> FeaturePlan:
    """Settings one coordinate after the other on up to ``screen`` rows; the best with full and with diagonal M then on all rows.

    On few rows M is learnt without each fold, whose rows are then predicted by all others under that M, in closed form:
    leave-one-out under the M of all rows would flatter, for M has seen the row. A full M needs more rows than a diagonal one,
    so where there are more rows than ``screen`` (up to 2,500 of them) either half is predicted by the other.
    """
    n = len(learning.x)
    order = np.random.default_rng([seed, 11]).permutation(n)
    some = np.sort(order[:screen])
    few = learning.part(some) if n > screen else learning
    parts = (
        [np.arange(k, len(few.x), folds) for k in range(folds)]
        if n > screen
        else [order[k::folds] for k in range(folds)]
    )
    ridges = RIDGES if ridge is None else np.array([ridge])
    seen: dict[FeatureSetting, _Trial] = {}

    def measured(setting: FeatureSetting) -> _Trial:
        if setting not in seen:
            seen[setting] = _measure(few, setting, rounds, ridges, parts)
        return seen[setting]

    def refined(trial: _Trial) -> _Trial:
        """Other bandwidths, then other powers, each while it helps."""
        for factor in BANDWIDTHS if isinstance(bandwidth, str) else ():
            before = trial
            while 1 / FARTHEST < trial.setting.bandwidth < FARTHEST:
                other = measured(replace(trial.setting, bandwidth=trial.setting.bandwidth * factor))
                if other.loss >= trial.loss:
                    break
                trial = other
            if trial is not before:
                break
        for other_power in POWERS if isinstance(power, str) else ():
            other = measured(replace(trial.setting, power=other_power))
            if other.loss < trial.loss:
                return other
        return trial

    start = FeatureSetting(
        0.5 if isinstance(power, str) else power,
        False if isinstance(diagonal, str) else diagonal,
        1.0 if isinstance(bandwidth, str) else bandwidth,
    )
    first = [measured(start)]
    if isinstance(diagonal, str):
        first.append(measured(replace(start, diagonal=True)))
    best = refined(min(first, key=lambda t: t.loss))
    plain = min(seen.values(), key=lambda trial: trial.errors[0])
    rows, used = (some if n > screen else np.arange(n)), few
    if n > screen:
        rival = [replace(best.setting, diagonal=not best.setting.diagonal)] if isinstance(diagonal, str) else []
        rows = np.sort(order[:MOST])
        used = learning.part(rows)
        halves = [np.arange(0, len(rows), 2), np.arange(1, len(rows), 2)]
        best = min((_by_halves(used, t, halves) for t in (best, *map(measured, rival))), key=lambda t: t.loss)
        plain = _by_halves(used, replace(plain, inner=()), halves)
    t = int(best.errors.argmin())
    if t == 0 or not _surely_better(used, best.scores[t], plain.scores[0]):
        best, t = replace(plain, inner=best.inner), 0
    return FeaturePlan(
        best.setting,
        t,
        (*best.inner[:t], float(best.ridges[t])),
        (float(plain.errors[0]), *(float(v) for v in best.errors[1:])),
        best.scores[t],
        plain.scores[0],
        rows,
        tuple((str(s), trial.loss) for s, trial in seen.items()),
    )


def _surely_better(learning: Learning, learnt: Array, plain: Array) -> bool:
    """Whether squared errors are lower by more than two standard errors, row by row: many settings were tried on few rows."""
    w = learning.weights / learning.weights.mean()
    gap = w * (((plain - learning.targets) ** 2).mean(1) - ((learnt - learning.targets) ** 2).mean(1))
    return bool(gap.mean() > SURE * sem(gap))


def _measure(
    learning: Learning, setting: FeatureSetting, rounds: int, ridges: Array, folds: list[NDArray[np.int64]]
) -> _Trial:
    """Left-out predictions after each number of rounds, each row under an M without its fold; no further once they get worse."""
    n = len(learning.x)
    first = learning.mapped(None, setting)
    K0 = learning.gram(first)
    kept = [_best_ridge(_left_out(K0, learning, ridges), learning)]
    insides = [np.setdiff1d(np.arange(n), fold) for fold in folds]
    parts = [learning.part(inside) for inside in insides]
    states = [(first, K0)] * len(folds)
    inner: list[float] = []
    for _ in range(rounds):
        scores = np.empty((len(ridges), *learning.targets.shape))
        relatives = []
        for k, fold in enumerate(folds):
            model, K = states[k]
            relative, coefficients = _fitted(K[np.ix_(insides[k], insides[k])], parts[k], ridges)
            moment = model.feature_moment(parts[k].x, parts[k].x, _tensor(coefficients), kind=learning.kind)
            model = parts[k].mapped(moment, setting)
            K = learning.gram(model)
            scores[:, fold] = _left_out(K, learning, ridges)[:, fold]
            states[k] = model, K
            relatives.append(relative)
        inner.append(float(gmean(relatives)))
        kept.append(_best_ridge(scores, learning))
        if kept[-1][0] > kept[-2][0]:
            break
    errors, at, found = zip(*kept, strict=True)
    return _Trial(setting, np.array(errors), np.array(found), ridges[list(at)], tuple(inner))


def _best_ridge(scores: Array, learning: Learning) -> tuple[float, int, Array]:
    """The lowest squared error over ridges, which ridge has it, and its predictions."""
    each = ((scores - learning.targets) ** 2).mean(2)  # (ridges, n)
    errors = each @ learning.weights / learning.weights.sum()
    best = int(errors.argmin())
    return float(errors[best]), best, scores[best]


def _by_halves(learning: Learning, trial: _Trial, halves: list[NDArray[np.int64]]) -> _Trial:
    """The same setting and ridges on more rows: features and predictor from one half, errors on the other."""
    rounds = len(trial.inner)
    scores = np.empty((rounds + 1, *learning.targets.shape))
    for inside, outside in (halves, halves[::-1]):
        own, other = learning.part(inside), learning.part(outside)
        model = own.mapped(None, trial.setting)
        for t in range(rounds + 1):
            K = own.gram(model)
            unit = mean_eigenvalue(K, own.weights)
            found = solved(K, own.targets, own.weights, trial.ridges[t] * unit)
            cross = np.asarray(kernel_matrix(model, other.x, own.x, own.kind), dtype=np.float64)
            scores[t][outside] = cross @ found.coefficients + found.offset
            if t < rounds:
                fit = solved(K, own.targets, own.weights, trial.inner[t] * unit)
                moment = model.feature_moment(own.x, own.x, _tensor(fit.coefficients), kind=own.kind)
                model = own.mapped(moment, trial.setting)
    each = ((scores - learning.targets) ** 2).mean(2)
    return replace(trial, errors=each @ learning.weights / learning.weights.sum(), scores=scores)


def _tensor(values: Array) -> Tensor:
    import torch

    return torch.from_numpy(np.ascontiguousarray(values))


def _left_out(K: Array, learning: Learning, ridges: Array) -> Array:
    path = RidgePath.of_kernel(K, learning.weights)
    return path.leave_one_out(learning.targets, path.scale * ridges)


def _fitted(K: Array, learning: Learning, ridges: Array) -> tuple[float, Array]:
    """The best ridge by leave-one-out, in units of the mean eigenvalue, and the coefficients with it."""
    path = RidgePath.of_kernel(K, learning.weights)
    found = path.leave_one_out(learning.targets, path.scale * ridges)
    errors = (((found - learning.targets) ** 2).mean(2) * learning.weights).sum(1)
    best = float(ridges[int(errors.argmin())])
    return best, path.solve(learning.targets, path.scale * best)
