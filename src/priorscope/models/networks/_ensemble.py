"""Many networks of one shape in one vectorised call."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

__all__ = ["Ensemble"]


class Ensemble(nn.Module):
    """K networks whose parameters are stacked along a first axis; the same numbers as K networks one by one.

    ``stacked`` maps a parameter's name to its ``(K, ...)`` tensor (leaf tensors, registered as parameters of the ensemble);
    ``template`` is one network whose own weights are never used.

    Example:
        >>> import torch, priorscope as ps
        >>> ensemble = ps.models.fcn(depth=1).ensemble((4,), width=8, outputs=2, seeds=range(3))
        >>> len(ensemble), ensemble(torch.zeros(5, 4)).shape
        (3, torch.Size([3, 5, 2]))
    """

    template: nn.Module

    def __init__(self, networks: Sequence[nn.Module]) -> None:
        """Stack parameters and buffers of networks of one shape."""
        super().__init__()
        networks = list(networks)
        if not networks:
            raise ValueError("Ensemble needs at least one network; got none. Pass seeds=range(K) with K >= 1.")
        if any(isinstance(m, nn.modules.batchnorm._BatchNorm) and m.track_running_stats for m in networks[0].modules()):
            raise ValueError(
                "Ensemble cannot vectorise BatchNorm with running statistics; build the networks with "
                "normalisation='group' or normalisation=False, or train them one by one."
            )
        params, buffers = stack_module_state(networks)
        self._names = tuple(params)
        self._buffer_names = tuple(buffers)
        for i, tensor in enumerate(params.values()):
            self.register_parameter(f"p{i}", nn.Parameter(tensor.detach()))
        for i, tensor in enumerate(buffers.values()):
            self.register_buffer(f"b{i}", tensor.detach())
        self._size = len(networks)
        # kept out of the module tree: its weights are placeholders
        self.__dict__["template"] = copy.deepcopy(networks[0])
        for parameter in self.__dict__["template"].parameters():
            parameter.requires_grad_(False)

    def __len__(self) -> int:
        return self._size

    @property
    def stacked(self) -> dict[str, Tensor]:
        """Parameters by name, each ``(K, ...)``."""
        return {name: getattr(self, f"p{i}") for i, name in enumerate(self._names)}

    @property
    def stacked_buffers(self) -> dict[str, Tensor]:
        """Buffers by name, each ``(K, ...)``; empty for networks without running statistics."""
        return {name: getattr(self, f"b{i}") for i, name in enumerate(self._buffer_names)}

    def train(self, mode: bool = True) -> Ensemble:
        """Set the mode of every network."""
        super().train(mode)
        self.template.train(mode)
        return self

    def call(self, stacked: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Outputs ``(K, n, outputs)`` at the parameters ``stacked``; ``x`` is ``(n, ...)``, shared by all."""
        buffers = self.stacked_buffers

        def one(params: dict[str, Tensor], state: dict[str, Tensor]) -> Tensor:
            found: Tensor = functional_call(self.template, {**params, **state}, (x,))
            return found

        return vmap(one, randomness="different")(dict(stacked), buffers)

    def forward(self, x: Tensor) -> Tensor:
        return self.call(self.stacked, x)

    def member(self, i: int) -> nn.Module:
        """Network ``i`` by itself, a plain module with copies of its weights."""
        net = copy.deepcopy(self.template)
        state = {name: tensor[i].detach().clone() for name, tensor in {**self.stacked, **self.stacked_buffers}.items()}
        net.load_state_dict(state)
        for parameter in net.parameters():
            parameter.requires_grad_(True)
        return net

    def set_networks(self, networks: Sequence[nn.Module]) -> None:
        """Overwrite all weights by those of K networks of the same shape."""
        if len(networks) != len(self):
            raise ValueError(f"set_networks needs {len(self)} networks; got {len(networks)}.")
        with torch.no_grad():
            states = [net.state_dict() for net in networks]
            for name, tensor in {**self.stacked, **self.stacked_buffers}.items():
                tensor.copy_(torch.stack([state[name] for state in states]))
