"""The integrator of gradient flow: all members in one vector of steps, their passes in windows that fit the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from priorscope.inference.networks._flow_control import StepControl
from priorscope.inference.networks._flow_record import FlowRecord
from priorscope.inference.networks._flow_term import NetworkTerm, Term
from priorscope.inference.networks._members import Members
from priorscope.inference.networks._stop import as_stop

if TYPE_CHECKING:
    from priorscope.inference.networks._gradient_flow import GradientFlow

__all__ = ["Integration"]


class Integration:
    """State of one run, one row per member. Rows are ordered: ended members first, then those at work.

    When a member ends, its row changes places with the first at work, so that every operation works on contiguous rows
    and ended members cost nothing. Steps are controlled for all members at once; trial parameters, passes and scalar
    products are taken one window of rows at a time. Parameters move in their place and move back where a step is refused, to
    round-off; gradients have two tables, of the state and of the trial, which change places at each step.

    What flows is the term's (:class:`Term`), how long a step may be the control's (:class:`StepControl`), what is
    written down the record's (:class:`FlowRecord`).
    """

    tables: ClassVar[tuple[str, ...]] = ("order", "w", "F", "g", "size", "value", "t", "dt", "scale")
    tables += ("due", "steps", "trials", "finished")

    def __init__(self, flow: GradientFlow, term: Term) -> None:
        """Evaluate every member at its start and choose its first step from its loss and gradient."""
        self.flow, self.term = flow, term
        self.control = StepControl(flow.max_change, flow.max_turn)
        self.loss, self.stop = term.loss, as_stop(flow.stop)
        K = len(term.start)
        self.order = torch.arange(K)
        self.w = term.start.clone()
        windows = self._windows(slice(0, K))
        parts = [self.evaluate(self.w[rows], rows) for rows in windows]
        self.F, self.value, self.g = (torch.cat(p) for p in zip(*parts))
        self.g1 = self.g.clone()  # gradients of a trial
        self.room = torch.empty_like(self.w[: term.window])
        self.size = torch.cat([term.products(self.g[rows], self.g[rows], rows, self.room)[0] for rows in windows])
        self.t = torch.zeros(K, dtype=torch.float64)
        self.steps, self.trials = torch.zeros(K, dtype=torch.long), torch.zeros(K, dtype=torch.long)
        tiny = torch.finfo(flow.dtype).tiny
        known = (self.size > 0) & (self.value > 0)  # logarithms of losses may start at zero or below
        self.scale = torch.where(known, self.value / self.size.clamp(min=tiny), 1.0).double()
        self.dt = 1e-3 * self.scale
        self.finished = self.stop(self.loss, self.F, term.y)
        self.record = FlowRecord(flow.recorded_times(), flow.time, self.value, self.states())
        self.due = self.record.due(self.order)

    @classmethod
    def of(cls, flow: GradientFlow, members: Members, x: Tensor, y: Tensor, window: int | None = None) -> Integration:
        """The run of these networks on these samples."""
        return cls(flow, NetworkTerm(flow, members, x, y, window))

    def evaluate(self, w: Tensor, rows: slice, out: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Predictions, loss and gradient of the members in these rows, as the term has them."""
        return self.term.evaluate(w, rows, out)

    @property
    def alpha(self) -> Tensor:
        """The output scale of each member (networks only)."""
        return self.term.tables["alpha"]

    def _windows(self, rows: slice) -> list[slice]:
        """The rows in equal parts of at most one window each."""
        count = rows.stop - rows.start
        size = -(-count // -(-count // self.term.window))
        return [slice(a, min(a + size, rows.stop)) for a in range(rows.start, rows.stop, size)]

    def states(self, rows: slice | Tensor = slice(None)) -> dict[str, Tensor]:
        """What the trajectory keeps beside the loss."""
        return {name: (self.F if name == "outputs" else self.w)[rows] for name in self.flow.keep}

    def run(self) -> None:
        """Integrate every member to its stop rule, the end of time, or the largest number of steps."""
        K = len(self.t)
        done = self._retire(slice(0, K))
        while done < K:
            rows = slice(done, K)
            if self.advance(rows):
                done += self._retire(rows)
        back = self.order.argsort()
        for name, table in self.term.tables.items():
            self.term.tables[name] = table[back]
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
            for table in (*(getattr(self, name) for name in self.tables), *self.term.tables.values()):
                table[here] = table[there]
        front = slice(rows.start, rows.start + count)
        self.g1[front] = self.g[front]
        return count

    def _try(self, h: Tensor, rows: slice) -> tuple[Tensor, ...]:
        """Predictions, loss, squared norm of the gradient and its product with the one before, after steps h of these rows."""
        w, g = self.w[rows], self.g[rows]
        w.addcmul_(h.to(g.dtype)[:, None], g, value=-1)
        F1, value1, g1 = self.evaluate(w, rows, self.g1[rows])
        return F1, value1, *self.term.products(g, g1, rows, self.room)

    def _take_back(self, refused: Tensor, h: Tensor, rows: slice) -> None:
        """Parameters and gradients of refused rows as they were before the trial."""
        back = refused + rows.start
        g, first = self.g[back], self.steps[back] == 0
        w = self.w[back].addcmul_(h[refused].to(g.dtype)[:, None], g)
        if bool(first.any()):  # a first trial may be far too long; later ones are at most twice an accepted one
            w[first] = self.term.start[self.order[back[first]]]
        self.w[back], self.g1[back] = w, g

    def advance(self, rows: slice) -> bool:
        """One trial step of these rows: accepted where both criteria hold, retried smaller where not; whether any ended."""
        F, size, t, dt, due, scale = (getattr(self, name)[rows] for name in ("F", "size", "t", "dt", "due", "scale"))
        gap = due - t
        landing = gap <= dt
        h = torch.where(landing, gap, dt)
        windows = self._windows(rows)
        parts = [self._try(h[part.start - rows.start : part.stop - rows.start], part) for part in windows]
        F1, value1, size1, cross = (torch.cat(p) for p in zip(*parts))
        change = (F1 - F).abs_().flatten(1).amax(1)
        accept, proposed = self.control(h, change, self.control.turn(size, size1, cross), t, scale)
        # a landing says nothing against dt
        dt.copy_(torch.where(accept & landing, torch.maximum(dt, proposed), proposed))
        t1 = torch.where(landing, due, t + h)
        self.trials[rows] += 1
        refused = torch.nonzero(~accept).flatten()
        moved = ((F, F1), (size, size1), (t, t1), (self.value[rows], value1))
        if len(refused):
            self._take_back(refused, h, rows)
            for old, new in moved:
                new[refused] = old[refused]
        for old, new in moved:
            old.copy_(new)
        self.g, self.g1 = self.g1, self.g
        self.steps[rows] += accept
        self.finished[rows] = accept & (self.stop(self.loss, F, self.term.y) | (size == 0))
        landed = torch.nonzero(accept & landing).flatten() + rows.start
        if len(landed):
            ids = self.order[landed]
            self.record.note(ids, self.value[landed], self.states(landed))
            self.due[landed] = self.record.due(ids)
        return bool(self._ended(rows).any())
