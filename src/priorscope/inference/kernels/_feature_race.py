"""Which features a kernel should learn where rows are many: settings race on one part of the rows, another part judges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from priorscope.contracts import FeatureKernel, kernel_matrix
from priorscope.inference.kernels._feature_map import FeatureSetting
from priorscope.inference.kernels._feature_plan import FeaturePlan, FeatureStart, Learning
from priorscope.inference.ridge import RIDGES, RidgePath, mean_eigenvalue, solved

__all__ = ["race_features"]

Array = NDArray[np.float64]
LEARN = 500  # rows that features are learnt from
JUDGE = 400  # rows that judge them, none of them learnt from
FEW = 200  # rows on which the first ridge is chosen by leave-one-out
GENTLE = 0.25  # the power tried beside one half; 1 is what two rounds of one half come near to
FARTHEST = 8.0  # factor on the bandwidth that is too far
WORTH = 0.98  # share of the error to which another bandwidth must bring it down
LADDER = (1.0, 1e-1, 1e-2, 1e-4)  # ridges tried for the winner, in units of the mean eigenvalue
INNER = 1e-3  # ridge of the fits that M is taken of: a ridge that predicts best where most inputs are noise would hide the others
DECIDED = 3  # round after which one setting goes on


@dataclass(frozen=True, eq=False)
class _Runner:
    """A setting after some rounds: its kernel, its errors on the rows that judge, and the fit that its M is taken of."""

    setting: FeatureSetting
    model: FeatureKernel
    ridge: float
    scores: Array
    loss: float
    inner: float
    coefficients: Array
    before: _Runner | None  # the one whose M it has
    moment: Tensor | None  # that M
    again: Callable[[float], _Runner] = field(repr=False)  # the same with another ridge

    @property
    def way(self) -> tuple[_Runner, ...]:
        """All rounds up to this one, the kernel without features first."""
        return (self,) if self.before is None else (*self.before.way, self)


@dataclass(frozen=True, eq=False)
class _Race:
    """The two parts of the rows, whether ridge and bandwidth are free, and the lowest error of all that ran."""

    own: Learning
    judge: Learning
    ridge: bool
    bandwidth: bool
    tried: dict[str, float]

    def run(self, setting: FeatureSetting, moment: Tensor | None, ridge: float, before: _Runner | None) -> _Runner:
        """Fit the rows to learn from and predict those that judge, with this ridge or, where it is free, the inner one."""
        own, model = self.own, self.own.mapped(moment, setting)
        K = own.gram(model)
        unit = mean_eigenvalue(K, own.weights)
        cross = np.asarray(kernel_matrix(model, self.judge.x, own.x, own.kind), dtype=np.float64)
        inner = min(ridge, INNER) if self.ridge else ridge

        def fitted(relative: float) -> tuple[Array, Array, float]:
            found = solved(K, own.targets, own.weights, relative * unit)
            scores = cross @ found.coefficients + found.offset
            loss = self.judge.error(scores)
            self.tried[str(setting)] = min(loss, self.tried.get(str(setting), loss))
            return found.coefficients, scores, loss

        coefficients, scores, loss = fitted(inner)

        def again(relative: float) -> _Runner:
            _, others, error = fitted(relative)
            return _Runner(setting, model, relative, others, error, inner, coefficients, before, moment, again)

        same = _Runner(setting, model, inner, scores, loss, inner, coefficients, before, moment, again)
        return same if inner == ridge else min(same, again(ridge), key=_loss)

    def onward(self, runner: _Runner, settings: list[FeatureSetting], ridge: float) -> list[_Runner]:
        """One more round for each setting; all share the M of ``runner``."""
        c = torch.from_numpy(runner.coefficients)
        moment = runner.model.feature_moment(self.own.x, self.own.x, c, kind=self.own.kind)
        return [self.run(s, moment, ridge, runner) for s in settings]

    def refined(self, runner: _Runner) -> _Runner:
        """Other bandwidths of the last map, on in the direction that helps; then other ridges."""
        for factor in (2.0, 0.5) if self.bandwidth else ():
            stood = runner
            while 1 / FARTHEST < runner.setting.bandwidth * factor < FARTHEST:
                setting = replace(runner.setting, bandwidth=runner.setting.bandwidth * factor)
                other = self.run(setting, runner.moment, runner.ridge, runner.before)
                if other.loss > WORTH * runner.loss:
                    break
                runner = other
            if runner is not stood:
                break
        others = [runner.again(ridge) for ridge in LADDER if self.ridge and ridge != runner.ridge]
        return min([runner, *others], key=_loss)

    def winner(self, first: _Runner, ridge: float, rounds: int, powers: bool, diagonals: bool) -> _Runner:
        """The best after the rounds, or ``first`` where no round helps."""
        start, done = first.setting, [first]
        entered = [replace(start, diagonal=d) for d in ((False, True) if diagonals else (start.diagonal,))]
        runners = self.onward(first, entered, ridge) if rounds else []
        if powers and rounds:
            lead = min(runners, key=_loss)
            runners.append(self.run(replace(lead.setting, power=GENTLE), lead.moment, ridge, first))
        for t in range(1, rounds + 1):
            runners = self.kept(runners, t)
            done += [r.before for r in runners if t > 1 and r.before is not None and r.before.loss <= r.loss]
            runners = [r for r in runners if t == 1 or r.before is None or r.before.loss > r.loss]
            if t == rounds or not runners:
                break
            runners = [further for r in runners for further in self.onward(r, [r.setting], ridge)]
        return min(self.kept([*done, *runners], DECIDED)[0].way, key=_loss)

    def kept(self, runners: list[_Runner], t: int) -> list[_Runner]:
        """Those that go on after round t: none that is surely worse, and in the end the gentler, for what a power drops is lost.

        One round of a gentle power goes half as far, so that it is not given up before the second.
        """
        lead = min(runners, key=_loss)
        early = [r for r in runners if t == 1 and r.setting.power < lead.setting.power]
        left = [r for r in runners if r is lead or r in early or not self.judge.surely_better(lead.scores, r.scores)]
        if t < DECIDED:
            return left
        gentle = min(r.setting.power for r in left)
        return [min((r for r in left if r.setting.power == gentle), key=_loss)]


def _loss(runner: _Runner) -> float:
    return runner.loss


def race_features(
    learning: Learning,
    rounds: int,
    power: float | str,
    diagonal: bool | str,
    bandwidth: float | str,
    ridge: float | None,
    *,
    seed: int,
) -> FeaturePlan:
    """Settings by a race: each learns from 500 rows, and those that 400 other rows say are surely worse drop out by the round.

    All settings share the first M, which does not depend on them, and M is taken of fits with a small ridge. Predictions have
    that ridge or the best one without features, by closed-form leave-one-out over a path of ridges on 200 rows; bandwidth and
    ridge of the winner are then refined. The kernel without features beside it has its own bandwidth or the winner's.
    """
    order = learning.order(seed)
    m = min(LEARN, 2 * len(order) // 3)
    rows = np.sort(learning.apart(order[m:], order[:m])[:JUDGE])
    own = learning.part(np.sort(order[:m]))
    race = _Race(own, learning.part(rows), ridge is None, isinstance(bandwidth, str), {})
    start = FeatureSetting(
        0.5 if isinstance(power, str) else power,
        False if isinstance(diagonal, str) else diagonal,
        1.0 if isinstance(bandwidth, str) else bandwidth,
    )
    relative = _first_ridge(own, learning.plain(start.bandwidth)) if ridge is None else ridge
    first = plain = race.run(start, None, relative, None)
    best = race.winner(first, relative, rounds, isinstance(power, str), isinstance(diagonal, str))
    if best is not first:
        best = race.refined(best)
        same = replace(start, bandwidth=best.setting.bandwidth)
        plain = plain if same == start else min(plain, race.run(same, None, relative, None), key=_loss)
    if best is first or not race.judge.surely_better(best.scores, plain.scores):
        best = plain = race.refined(first)
    return FeaturePlan(
        best.setting,
        len(best.way) - 1,
        (*(runner.inner for runner in best.way[:-1]), best.ridge),
        (plain.loss, *(runner.loss for runner in best.way[1:])),
        best.scores,
        plain.scores,
        rows,
        tuple(race.tried.items()),
        None if best.before is None or best.moment is None else FeatureStart(best.before.model, order[:m], best.moment),
    )


def _first_ridge(learning: Learning, model: FeatureKernel) -> float:
    """The best ridge without features by leave-one-out, in units of the mean eigenvalue."""
    few = learning.part(np.arange(min(FEW, len(learning.x))))
    path = RidgePath.of_kernel(few.gram(model), few.weights)
    scores = few.left_out(path, path.scale * RIDGES)
    return float(RIDGES[int(np.argmin([few.error(s) for s in scores]))])
