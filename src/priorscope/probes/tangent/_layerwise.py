"""The kernel as a sum over layers of products of small Grams."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from priorscope.contracts import own
from priorscope.models.layers import Explicit, Form, Outputs, Product, cheaper, combine, concatenate
from priorscope.probes.tangent._capture import Call, capture, leaves
from priorscope.probes.tangent._jacobian import jacobian, trainable
from priorscope.probes.tangent._layers import layer_forms

CHUNK_BYTES = 2**26  # activations, deltas and patches held at a time while forms are made


class Layerwise:
    """Forms of a network's parameters for any batch, and the Gram of two batches' forms."""

    def __init__(self, network: nn.Module, outputs: Outputs) -> None:
        self.network, self.outputs = network, outputs
        self.watched = leaves(network)
        self.names = {id(param): name for name, param in trainable(network).items()}
        self.plain = is_plain(network)
        self.dense_only = self.plain and all(_is_dense(module) for module in self.watched)
        self._chunk: int | None = None

    def forms(self, x: Tensor) -> dict[str, Form]:
        """Forms of every parameter, made in batches small enough for the activations."""
        size = len(x) if self.dense_only else self._chunk_size(x)
        parts = [self._forms(x[start : start + size]) for start in range(0, len(x), size)]
        return {name: concatenate([part[name] for part in parts]) for name in parts[0]}

    def gram(self, left: dict[str, Form], right: dict[str, Form]) -> Tensor:
        """Sum over parameters of the Gram of the forms."""
        total: Tensor | None = None
        for name, form in left.items():
            term = form.gram(right[name], self.outputs)  # type: ignore[arg-type]
            total = term if total is None else total.add_(term)
        assert total is not None
        return total

    def _chunk_size(self, x: Tensor) -> int:
        if self._chunk is None:
            _, seen = capture(self.network, x[:1], self.watched, not self.plain)
            held = sum(_call_bytes(call) for call in seen.calls)
            self._chunk = max(1, int(CHUNK_BYTES // max(held, 1)))
        return self._chunk

    def _forms(self, x: Tensor) -> dict[str, Form]:
        """Make the form of every parameter on one batch; those that no layer explains get an explicit Jacobian."""
        _, seen = capture(self.network, x, self.watched, not self.plain)
        uses: dict[str, list[Form]] = {}
        calls = [call for call in seen.calls if call.module not in seen.lost]
        for call in calls:
            for name, form in self._call_forms(call).items():
                uses.setdefault(name, []).append(form)
            call.deltas = None
        lost = {self.names[id(p)] for m in seen.lost for p in m.parameters(recurse=False) if id(p) in self.names}
        for name in lost:  # a parameter also used where it cannot be followed is not explained by the uses that can
            uses.pop(name, None)
        forms = {name: cheaper(combine(found), self.outputs) for name, found in uses.items()}
        rest = [name for name in self.names.values() if name not in forms]
        if rest:
            forms["the rest"] = Explicit(jacobian(self.network, x, rest))
        return _with_bias_inside(forms)

    def _call_forms(self, call: Call) -> dict[str, Form]:
        assert call.deltas is not None
        own = {n: self.names[id(p)] for n, p in call.module.named_parameters(recurse=False) if id(p) in self.names}
        found = layer_forms(call.module, call.entered, call.deltas, tuple(own))
        return {own[name]: form for name, form in found.items()}


def _with_bias_inside(forms: dict[str, Form]) -> dict[str, Form]:
    """A bias whose gradient is its weight's deltas becomes one more input of value one: a Gram less."""
    joined = dict(forms)
    for name, form in forms.items():
        bias = joined.get(name.removesuffix("weight") + "bias") if name.endswith("weight") else None
        if isinstance(form, Product) and isinstance(bias, Explicit) and form.activations.shape[1] == 1:
            same = bias.jacobian.data_ptr() == form.deltas.data_ptr() and bias.jacobian.numel() == form.deltas.numel()
            if same:
                ones = form.activations.new_ones(*form.activations.shape[:2], 1)
                joined[name] = Product(torch.cat([form.activations, ones], 2), form.deltas)
                del joined[name.removesuffix("weight") + "bias"]
    return joined


def _call_bytes(call: Call) -> int:
    """Bytes that one sample costs in this layer: deltas of all outputs, the input, and its patches if it is a convolution."""
    assert call.deltas is not None
    size = getattr(call.module, "kernel_size", 1)
    taps = size ** (call.entered.ndim - 2) if isinstance(size, int) else math.prod(size)
    found: int = call.entered.element_size() * (2 * call.deltas.numel() + (1 + taps) * call.entered.numel())
    return found


_SIMPLE = ("container", "linear", "conv", "activation", "flatten", "pooling", "batchnorm", "normalization", "dropout")


def is_plain(network: nn.Module) -> bool:
    """Whether every module's code is simple enough that each parameter acts only through its own layer's call."""
    for module in network.modules():
        home = type(module).__module__
        simple = home.startswith("torch.nn.modules.") and home.rsplit(".", 1)[1] in _SIMPLE
        if not (simple or _is_ours(module)) or isinstance(module, nn.MultiheadAttention):
            return False
        if getattr(module, "inplace", False) or _is_changed(module):
            return False
    return True


def _is_changed(module: nn.Module) -> bool:
    """Whether the object does other things when called than its class says: hooks, or a forward of its own."""
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return "forward" in vars(module) or any(vars(module).get(name) for name in hooks)


def _is_dense(module: nn.Module) -> bool:
    """Whether the activations of the layer are all that has to be held for its form: no patches."""
    return type(module) is nn.Linear or own(module, "dense_scales")


def _is_ours(module: nn.Module) -> bool:
    return type(module).__module__.startswith("priorscope.models.")
