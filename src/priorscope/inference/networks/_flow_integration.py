"""The integrator of gradient flow: all members in one vector of steps, their passes in windows that fit the cache."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from priorscope.inference.networks._dense_pass import DensePass
from priorscope.inference.networks._flow_record import FlowRecord
from priorscope.inference.networks._loss import as_loss
from priorscope.inference.networks._members import Members
from priorscope.inference.networks._stop import as_stop

__all__ = ["Integration"]

SHRINK, GROW, SAFETY = 0.1, 2.0, 0.8  # bounds on one change of the step, and how near to the criteria it aims
KINK, KINK_CHANGE = 1e-3, 1e-2  # a step below this part of the elapsed time and of the allowed change is never refused
CACHE = 16 * 2**20  # bytes a window may touch: what a core's share of a last-level cache holds


class Integration:
    """State of one run, a row a member. Rows are ordered: ended members first, then those at work.

    When a member ends, its row changes places with the first at work, so that every operation works on contiguous rows
    and ended members cost nothing. Steps are controlled for all members at once; trial parameters, passes and scalar
    products are taken a window of rows at a time. Parameters move in their place and move back where a step is refused, to
    round-off; gradients have two tables, of the state and of the trial, which change places at each step.
    """

    tables: ClassVar[tuple[str, ...]] = ("order", "w", "F", "g", "size", "offset", "alpha", "value", "t", "dt", "scale")
    tables += ("due", "steps", "trials", "finished")

    order: Tensor
    w: Tensor
    F: Tensor
    g: Tensor
    g1: Tensor  # gradients of a trial
    size: Tensor  # squared norm of the gradient
    offset: Tensor
    alpha: Tensor
    value: Tensor
    t: Tensor
    dt: Tensor
    scale: Tensor
    due: Tensor
    steps: Tensor
    trials: Tensor
    finished: Tensor

    def __init__(self, flow: Any, members: Members, x: Tensor, y: Tensor, window: int | None = None) -> None:
        K = len(members)
        alpha = torch.as_tensor(flow.alpha, dtype=flow.dtype).flatten()
        if len(alpha) not in (1, K):
            raise ValueError(f"alpha must be one number or one per member ({K}); got {len(alpha)} values.")
        self.flow, self.members, self.x, self.y = flow, members, x, y
        self.order, self.alpha = torch.arange(K), alpha.expand(K).contiguous()
        self.loss, self.stop = as_loss(flow.loss), as_stop(flow.stop)
        self.dense = DensePass.of(members, x)
        self.window = window or (K if self.dense is None else max(16, CACHE // self.dense.bytes_a_member))
        with torch.no_grad():
            f0 = members.call(members.flat, x)
        if f0.shape[1:] != y.shape:
            raise ValueError(
                f"network outputs (n, outputs) must match targets {tuple(y.shape)}; got {tuple(f0.shape[1:])}."
            )
        if self.dense is not None:  # the offset by the same products as the outputs, so that they cancel to zero
            f0 = torch.cat([self.dense.forward(w)[0] for w in members.flat.split(self.window)])
        self.offset = f0.contiguous() if flow.centre else torch.zeros_like(f0)
        self.w = members.flat.clone()
        parts = [self.evaluate(self.w[rows], rows) for rows in self._windows(slice(0, K))]
        self.F, self.value, self.g = (torch.cat(p) for p in zip(*parts))
        self.g1 = self.g.clone()
        self.room = torch.empty_like(self.w[: self.window])
        self.size = torch.cat(
            [self.products(self.g[rows], self.g[rows], rows)[0] for rows in self._windows(slice(0, K))]
        )
        self.t = torch.zeros(K, dtype=torch.float64)
        self.steps, self.trials = torch.zeros(K, dtype=torch.long), torch.zeros(K, dtype=torch.long)
        tiny = torch.finfo(flow.dtype).tiny
        self.scale = torch.where(self.size > 0, self.value / self.size.clamp(min=tiny), 1.0).double()
        self.dt = 1e-3 * self.scale
        self.finished = self.stop(self.loss, self.F, y)
        self.record = FlowRecord(flow.recorded_times(), flow.time, self.value, self.states())
        self.due = self.record.due(self.order)

    def _windows(self, rows: slice) -> list[slice]:
        """The rows in equal parts of at most a window each."""
        count = rows.stop - rows.start
        size = -(-count // -(-count // self.window))
        return [slice(a, min(a + size, rows.stop)) for a in range(rows.start, rows.stop, size)]

    def states(self, rows: slice | Tensor = slice(None)) -> dict[str, Tensor]:
        """What the trajectory keeps beside the loss."""
        return {name: (self.F if name == "outputs" else self.w)[rows] for name in self.flow.keep}

    def evaluate(self, w: Tensor, rows: slice, out: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Predictions (k, n, outputs), loss with its prefactor (k,), gradient (k, P) of the members in these rows."""
        alpha, offset = self.alpha[rows], self.offset[rows]
        if self.dense is not None:
            f, tape = self.dense.forward(w)
            F = (f - offset).mul_(alpha[:, None, None])
            slopes = self.loss.slope(F, self.y) / (alpha * len(self.x))[:, None, None]
            return F, self.loss(F, self.y) / alpha.square(), self.dense.backward(w, tape, slopes, out)
        kept: list[Tensor] = []

        def objective(v: Tensor) -> Tensor:
            F = alpha[:, None, None] * (self.members.call(v, self.x) - offset)
            kept.append(F.detach())
            return self.loss(F, self.y) / alpha.square()

        value, g = self.members.gradient(w, objective)
        return kept[0], value, g if out is None else out.copy_(g)

    def run(self) -> None:
        """Integrate every member to its stop rule, the end of time, or the largest number of steps."""
        K = len(self.t)
        done = self._retire(slice(0, K))
        while done < K:
            rows = slice(done, K)
            if self.advance(rows):
                done += self._retire(rows)
        back = self.order.argsort()
        for name in self.tables:
            setattr(self, name, getattr(self, name)[back])

    def _ended(self, rows: slice) -> Tensor:
        flow = self.flow
        over = self.finished[rows] | (self.t[rows] >= flow.time) | (self.steps[rows] >= flow.max_steps)
        return over | (self.trials[rows] >= 10 * flow.max_steps)

    def _retire(self, rows: slice) -> int:
        """Move the rows that have ended to the front; how many they are."""
        ended = self._ended(rows)
        count = int(ended.sum())
        late = ended[count:].nonzero().flatten() + rows.start + count
        if len(late):
            early = (~ended[:count]).nonzero().flatten() + rows.start
            here, there = torch.cat([early, late]), torch.cat([late, early])
            for name in self.tables:
                table = getattr(self, name)
                table[here] = table[there]
        front = slice(rows.start, rows.start + count)
        self.g1[front] = self.g[front]
        return count

    def _try(self, h: Tensor, rows: slice) -> tuple[Tensor, ...]:
        """Of these rows a step of h ahead: predictions, loss, squared norm of the gradient, its product with the one before."""
        w, g = self.w[rows], self.g[rows]
        w.addcmul_(h.to(g.dtype)[:, None], g, value=-1)
        F1, value1, g1 = self.evaluate(w, rows, self.g1[rows])
        return F1, value1, *self.products(g, g1, rows)

    def products(self, g: Tensor, g1: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
        """Of gradients before and after a step: the squared norm of the second, and their scalar product, (k,) each."""
        return torch.linalg.vector_norm(g1, dim=1).square_(), torch.mul(g, g1, out=self.room[: len(g)]).sum(1)

    def advance(self, rows: slice) -> bool:
        """One trial step of these rows: accepted where both criteria hold, retried smaller where not; whether any ended."""
        flow, tiny = self.flow, torch.finfo(self.flow.dtype).tiny
        F, size, t, dt, due, scale = (getattr(self, name)[rows] for name in ("F", "size", "t", "dt", "due", "scale"))
        gap = due - t
        landing = gap <= dt
        h = torch.where(landing, gap, dt)
        windows = self._windows(rows)
        parts = [self._try(h[part.start - rows.start : part.stop - rows.start], part) for part in windows]
        F1, value1, size1, cross = (torch.cat(p) for p in zip(*parts))
        change = (F1 - F).abs_().flatten(1).amax(1)
        norms = (size * size1).sqrt()
        turn = torch.where(norms > 0, (size + size1 - 2 * cross).clamp(min=0) / norms.clamp(min=tiny), 0.0)
        strain = torch.maximum(change / flow.max_change, (turn / flow.max_turn).sqrt()).double()
        strain = torch.where(torch.isfinite(strain), strain, torch.inf)
        # so short a step that moves no output can only turn the gradient at a kink (ReLU, hinge): it may pass
        floor = KINK * torch.maximum(t, scale)
        still = change < KINK_CHANGE * flow.max_change
        fine = strain < 1
        accept = fine | ((h <= floor) & still)
        factor = (SAFETY / strain.clamp(min=1e-30)).clamp(SHRINK, GROW)
        factor = torch.where(accept, factor.clamp(min=1.0), factor.clamp(max=0.7))
        proposed = h * factor
        proposed = torch.where(still & ~fine, torch.maximum(proposed, floor), proposed)
        dt.copy_(
            torch.where(accept & landing, torch.maximum(dt, proposed), proposed)
        )  # a landing says nothing against dt
        t1 = torch.where(landing, due, t + h)
        self.trials[rows] += 1
        refused = torch.nonzero(~accept).flatten()
        if len(refused):
            back = refused + rows.start
            g, first = self.g[back], self.steps[back] == 0
            w = self.w[back].addcmul_(h[refused].to(g.dtype)[:, None], g)
            if bool(first.any()):  # a first trial may be far too long; later ones are at most twice an accepted one
                w[first] = self.members.flat[self.order[back[first]]]
            self.w[back], self.g1[back] = w, g
            for old, new in ((F, F1), (size, size1), (t, t1), (self.value[rows], value1)):
                new[refused] = old[refused]
        for old, new in ((F, F1), (size, size1), (t, t1), (self.value[rows], value1)):
            old.copy_(new)
        self.g, self.g1 = self.g1, self.g
        self.steps[rows] += accept
        self.finished[rows] = accept & (self.stop(self.loss, F, self.y) | (size == 0))
        landed = torch.nonzero(accept & landing).flatten() + rows.start
        if len(landed):
            ids = self.order[landed]
            self.record.note(ids, self.value[landed], self.states(landed))
            self.due[landed] = self.record.due(ids)
        return bool(self._ended(rows).any())
