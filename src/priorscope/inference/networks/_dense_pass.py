"""Forward and backward pass of K fully connected networks on the same inputs, by batched products without tracing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from priorscope.inference.networks._dense_form import dense_form, slope_of
from priorscope.inference.networks._members import Members

__all__ = ["DensePass"]


class _Plain:
    r"""How an activation enters the passes: :math:`\phi(a) = s_2 V(s_1 a)` and :math:`\phi'(a)\,d` as ``pull`` of :math:`s_3 d`.

    An activation may bring its own such object as ``fold``, to save passes over memory; this one has no factors.
    """

    before = after = slope = 1.0

    def __init__(self, activation: Callable[[Tensor], Tensor] | None) -> None:
        self.activation = activation

    def forward(self, a: Tensor) -> tuple[Tensor, Tensor]:
        """The value, and what ``pull`` needs."""
        return (a, a) if self.activation is None else slope_of(self.activation, a)

    def pull(self, d: Tensor, kept: Tensor) -> Tensor:
        """The signal behind the activation, from the one in front of it, in place."""
        return d if self.activation is None else d.mul_(kept)


def _product(a: Tensor, b: Tensor, scale: float) -> Tensor:
    """scale a b of stacks of matrices, written once: what the room held before is not read."""
    return a.new_empty(len(a), a.shape[1], b.shape[2]).baddbmm_(a, b, beta=0, alpha=scale)


class DensePass:
    r"""Outputs of K stacked networks, and from a slope of each output the gradient of each network's own parameters.

    Activations are (K, neurons, n), so that the first layer and its gradient are one product over all members at once:
    they share their inputs. :meth:`of` gives None for models that are no stack of dense layers.

    Example:
        >>> members = Members(torch.nn.Linear(2, 1), dtype=torch.float64)
        >>> fast = DensePass.of(members, torch.eye(2, dtype=torch.float64))
        >>> f, gradient = fast(members.flat, lambda f: torch.ones_like(f))
        >>> gradient.tolist()
        [[1.0, 1.0, 2.0]]
    """

    def __init__(self, members: Members, inputs: Tensor) -> None:
        form = dense_form(members.model)
        assert form is not None
        self.form, self.members = form, members
        self.x = inputs.flatten(1)  # (n, d)
        self.folds: list[Any] = [getattr(layer.activation, "fold", None) or _Plain(layer.activation) for layer in form]
        self.x_in = (
            self.folds[0].before * form[0].scale * self.x
        ).mT.contiguous()  # (d, n), for the first layer's values
        self.x_out = form[0].scale * self.x  # and for its gradient

    @classmethod
    def of(cls, members: Members, inputs: Tensor) -> DensePass | None:
        """The pass of these members, or None when they are no dense networks.

        What the types say is compared with what the model does: outputs and gradients on a few inputs, at the weights it
        has and at others nearby, which a layer that divides by its own norm or stops gradients does not pass.
        """
        form = dense_form(members.model)
        used = set() if form is None else {name for layer in form for name in (layer.weight, layer.bias) if name}
        if form is None or used != set(members.names):
            return None
        if members.shapes[members.names.index(form[0].weight)][1] != inputs[0].numel():
            return None  # a layer that acts along the last axis alone
        few = inputs[:8].to(members.dtype)
        fast = cls(members, few)
        shake = torch.Generator().manual_seed(0)
        noise = torch.randn(members.flat.shape, generator=shake, dtype=torch.float64).to(members.flat)
        for flat in (members.flat, members.flat * (1 + 0.3 * noise)):
            if not fast.agrees(flat, few):
                return None
        return cls(members, inputs.to(members.dtype))

    def agrees(self, flat: Tensor, inputs: Tensor) -> bool:
        """Whether outputs and gradients of their sum are those of the traced model, up to the root of the rounding error."""
        kept: list[Tensor] = []

        def total(w: Tensor) -> Tensor:
            kept.append(self.members.call(w, inputs))
            return kept[-1].flatten(1).sum(1)

        with self.members.evaluating():
            _, gradient = self.members.gradient(flat, total)
        traced = kept[0].detach()
        outputs, by_hand = self(flat, torch.ones_like)
        near = torch.finfo(flat.dtype).eps ** 0.5
        return all(
            a.shape == b.shape and float((a - b).norm()) <= near * float(b.norm()) + torch.finfo(b.dtype).tiny
            for a, b in ((outputs, traced), (by_hand, gradient))
        )

    @property
    def bytes_a_member(self) -> int:
        """Memory one member's step touches: four copies of its parameters, four of its activations."""
        neurons = sum(self.members.shapes[self.members.names.index(layer.weight)][0] for layer in self.form)
        return 4 * self.x.element_size() * (sum(self.members.sizes) + neurons * len(self.x))

    @torch.no_grad()
    def forward(self, flat: Tensor) -> tuple[Tensor, list[tuple[Tensor | None, Tensor]]]:
        """Outputs (K, n, outputs), and each layer's input (K, in, n; None for the data) with what its slope needs."""
        params = self.members.unflatten(flat)
        z: Tensor | None = None
        gain = 1.0  # activations are kept without their constant factor, which goes into the next product
        tape: list[tuple[Tensor | None, Tensor]] = []
        for layer, fold in zip(self.form, self.folds):
            W = params[layer.weight]
            if z is None:
                a = torch.mm(W.reshape(-1, W.shape[2]), self.x_in).view(len(flat), W.shape[1], -1)
            else:
                a = _product(W, z, fold.before * gain * layer.scale)
            if layer.bias is not None:
                a.add_(params[layer.bias][:, :, None], alpha=fold.before * layer.bias_scale)
            seen = z
            z, kept = fold.forward(a)
            tape.append((seen, kept))
            gain = fold.after
        assert z is not None
        return z.mT, tape

    @torch.no_grad()
    def backward(
        self, flat: Tensor, tape: list[tuple[Tensor | None, Tensor]], slopes: Tensor, out: Tensor | None = None
    ) -> Tensor:
        """Gradients (K, P) of the members' own objectives, whose slopes over the outputs are (K, n, outputs)."""
        params = self.members.unflatten(flat)
        found: dict[str, Tensor] = {}
        d = slopes.mT.contiguous()  # (K, outputs, n)
        for i in range(len(self.form) - 1, -1, -1):
            layer, (z, _) = self.form[i], tape[i]
            if z is None:
                found[layer.weight] = torch.mm(d.reshape(-1, d.shape[2]), self.x_out).view(len(d), -1)
            else:
                scale = layer.scale * self.folds[i - 1].after
                found[layer.weight] = _product(d, z.mT, scale).view(len(d), -1)
            if layer.bias is not None:
                found[layer.bias] = d.sum(2).mul_(layer.bias_scale)
            if i:
                fold = self.folds[i - 1]
                W, scale = params[layer.weight].mT, layer.scale * fold.slope
                # one output: a column times a row, which needs no matrix product
                d = fold.pull(W * (scale * d) if d.shape[1] == 1 else _product(W, d, scale), tape[i - 1][1])
        return torch.cat([found[name] for name in self.members.names], 1, out=out)

    def __call__(self, flat: Tensor, slopes: object) -> tuple[Tensor, Tensor]:
        """Outputs and gradients; ``slopes`` maps the outputs to the objective's slopes over them."""
        f, tape = self.forward(flat)
        return f, self.backward(flat, tape, slopes(f))  # type: ignore[operator]
