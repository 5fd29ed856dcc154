"""Trained networks, one or K together, with the output scale and centring they were trained with."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from priorscope.inference._fitted import Fitted, Trajectory
from priorscope.inference.networks._members import Members

__all__ = ["FittedNetworks"]


class FittedNetworks(Fitted):
    r"""Predicts :math:`\alpha f` or, centred, :math:`\alpha(f - f_0)`.

    ``params`` and ``initial`` are flat (K, P); ``times`` and ``steps`` say how long each member trained, ``finished``
    whether its stop rule was met.

    Example:
        >>> from types import SimpleNamespace
        >>> from priorscope.inference import GradientFlow
        >>> data = SimpleNamespace(inputs=torch.eye(2), targets=torch.tensor([[1.0], [-1.0]]))
        >>> fitted = GradientFlow(time=100.0, stop=1e-4).fit(nn.Linear(2, 1, bias=False), data)
        >>> fitted.finished.tolist(), fitted.predict(data.inputs).round(decimals=1).flatten().tolist()
        ([True], [1.0, -1.0])
        >>> bool((fitted.predict_with(fitted.initial, data.inputs) == 0).all())  # centred: zero before training
        True
    """

    def __init__(
        self,
        members: Members,
        params: Tensor,
        *,
        alpha: Tensor,  # (K,)
        centre: bool,
        trajectory: Trajectory,
        seconds: float,
        times: Tensor,
        steps: Tensor,
        finished: Tensor,
    ) -> None:
        """Keep what training left: the members at their start, the trained parameters, and the record of the run."""
        self.members, self.params, self.initial = members, params, members.flat
        self.alpha, self.centre = alpha, centre
        self.trajectory, self.seconds = trajectory, seconds
        self.times, self.steps, self.finished = times, steps, finished

    def __len__(self) -> int:
        return len(self.members)

    def predict(self, inputs: Tensor, *, block: int = 4096) -> Tensor:
        """Predictions (n, outputs), or (K, n, outputs) when an ensemble was trained, ``block`` inputs at a time."""
        out = self.predict_with(self.params, inputs, block=block)
        return out[0] if self.members.single else out

    @torch.no_grad()
    def predict_with(self, params: Tensor, inputs: Tensor, *, block: int = 4096) -> Tensor:
        """Predictions (K, n, outputs) at other flat parameters (K, P), for example a snapshot of the trajectory."""
        pieces = []
        with self.members.evaluating():
            for x in inputs.to(self.members.dtype).split(block):
                f = self.members.call(params, x)
                if self.centre:
                    f = f - self.members.call(self.initial, x)
                pieces.append(self.alpha[:, None, None] * f)
        return torch.cat(pieces, 1)

    def network(self, member: int = 0) -> nn.Module:
        """The trained network of one member as a plain module (raw output f, neither scaled nor centred)."""
        return self.members.network(self.params, member)
