"""A trained network taken apart: the features before its last linear layer, and a new layer on top of them."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

from priorscope.checks import checked, whole
from priorscope.contracts import Fields
from priorscope.models.architectures._hand_over import Scaling
from priorscope.models.architectures._user_network import UserNetwork

__all__ = ["Backbone"]

_ALL = 2**31 - 1  # outputs: none is cut off


class Backbone(nn.Module):
    """A network of the user at its own weights: :meth:`features` before the last linear layer, then a ``head`` of its own.

    The last linear layer is the one whose output is what the network predicts; where there is none, the outputs are the
    features (maps of them are averaged over places). Forward gives the head's outputs, the features before :meth:`headed`.
    ``notes`` say what was found.

    Example:
        >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        >>> backbone = Backbone.of(net, torch.randn(5, 4))
        >>> backbone.features(torch.zeros(2, 4)).shape, backbone.headed(2)(torch.zeros(2, 4)).shape
        (torch.Size([2, 8]), torch.Size([2, 2]))
        >>> backbone.notes
        ('Sequential: its features are the 8 numbers before its last linear layer',)
    """

    def __init__(self, body: UserNetwork, size: int, notes: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.body, self.size, self.notes = body, size, notes
        self.head: nn.Module = nn.Identity()

    @classmethod
    def of(
        cls,
        module: nn.Module,
        sample: Tensor,
        *,
        scaling: Scaling | None = None,
        fields: Fields | None = None,
        name: str | None = None,
    ) -> Backbone:
        """The network with the first way of handing over the samples that it takes, without its last linear layer."""
        label = name or type(module).__name__
        full = UserNetwork.fit(module, sample, _ALL, name=label, scaling=scaling, live=True, fields=fields, pooled=True)
        bare = _without_head(full, sample[:3].float())
        body, what = (full, "numbers it gives") if bare is None else (bare, "numbers before its last linear layer")
        with torch.no_grad():
            size = body(sample[:2].float()).shape[1]
        body.outputs, body.sample = size, None
        body.requires_grad_(True)
        handed = [f"{label}: {words}" for words in body.way.words(tuple(sample.shape[1:]))]
        return cls(body, size, (*handed, f"{label}: its features are the {size} {what}"))

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.head(self.body(x))
        return found

    @torch.no_grad()
    def features(self, x: Tensor, *, block: int = 256) -> Tensor:
        """Features (n, size) of the frozen network in eval mode, ``block`` inputs at a time."""
        self.body.eval()
        return torch.cat([self.body(part) for part in x.float().split(block)])

    @checked(outputs=whole())
    def headed(self, outputs: int, weight: Tensor | None = None, bias: Tensor | None = None) -> Backbone:
        """A copy with a new last layer: of these weights (outputs, size), else at zero."""
        fresh = copy.deepcopy(self)
        head = nn.Linear(self.size, outputs)
        with torch.no_grad():
            head.weight.copy_(torch.zeros_like(head.weight) if weight is None else weight)
            head.bias.copy_(torch.zeros_like(head.bias) if bias is None else bias)
        fresh.head = head
        return fresh


def _without_head(network: UserNetwork, sample: Tensor) -> UserNetwork | None:
    """The network with its last linear layer taken out, where one gives what the network predicts."""
    seen: list[tuple[str, Tensor, Tensor]] = []

    def note(name: str) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
        return lambda _, given, out: seen.append((name, given[0], out))

    hooks = [m.register_forward_hook(note(name)) for name, m in network.named_modules() if type(m) is nn.Linear]
    try:
        with torch.no_grad():
            whole = network(sample)
    finally:
        for hook in hooks:
            hook.remove()
    heads = [
        (name, given)
        for name, given, out in seen
        if out.numel() == whole.numel() and torch.equal(out.reshape(whole.shape), whole) and given.ndim == 2
    ]
    if not heads:
        return None
    name, given = heads[-1]
    body = copy.deepcopy(network)
    body.set_submodule(name, nn.Identity())
    try:
        with torch.no_grad():
            found = body(sample)
    except Exception:  # it asks its last layer for more than its output
        return None
    return body if found.shape == given.shape and torch.equal(found, given) else None
