"""Which features a kernel should learn: settings, rounds and ridge by left-out rows that no M has seen."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import gmean
from torch import Tensor

from priorscope.contracts import FeatureKernel
from priorscope.inference.kernels._feature_map import FeatureSetting
from priorscope.inference.kernels._feature_plan import FeaturePlan, Learning
from priorscope.inference.ridge import RIDGES, RidgePath

__all__ = ["plan_features"]

Array = NDArray[np.float64]
BANDWIDTHS = (0.5, 2.0)  # factors tried beside one; then on in the better direction
POWERS = (0.25, 1.0)  # tried beside one half
FARTHEST = 8.0  # factor on the bandwidth beyond which no better one is looked for


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
    rounds: int,
    power: float | str,
    diagonal: bool | str,
    bandwidth: float | str,
    ridge: float | None,
    *,
    folds: int,
    seed: int,
) -> FeaturePlan:
    """Settings one coordinate after the other, by closed-form leave-one-out.

    M is learnt without each fold, whose rows are then predicted by all others under that M, in closed form: leave-one-out under
    the M of all rows would flatter, for M has seen the row.
    """
    n = len(learning.x)
    order = learning.order(seed)
    parts = [order[k::folds] for k in range(folds)]
    if learning.blocks is not None:
        rank = np.unique(learning.blocks, return_inverse=True)[1]
        turn = np.random.default_rng([seed, 11]).permutation(int(rank.max()) + 1)[rank] % folds
        parts = [order[turn[order] == k] for k in range(folds)]
        parts = [part for part in parts if len(part)]
    ridges = RIDGES if ridge is None else np.array([ridge])
    seen: dict[FeatureSetting, _Trial] = {}
    firsts: dict[float, _First] = {}

    def measured(setting: FeatureSetting) -> _Trial:
        if setting not in seen:
            seen[setting] = _measure(learning, setting, rounds, ridges, parts, firsts)
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
    t = int(best.errors.argmin())
    if t == 0 or not learning.surely_better(best.scores[t], plain.scores[0]):
        best, t = replace(plain, inner=best.inner), 0
    return FeaturePlan(
        best.setting,
        t,
        (*best.inner[:t], float(best.ridges[t])),
        (float(plain.errors[0]), *(float(v) for v in best.errors[1:])),
        best.scores[t],
        plain.scores[0],
        np.arange(n),
        tuple((str(s), trial.loss) for s, trial in seen.items()),
    )


@dataclass(frozen=True, eq=False)
class _First:
    """What settings of one bandwidth share: predictions without features, and the first M without each fold."""

    plain: tuple[float, int, Array]
    moments: list[Tensor]
    ridge: float


def _first(learning: Learning, bandwidth: float, ridges: Array, insides: list[NDArray[np.int64]]) -> _First:
    model = learning.plain(bandwidth)
    K = learning.gram(model)
    each = [_fitted(K[np.ix_(inside, inside)], learning.part(inside), ridges) for inside in insides]
    moments = [_moment(model, learning.part(i), c) for i, (_, c) in zip(insides, each, strict=True)]
    return _First(_best_ridge(_left_out(K, learning, ridges), learning), moments, float(gmean([r for r, _ in each])))


def _measure(
    learning: Learning,
    setting: FeatureSetting,
    rounds: int,
    ridges: Array,
    folds: list[NDArray[np.int64]],
    firsts: dict[float, _First],
) -> _Trial:
    """Left-out predictions after each number of rounds, each row under an M without its fold; no further once they get worse."""
    insides = [np.setdiff1d(np.arange(len(learning.x)), fold) for fold in folds]
    if setting.bandwidth not in firsts:
        firsts[setting.bandwidth] = _first(learning, setting.bandwidth, ridges, insides)
    first = firsts[setting.bandwidth]
    parts = [learning.part(inside) for inside in insides]
    kept, inner, moments = [first.plain], [first.ridge] * min(rounds, 1), first.moments
    for t in range(rounds):
        scores = np.empty((len(ridges), *learning.targets.shape))
        states = []
        for part, fold, moment in zip(parts, folds, moments, strict=True):
            model = part.mapped(moment, setting)
            K = learning.gram(model)
            scores[:, fold] = _left_out(K, learning, ridges)[:, fold]
            states.append((model, K))
        kept.append(_best_ridge(scores, learning))
        if kept[-1][0] > kept[-2][0] or t == rounds - 1:
            break
        each = [_fitted(K[np.ix_(i, i)], p, ridges) for (_, K), i, p in zip(states, insides, parts, strict=True)]
        moments = [_moment(m, p, c) for (m, _), p, (_, c) in zip(states, parts, each, strict=True)]
        inner.append(float(gmean([r for r, _ in each])))
    errors, at, found = zip(*kept, strict=True)
    return _Trial(setting, np.array(errors), np.array(found), ridges[list(at)], tuple(inner))


def _moment(model: FeatureKernel, part: Learning, coefficients: Array) -> Tensor:
    return model.feature_moment(part.x, part.x, torch.from_numpy(np.ascontiguousarray(coefficients)), kind=part.kind)


def _best_ridge(scores: Array, learning: Learning) -> tuple[float, int, Array]:
    """The lowest squared error over ridges, which ridge has it, and its predictions."""
    each = ((scores - learning.targets) ** 2).mean(2)  # (ridges, n)
    errors = each @ learning.weights / learning.weights.sum()
    best = int(errors.argmin())
    return float(errors[best]), best, scores[best]


def _left_out(K: Array, learning: Learning, ridges: Array) -> Array:
    path = RidgePath.of_kernel(K, learning.weights)
    return learning.left_out(path, path.scale * ridges)


def _fitted(K: Array, learning: Learning, ridges: Array) -> tuple[float, Array]:
    """The best ridge by leave-one-out, in units of the mean eigenvalue, and the coefficients with it."""
    path = RidgePath.of_kernel(K, learning.weights)
    found = learning.left_out(path, path.scale * ridges)
    errors = (((found - learning.targets) ** 2).mean(2) * learning.weights).sum(1)
    best = float(ridges[int(errors.argmin())])
    return best, path.solve(learning.targets, path.scale * best)
