"""Continuous-time training: gradient flow by steps that adapt to each member."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from ._check import check_data
from ._fitted import Trajectory, log_times
from ._loss import Loss, as_loss
from ._members import Members
from ._stop import StopRule, as_stop
from ._trained import FittedNetworks

__all__ = ["GradientFlow"]

SHRINK, GROW, SAFETY = 0.1, 2.0, 0.8  # bounds on one change of the step, and how near to the criteria it aims
KINK, KINK_CHANGE = 1e-3, 1e-2  # a step below this part of the elapsed time and of the allowed change is never refused


@dataclass(frozen=True)
class GradientFlow:
    r"""Gradient flow :math:`\dot w = -\nabla\Lambda` with :math:`\Lambda = \frac{1}{\alpha^2 n}\sum_\mu \ell(F(x_\mu), y_\mu)`.

    The predictor is :math:`F = \alpha(f - f_0)` (``centre=True``) or :math:`\alpha f`; the prefactor makes the time of lazy
    training independent of :math:`\alpha`. Explicit Euler; a step is accepted when

    .. math:: \alpha\max_\mu|\Delta f(x_\mu)| < 0.1,\qquad \|g_i - g_{i+1}\|^2 / (\|g_i\|\|g_{i+1}\|) < 10^{-4}

    and otherwise retried smaller: Geiger et al. (2020), "Disentangling feature and lazy training", eqs. 8-9. Every member of
    an ensemble has its own step and its own time, and may have its own ``alpha``; all of them are integrated at once. Late
    in training, when only slow modes are left, the step rides on the edge of stability of the fast ones: from there on two
    runs agree within the step's accuracy, before it to round-off. Steps below a thousandth of the elapsed time that change
    outputs by less than a hundredth of the bound are never refused: a flow held at a kink of a ReLU slides along it.

    Args: ``time`` and ``max_steps`` bound the run; ``stop`` is a loss value, "fitted" (all margins met) or a rule;
    ``record`` is a number of log-spaced times or the times themselves; ``keep`` names what the trajectory stores beside
    the loss: "outputs", "params". ``max_change`` and ``max_turn`` are the two bounds.

    Example:
        >>> from types import SimpleNamespace as N
        >>> data = N(inputs=torch.eye(2), targets=torch.tensor([[1.0], [-1.0]]))
        >>> net = torch.nn.Linear(2, 1, bias=False)
        >>> fitted = GradientFlow(time=2.0, max_turn=1e-6).fit(net, data)   # each weight moves 1 - exp(-t/2) of its way
        >>> round(float(fitted.predict(torch.eye(2))[0]), 2)
        0.63
    """

    alpha: float | Sequence[float] = 1.0
    centre: bool = True
    loss: str | Loss = "squared"
    time: float = math.inf
    max_steps: int = 20_000
    stop: StopRule | float | str | None = None
    record: int | Sequence[float] = 30
    keep: tuple[str, ...] = ()
    max_change: float = 0.1
    max_turn: float = 1e-4
    dtype: torch.dtype = torch.float64
    needs: ClassVar[str] = "network"

    def __post_init__(self) -> None:
        if not self.time > 0:
            raise ValueError(f"time must be > 0 (inf: until the stop rule or max_steps); got {self.time}.")
        if not torch.as_tensor(self.alpha, dtype=torch.float64).gt(0).all():
            raise ValueError(f"alpha must be > 0; got {self.alpha}.")
        unknown = set(self.keep) - {"outputs", "params"}
        if unknown:
            raise ValueError(f"keep may name 'outputs' and 'params'; got {sorted(unknown)}.")

    def with_alpha(self, alpha: float | Sequence[float]) -> GradientFlow:
        """The same flow at another output scale."""
        return replace(self, alpha=alpha)

    def fit(self, model: Any, data: Any, seed: int = 0) -> FittedNetworks:
        """Integrate the flow from the model's weights; ``seed`` is passed to a factory."""
        started = clock.perf_counter()
        x, y = check_data(data)
        members = Members(model, seed, self.dtype)
        return _Integration(self, members, x.to(self.dtype), y.to(self.dtype)).run(started)

    def recorded_times(self) -> Tensor:
        """The times the trajectory shows: given, log-spaced up to ``time``, or four a decade when time is unbounded."""
        if not isinstance(self.record, int):
            return torch.as_tensor(list(self.record), dtype=torch.float64)
        if math.isinf(self.time):
            return 10.0 ** torch.arange(-6, 8.01, 0.25, dtype=torch.float64)
        return log_times(1e-4 * self.time, self.time, self.record)


class _Integration:
    """State of one run: every per-member quantity is a row; rows of finished members are left out of the work."""

    def __init__(self, flow: GradientFlow, members: Members, x: Tensor, y: Tensor) -> None:
        K = len(members)
        alpha = torch.as_tensor(flow.alpha, dtype=flow.dtype).flatten()
        if len(alpha) not in (1, K):
            raise ValueError(f"alpha must be one number or one per member ({K}); got {len(alpha)} values.")
        self.flow, self.members, self.x, self.y = flow, members, x, y
        self.alpha = alpha.expand(K).contiguous()
        self.loss, self.stop = as_loss(flow.loss), as_stop(flow.stop)
        with torch.no_grad():
            f0 = members.call(members.flat, x)
        if f0.shape[1:] != y.shape:
            raise ValueError(
                f"network outputs (n, outputs) must match targets {tuple(y.shape)}; got {tuple(f0.shape[1:])}."
            )
        self.offset = f0 if flow.centre else torch.zeros_like(f0)
        self.w = members.flat.clone()
        self.F, self.value, self.g = self.evaluate(self.w, torch.arange(K))
        self.t = torch.zeros(K, dtype=torch.float64)
        self.steps = torch.zeros(K, dtype=torch.long)
        square = self.g.square().sum(1)
        scale = torch.where(square > 0, self.value / square.clamp(min=torch.finfo(flow.dtype).tiny), 1.0).double()
        self.dt = 1e-3 * scale
        self.scale = scale
        self.finished = self.stop(self.loss, self.F, y)
        self.recorder = _Recorder(self, flow.recorded_times())

    def evaluate(self, w: Tensor, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Predictions (k, n, outputs), loss with its prefactor (k,), gradient (k, P) of the given members."""
        alpha, offset = self.alpha[rows], self.offset[rows]
        kept: list[Tensor] = []

        def objective(v: Tensor) -> Tensor:
            F = alpha[:, None, None] * (self.members.call(v, self.x) - offset)
            kept.append(F.detach())
            return self.loss(F, self.y) / alpha.square()

        value, g = self.members.gradient(w, objective)
        return kept[0], value, g

    def run(self, started: float) -> FittedNetworks:
        flow = self.flow
        live = torch.nonzero(~self.finished).flatten()
        for _ in range(10 * flow.max_steps):
            if len(live) == 0:
                break
            self.advance(live)
            still = ~self.finished[live] & (self.t[live] < flow.time) & (self.steps[live] < flow.max_steps)
            if not bool(still.all()):
                live = live[still]
        return FittedNetworks(
            self.members,
            self.w,
            alpha=self.alpha,
            centre=flow.centre,
            trajectory=self.recorder.trajectory(),
            seconds=clock.perf_counter() - started,
            times=self.t,
            steps=self.steps,
            finished=self.finished,
        )

    def advance(self, live: Tensor) -> None:
        """One trial step of every live member: accepted where both criteria hold, retried smaller where not."""
        flow, tiny = self.flow, torch.finfo(self.flow.dtype).tiny
        every = len(live) == len(self.t)
        pick = (lambda a: a) if every else (lambda a: a[live])
        w, F, g, t, dt = pick(self.w), pick(self.F), pick(self.g), pick(self.t), pick(self.dt)
        gap = self.recorder.next_time(live) - t
        landing = gap <= dt
        h = torch.where(landing, gap, dt)
        w1 = w - h.to(w.dtype)[:, None] * g
        F1, value1, g1 = self.evaluate(w1, live)
        change = (F1 - F).abs().flatten(1).amax(1)
        norms = g.norm(dim=1) * g1.norm(dim=1)
        turn = torch.where(norms > 0, (g1 - g).square().sum(1) / norms.clamp(min=tiny), 0.0)
        strain = torch.maximum(change / flow.max_change, (turn / flow.max_turn).sqrt()).double()
        strain = torch.where(torch.isfinite(strain), strain, torch.inf)
        # so short a step that moves no output can only turn the gradient at a kink (ReLU, hinge): it may pass
        floor = KINK * torch.maximum(t, pick(self.scale))
        still = change < KINK_CHANGE * flow.max_change
        accept = (strain < 1) | ((h <= floor) & still)
        factor = (SAFETY / strain.clamp(min=1e-30)).clamp(SHRINK, GROW)
        factor = torch.where(accept, factor.clamp(min=1.0), factor.clamp(max=0.7))
        proposed = torch.where(still & (strain >= 1), torch.maximum(h * factor, floor), h * factor)
        dt1 = torch.where(accept & landing, torch.maximum(dt, proposed), proposed)  # a landing says nothing against dt
        t1 = torch.where(landing, self.recorder.next_time(live), t + h)
        if every and bool(accept.all()):
            self.w, self.F, self.value, self.g, self.t, self.dt = w1, F1, value1, g1, t1, dt1
            done = live
        else:
            self.dt[live] = dt1
            done = live[accept]
            if len(done) == 0:
                return
            self.w[done], self.F[done], self.g[done] = w1[accept], F1[accept], g1[accept]
            self.value[done], self.t[done] = value1[accept], t1[accept]
        self.steps[done] += 1
        rest = self.g[done].square().sum(1) == 0
        self.finished[done] = self.stop(self.loss, self.F[done], self.y) | rest
        self.recorder.note(done)


class _Recorder:
    """Rows of the trajectory: initial state, each recorded time, and the end for members that stopped before."""

    def __init__(self, run: _Integration, times: Tensor) -> None:
        self.run, self.times = run, times
        K = len(run.t)
        self.cursor = torch.zeros(K, dtype=torch.long)
        self.padded = torch.cat([times, torch.tensor([run.flow.time], dtype=torch.float64)])
        self.loss = torch.full((len(times) + 1, K), torch.nan, dtype=run.value.dtype)
        self.extra = {
            name: self._state(name)[None].repeat(len(times) + 1, *[1] * self._state(name).ndim)
            for name in run.flow.keep
        }
        self.loss[0] = run.value

    def _state(self, name: str) -> Tensor:
        return self.run.F if name == "outputs" else self.run.w

    def next_time(self, rows: Tensor) -> Tensor:
        return self.padded[self.cursor[rows]]

    def note(self, rows: Tensor) -> None:
        hit = rows[(self.run.t[rows] >= self.next_time(rows)) & (self.cursor[rows] < len(self.times))]
        for i in hit.tolist():
            self._write(int(self.cursor[i]) + 1, i)
        self.cursor[hit] += 1

    def _write(self, row: int, i: int, last: int | None = None) -> None:
        self.loss[row:last, i] = self.run.value[i]
        for name, rows in self.extra.items():
            rows[row:last, i] = self._state(name)[i]

    def trajectory(self) -> Trajectory:
        reached = int(self.cursor.max())
        for i, c in enumerate(self.cursor.tolist()):
            if c < len(self.times):
                self._write(c + 1, i, len(self.times) + 1)
        end = reached + 1 if reached == len(self.times) else reached + 2
        times = torch.cat([torch.zeros(1, dtype=torch.float64), self.times])[:end]
        single = self.run.members.single
        outputs = self.extra.get("outputs")
        params = self.extra.get("params")
        return Trajectory(
            times,
            self.loss[:end, 0] if single else self.loss[:end],
            None if outputs is None else (outputs[:end, 0] if single else outputs[:end]),
            None if params is None else params[:end],
        )
