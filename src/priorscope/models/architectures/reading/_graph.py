"""A module's forward pass, traced by torch.fx and read call by call."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor, fx, nn
from torch.fx.node import Argument
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from priorscope.models.architectures.reading._calls import CALLS, bound, number
from priorscope.models.architectures.reading._modules import is_known, read_module, says_layer
from priorscope.models.architectures.reading._refusal import NoShape, refused
from priorscope.models.architectures.reading._signal import Signal, concatenated, multiplied, shifted, summed
from priorscope.models.layers._scale import Scale

__all__ = ["WithoutDropout", "read_graph", "refuse_unknown", "traced"]

ADD = (operator.add, operator.iadd, torch.add, "add", "add_")
SUBTRACT = (operator.sub, operator.isub, torch.sub, torch.subtract, "sub", "sub_", "subtract")
MULTIPLY = (operator.mul, operator.imul, torch.mul, torch.multiply, "mul", "mul_", "multiply")
DIVIDE = (operator.truediv, operator.itruediv, torch.div, torch.divide, torch.true_divide, "div", "div_", "divide")
CONCATENATE = (torch.cat, torch.concat, torch.concatenate)
OPERATORS: tuple[tuple[object, ...], ...] = (CONCATENATE, ADD, SUBTRACT, MULTIPLY, DIVIDE)
SHAPING = ("view", "reshape", "flatten")  # these take sizes as sizes
SHAPES = ("size", "dim", "ndimension", "numel", "__len__")
CONSTANTS: tuple[object, ...] = (
    *(operator.getitem, operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.pow),
    *(operator.neg, operator.mod, math.sqrt, math.prod, torch.sqrt, torch.rsqrt, "sqrt", "rsqrt", int, float, len),
)

KNOWN = (*OPERATORS, SHAPES, CONSTANTS, CALLS, (getattr,))


class WithoutDropout(TorchFunctionMode):
    """Inside, dropout of every kind passes on what it is given, in modules and in functions."""

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        if func in (F.dropout, F.dropout1d, F.dropout2d, torch.dropout, torch.feature_dropout):
            return args[0] if args else (kwargs or {})["input"]
        return func(*args, **(kwargs or {}))


class _Tracer(fx.Tracer):
    """Stops at torch's own modules and at ours; walks into everything else, subclasses of torch's modules too."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return says_layer(type(m)) or super().is_leaf_module(m, module_qualified_name)


class _Values(fx.Interpreter):
    """Runs the graph and keeps what every node gave."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.kept: dict[fx.Node, object] = {}

    def run_node(self, n: fx.Node) -> object:
        self.kept[n] = super().run_node(n)
        return self.kept[n]


def traced(module: nn.Module) -> tuple[nn.Module, fx.Graph]:
    """The module and the graph of its forward pass; a module that is a single layer is wrapped first."""
    tracer = _Tracer()
    root = nn.Sequential(module) if tracer.is_leaf_module(module, "") else module
    try:
        return root, tracer.trace(root)
    except Exception as error:
        raise refused(
            f"{type(module).__name__}, which torch.fx cannot trace ({error}); its forward may not decide by the data or its shape"
        ) from error


def refuse_unknown(root: nn.Module, graph: fx.Graph) -> None:
    """Refuse by name the modules and calls that no reader knows; no shape is needed for that."""
    used = _used(graph)
    for node in graph.nodes:
        if node not in used:
            continue
        if node.op == "call_module":
            part = root.get_submodule(str(node.target))
            if not is_known(type(part)):
                raise refused(f"the module {type(part).__name__} ({node.target})")
        elif node.op in ("call_function", "call_method") and not any(node.target in known for known in KNOWN):
            raise refused(f"the operation {_label(node)}")


def read_graph(root: nn.Module, graph: fx.Graph, x: Tensor, variances: str, *, shape_given: bool = True) -> Signal:
    """The signal at the output, for a batch ``x`` by which shapes are known; without ``shape_given`` ``x`` is a guess."""
    run = _Values(fx.GraphModule(root, graph))
    with torch.no_grad(), WithoutDropout():
        run.run(x.clone())
    signals: dict[fx.Node, Signal] = {}
    used_modules: set[int] = set()
    sized: set[fx.Node] = set()  # sizes of tensors, and numbers made of them
    used = _used(graph)
    for node in graph.nodes:
        if node not in used:
            _refuse_side_effect(node)
        elif node.op == "placeholder":
            if not signals:
                signals[node] = Signal((), tuple(x.shape[1:]), x.shape)
            elif not node.args:
                raise refused(f"a second input ({node.target})")
        elif node.op == "output":
            result = node.args[0]
            if not isinstance(result, fx.Node) or result not in signals:
                raise refused("an output that is not one tensor made of the input")
            if signals[result].merged:
                raise refused("an output with its pixels in one axis (flatten from 2 on)")
            return signals[result]
        elif node.op == "call_module":
            name = str(node.target)
            part = root.get_submodule(name)
            if (
                len(node.args) != 1
                or node.kwargs
                or not isinstance(node.args[0], fx.Node)
                or node.args[0] not in signals
            ):
                raise refused(f"the module {type(part).__name__} ({name}) called with other things than one tensor")
            if id(part) in used_modules and any(True for _ in part.parameters()):
                raise refused(f"the module {name} used twice with the same weights")
            used_modules.add(id(part))
            signals[node] = read_module(part, name, signals[node.args[0]], variances)
        elif node.op == "get_attr":
            value = run.kept[node]
            if not isinstance(value, Tensor) or value.requires_grad:
                raise refused(
                    f"{node.target}, a parameter used outside a layer (its own gradient is not in the kernel)"
                )
        else:
            found = _call(node, signals, run.kept)
            if found is not None:
                if not shape_given and _label(node) not in SHAPING and any(n in sized for n in node.all_input_nodes):
                    raise NoShape(
                        f"{_label(node)} uses the size of a tensor; give input_shape=(channels, *pixels) of one input."
                    )
                signals[node] = found
            elif any(n in signals or n in sized for n in node.all_input_nodes):
                sized.add(node)
        if node in signals:
            signals[node] = _as_seen(node, signals[node], run.kept[node])
    raise refused("a graph without output")


def _used(graph: fx.Graph) -> set[fx.Node]:
    """Nodes the output depends on, and all inputs."""
    used: set[fx.Node] = set()
    for node in reversed(graph.nodes):
        if node.op in ("output", "placeholder") or node in used:
            used.update({node, *node.all_input_nodes})
    return used


def _label(node: fx.Node) -> str:
    target = node.target
    return target if isinstance(target, str) else str(getattr(target, "__name__", repr(target)))


def _refuse_side_effect(node: fx.Node) -> None:
    """Results nobody uses do not matter, unless the call changed its tensor in place."""
    name = _label(node)
    inplace = (name.endswith("_") and not name.endswith("__")) or node.kwargs.get("inplace") is True
    if node.op in ("call_function", "call_method") and (inplace or name == "setitem"):
        raise refused(f"the operation {name}, which changes a tensor in place and whose result is dropped")


def _as_seen(node: fx.Node, signal: Signal, value: object) -> Signal:
    """The signal with torch's shape of it, which must be that of the layers but for pixels of length one."""
    if not isinstance(value, Tensor):
        raise refused(f"{_label(node)}, which gives no tensor")
    shape = (signal.shape[0], math.prod(signal.shape[1:])) if signal.merged else signal.shape
    if _without_ones(tuple(value.shape[1:])) != _without_ones(shape):
        raise refused(
            f"{_label(node)}: torch gives a tensor {tuple(value.shape)} where the layers give {signal.shape} per sample"
        )
    return replace(signal, seen=value.shape)


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    while shape and shape[-1] == 1:
        shape = shape[:-1]
    return shape


def _call(node: fx.Node, signals: dict[fx.Node, Signal], values: dict[fx.Node, object]) -> Signal | None:
    """The signal after a function or method; None where it only gives a constant (a size, a number)."""
    target, label = node.target, _label(node)

    def known(part: fx.Node) -> Argument:
        return cast(Argument, signals.get(part, values[part]))

    args: list[object] = [fx.map_arg(a, known) for a in node.args]
    kwargs: dict[str, object] = {k: fx.map_arg(v, known) for k, v in node.kwargs.items()}
    if target in SHAPES or (target is getattr and args[1:] == ["shape"]):
        return None
    if not any(n in signals for n in node.all_input_nodes):
        if target not in CONSTANTS:
            raise refused(f"the operation {label} on something other than the input")
        return None
    for targets, reader in zip(OPERATORS, (_concatenation(label), _sum, _difference, _product, _quotient)):
        if target in targets:
            return bound(label, reader, args, kwargs)
    if target not in CALLS:
        raise refused(f"the operation {label}" + (f" {args[1]!r}" if target is getattr else ""))
    return bound(label, CALLS[target], args, kwargs)


def _sum(input: object, other: object, *, alpha: object = 1) -> Signal:
    factor = number(alpha, "a sum with alpha")
    if isinstance(input, Signal) and isinstance(other, Signal):
        return summed([input, other if factor == 1 else other.then(Scale(factor))])
    if isinstance(input, Signal):
        return shifted(input, factor * number(other, "the addition of"))
    assert isinstance(other, Signal)
    return shifted(other if factor == 1 else other.then(Scale(factor)), number(input, "the addition of"))


def _difference(input: object, other: object, *, alpha: object = 1) -> Signal:
    return _sum(input, other, alpha=-number(alpha, "a difference with alpha"))


def _product(input: object, other: object) -> Signal:
    if isinstance(input, Signal) and isinstance(other, Signal):
        return multiplied([input, other])
    signal, constant = (input, other) if isinstance(input, Signal) else (other, input)
    assert isinstance(signal, Signal)
    return signal.then(Scale(number(constant, "multiplication by")))


def _quotient(input: object, other: object, *, rounding_mode: str | None = None) -> Signal:
    if rounding_mode is not None or not isinstance(input, Signal) or isinstance(other, Signal):
        raise refused("a division that is not by a constant")
    constant = number(other, "division by")
    if constant == 0:
        raise refused("a division by zero")
    return input.then(Scale(1 / constant))


def _concatenation(label: str) -> Callable[..., Signal]:
    def read(tensors: Iterable[object], dim: int = 0) -> Signal:
        given = list(tensors)
        parts = [t for t in given if isinstance(t, Signal)]
        if not parts or len(parts) < len(given):
            raise refused(f"{label} with tensors that are not made of the input")
        if dim % len(parts[0].seen) != 1:
            raise refused(f"{label} along axis {dim} (only channels, axis 1)")
        return concatenated(parts)

    return read
