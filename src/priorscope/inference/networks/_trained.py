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
        return out.squeeze(0) if self.members.single else out

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

    def gradients(self, inputs: Tensor) -> Tensor:
        """Gradients of the predictions in the inputs, (n, outputs, *input_shape), or (K, n, …) when an ensemble was trained."""
        found = self.gradients_with(self.params, inputs)
        return found.squeeze(0) if self.members.single else found

    def gradients_with(self, params: Tensor, inputs: Tensor, *, block: int = 512) -> Tensor:
        """Gradients (K, n, outputs, *input_shape) at other flat parameters (K, P), such as a snapshot of the trajectory."""
        with self.members.evaluating(), torch.enable_grad():
            pieces = [self._pulled(params.detach(), x) for x in inputs.to(self.members.dtype).split(block)]
        return torch.cat(pieces, 1)

    def _pulled(self, params: Tensor, x: Tensor) -> Tensor:
        """One member at a time: a copy of the inputs for each, so that members do not share a gradient."""
        return torch.stack([self._member_gradients(params, x, k) for k in range(len(params))])

    def _member_gradients(self, params: Tensor, x: Tensor, k: int) -> Tensor:
        own = x.detach().requires_grad_(True)
        f = self.members.call(params, own)[k]
        f = f - self.members.call(self.initial, own)[k] if self.centre else f
        columns = [torch.autograd.grad(f[:, o].sum(), own, retain_graph=True) for o in range(f.shape[1])]
        scaled: Tensor = self.alpha[k] * torch.stack([slope for (slope,) in columns], 1)
        return scaled

    def network(self, member: int = 0) -> nn.Module:
        """The trained network of one member as a plain module (raw output f, neither scaled nor centred)."""
        return self.members.network(self.params, member)
