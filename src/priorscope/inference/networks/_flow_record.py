"""What a gradient flow writes down on its way: the initial state, each recorded time, the end."""

from __future__ import annotations

import torch
from torch import Tensor

from priorscope.inference._fitted import Trajectory

__all__ = ["FlowRecord"]


class FlowRecord:
    """Rows of the trajectory by member; members that stopped early repeat their last state.

    Example:
        >>> record = FlowRecord(torch.tensor([1.0]), 2.0, torch.ones(3), {})
        >>> record.note(torch.tensor([1]), torch.tensor([0.5]), {})
        >>> record.due(torch.arange(3)).tolist()
        [1.0, 2.0, 1.0]
    """

    def __init__(self, times: Tensor, end: float, value: Tensor, states: dict[str, Tensor]) -> None:
        self.times = times
        self.cursor = torch.zeros(len(value), dtype=torch.long)
        self.padded = torch.cat([times, torch.tensor([end], dtype=torch.float64)])
        self.loss = torch.full((len(times) + 1, len(value)), torch.nan, dtype=value.dtype)
        self.loss[0] = value
        self.extra = {name: s[None].repeat(len(times) + 1, *[1] * s.ndim) for name, s in states.items()}

    def due(self, ids: Tensor) -> Tensor:
        """The next time each of these members has to land on: a recorded one, or the end of the flow."""
        return self.padded[self.cursor[ids]]

    def note(self, ids: Tensor, value: Tensor, states: dict[str, Tensor]) -> None:
        """Write one row of each of these members, unless all its times are written, and go on to its next time."""
        open_ = self.cursor[ids] < len(self.times)
        if not bool(open_.all()):
            ids, value, states = ids[open_], value[open_], {name: s[open_] for name, s in states.items()}
        rows = self.cursor[ids] + 1
        self.loss[rows, ids] = value
        for name, s in states.items():
            self.extra[name][rows, ids] = s
        self.cursor[ids] += 1

    def trajectory(self, value: Tensor, states: dict[str, Tensor], single: bool) -> Trajectory:
        """The trajectory, given the members' final values and states."""
        reached = int(self.cursor.max())
        for i, c in enumerate(self.cursor.tolist()):
            self.loss[c + 1 :, i] = value[i]
            for name, s in states.items():
                self.extra[name][c + 1 :, i] = s[i]
        end = reached + 1 if reached == len(self.times) else reached + 2
        times = torch.cat([torch.zeros(1, dtype=torch.float64), self.times])[:end]
        outputs, params = self.extra.get("outputs"), self.extra.get("params")
        return Trajectory(
            times,
            self.loss[:end, 0] if single else self.loss[:end],
            None if outputs is None else (outputs[:end, 0] if single else outputs[:end]),
            None if params is None else params[:end],
        )
