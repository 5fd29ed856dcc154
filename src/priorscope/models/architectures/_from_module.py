"""Architectures read off torch modules."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx, nn
from torch.nn import functional as F

from priorscope.models.architectures._architecture import Architecture
from priorscope.models.architectures._module_layers import layer_of
from priorscope.models.layers._activation import Activation
from priorscope.models.layers._attention import Attention
from priorscope.models.layers._concatenate import Concatenate
from priorscope.models.layers._conv import Conv
from priorscope.models.layers._dense import Dense
from priorscope.models.layers._flatten import Flatten
from priorscope.models.layers._global_pool import GlobalAvgPool, GlobalSumPool
from priorscope.models.layers._layer import Layer, Shape
from priorscope.models.layers._layer_norm import LayerNorm
from priorscope.models.layers._locally_connected import LocallyConnected
from priorscope.models.layers._parallel_sum import ParallelSum
from priorscope.models.layers._product import Product
from priorscope.models.layers._sequential import Sequential
from priorscope.models.layers._window_pool import AvgPool, SumPool
from priorscope.models.networks._antisymmetric import Antisymmetric

__all__ = ["from_module"]

Chain = tuple[tuple[str, Layer], ...]  # layers from the input to a node, each with the name of the node that made it

_POINTWISE: dict[Any, str | Callable[[torch.Tensor], torch.Tensor]] = {
    torch.relu: "relu",
    F.relu: "relu",
    torch.tanh: "tanh",
    F.tanh: "tanh",
    torch.sigmoid: "sigmoid",
    F.sigmoid: "sigmoid",
    torch.erf: "erf",
    torch.sin: "sine",
    torch.cos: "cosine",
    torch.abs: "abs",
    torch.sign: "sign",
    torch.exp: "exponential",
    F.softplus: "softplus",
    F.silu: "silu",
    "relu": "relu",
    "tanh": "tanh",
    "sigmoid": "sigmoid",
    "erf": "erf",
    "sin": "sine",
    "cos": "cosine",
    "abs": "abs",
    "sign": "sign",
    "exp": "exponential",
}


def from_module(module: nn.Module, input_shape: Shape | None = None, *, variances: str = "measured") -> Architecture:
    """The architecture of a network you already have, so that its infinite-width kernel can be computed.

    Reads ``nn.Sequential`` and whatever ``torch.fx`` can trace: Linear, Conv1d/2d, pools, Flatten, Dropout, LayerNorm over
    channels, the usual nonlinearities, sums, products and concatenations of branches. What has no kernel is refused by name.

    ``variances="measured"`` takes the weights as they are: weight variance = fan-in × mean square of the weights, bias
    variance = mean square of the biases. ``variances="torch"`` takes torch's default initialisation instead: 1/3, and
    1/(3 fan-in) for biases. The kernel is that of the NTK parametrisation with these variances; a module in torch's own
    parametrisation has the same distribution of outputs, but its gradients carry no factor of 1/fan-in.

    ``input_shape`` (channels, *pixels) is used to check that the layers fit. Networks made by priorscope give their own
    layers back exactly.

    Example:
        >>> import torch
        >>> net = torch.nn.Sequential(torch.nn.Linear(3, 50), torch.nn.ReLU(), torch.nn.Linear(50, 1))
        >>> [type(layer).__name__ for layer in from_module(net, variances="torch").layers]
        ['Dense', 'Activation', 'Dense']
    """
    if variances not in ("measured", "torch"):
        raise ValueError(f"variances must be 'measured' or 'torch'; got {variances!r}.")
    if not isinstance(module, nn.Module):
        raise TypeError(f"from_module needs a torch.nn.Module; got {type(module).__name__}.")
    if isinstance(module, Antisymmetric):
        module = module.plus
    layers = _read(module, variances)
    if any(isinstance(part, (nn.Linear, nn.LayerNorm)) for part in module.modules()):
        _check_last_axis(layers, input_shape is not None and len(input_shape) > 1)
    name = type(module).__name__.lower()
    arch = Architecture(name, tuple(layers))
    if input_shape is not None:
        arch.check_input_shape(tuple(input_shape))
    return arch


def _read(module: nn.Module, variances: str) -> list[Layer]:
    """Layers of one module, by itself or by its parts."""
    if isinstance(module, nn.Sequential):
        return [layer for part in module for layer in _read(part, variances)]
    known = layer_of(module, variances, _read)
    if known is not None:
        return [] if known == () else list(known)
    if type(module).__module__.startswith("torch.nn"):
        raise _refused(f"the module {type(module).__name__}")
    try:
        graph = _Tracer().trace(module)
    except Exception as error:
        raise NotImplementedError(
            f"from_module cannot trace {type(module).__name__} with torch.fx ({error}). "
            "Rewrite its forward without data-dependent control flow, or build the Architecture from layers."
        ) from error
    return _read_graph(module, graph, variances)


def _check_last_axis(layers: Sequence[Layer], pixels: bool) -> bool:
    """Refuse torch layers that act on the last axis where that is a pixel axis; returns whether pixels are left."""
    for layer in layers:
        if isinstance(layer, (Dense, LayerNorm)) and pixels:
            name = "Linear" if isinstance(layer, Dense) else "LayerNorm"
            raise _refused(
                f"{name} on inputs with pixels (it acts on the last axis, not on channels); flatten before it"
            )
        if isinstance(layer, (Flatten, GlobalAvgPool, GlobalSumPool)):
            pixels = False
        elif isinstance(layer, (Conv, LocallyConnected, AvgPool, SumPool, Attention)):
            pixels = True
        elif isinstance(layer, Sequential):
            pixels = _check_last_axis(layer.layers, pixels)
        elif isinstance(layer, (ParallelSum, Product, Concatenate)):
            pixels = any([_check_last_axis((branch,), pixels) for branch in layer.branches])
    return pixels


class _Tracer(fx.Tracer):
    """Stops at torch's own modules and at ours."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return (
            isinstance(m, nn.Sequential)
            or layer_of(m, "torch", _read, probe=True)
            or super().is_leaf_module(m, module_qualified_name)
        )


def _read_graph(root: nn.Module, graph: fx.Graph, variances: str) -> list[Layer]:
    used = _used(graph)
    chains: dict[fx.Node, Chain] = {}
    seen: set[int] = set()
    for node in (n for n in graph.nodes if n in used):
        if node.op == "placeholder":
            if chains:
                raise _refused(f"a second input ({node.name})")
            chains[node] = ()
        elif node.op == "output":
            result = node.args[0]
            if not isinstance(result, fx.Node):
                raise _refused("an output that is not one tensor")
            return [layer for _, layer in chains[result]]
        elif node.op == "call_module":
            part = root.get_submodule(str(node.target))
            if id(part) in seen and any(True for _ in part.parameters()):
                raise _refused(f"the module {node.target} used twice with the same weights")
            seen.add(id(part))
            before = chains[node.args[0]]
            chains[node] = before + tuple((f"{node.name}/{i}", layer) for i, layer in enumerate(_read(part, variances)))
        else:
            chains[node] = _call(node, chains)
    raise _refused("a graph without output")


def _used(graph: fx.Graph) -> set[fx.Node]:
    """Nodes the output depends on, and all inputs."""
    used: set[fx.Node] = set()
    for node in reversed(graph.nodes):
        if node.op in ("output", "placeholder") or node in used:
            used.update({node, *node.all_input_nodes})
    return used


def _call(node: fx.Node, chains: dict[fx.Node, Chain]) -> Chain:
    target = node.target
    label = target if isinstance(target, str) else getattr(target, "__name__", repr(target))
    nodes = [a for a in node.args if isinstance(a, fx.Node)]
    if target in (operator.add, operator.iadd, torch.add, "add", "add_") and len(nodes) == 2:
        return _join(node, [chains[n] for n in nodes], ParallelSum)
    if target in (operator.mul, operator.imul, torch.mul, "mul") and len(nodes) == 2:
        return _join(node, [chains[n] for n in nodes], Product)
    if target in (torch.cat, torch.concat, torch.concatenate):
        dim = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)
        if dim != 1:
            raise _refused(f"{label} along axis {dim} (only channels, axis 1)")
        return _join(node, [chains[n] for n in node.args[0]], Concatenate)  # type: ignore[union-attr,index]
    if not nodes:
        raise _refused(f"the operation {label}")
    before = chains[nodes[0]]
    add = lambda layer: (*before, (node.name, layer))  # noqa: E731
    if target in _POINTWISE:
        return add(Activation(_POINTWISE[target]))
    if target is F.gelu:
        return add(Activation("gelu" if node.kwargs.get("approximate", "none") == "none" else _tanh_gelu))
    if target in (torch.flatten, "flatten"):
        start = node.args[1] if len(node.args) > 1 else node.kwargs.get("start_dim", 0)
        if start != 1:
            raise _refused(f"flatten from axis {start} (only from axis 1)")
        return add(Flatten())
    if target in (torch.mean, "mean", torch.sum, "sum"):
        axes = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
        axes = (axes,) if isinstance(axes, int) else tuple(axes or ())  # type: ignore[arg-type]
        if set(axes) not in ({2}, {2, 3}, {-1}, {-1, -2}):
            raise _refused(f"{label} over axes {axes} (only over all pixels)")
        return add(GlobalAvgPool() if target in (torch.mean, "mean") else GlobalSumPool())
    raise _refused(f"the operation {label}")


def _join(node: fx.Node, chains: list[Chain], kind: type) -> Chain:
    """Branches part where their chains stop being the same."""
    shared = 0
    while all(len(c) > shared for c in chains) and len({c[shared][0] for c in chains}) == 1:
        shared += 1
    branches = tuple(Sequential(tuple(layer for _, layer in c[shared:])) for c in chains)
    return (*chains[0][:shared], (node.name, kind(branches)))


def _tanh_gelu(x: torch.Tensor) -> torch.Tensor:
    return F.gelu(x, approximate="tanh")


def _refused(what: str) -> NotImplementedError:
    return NotImplementedError(
        f"from_module has no kernel for {what}. Supported: Linear, Conv1d/2d, average pools, Flatten, Dropout, LayerNorm over "
        "channels, pointwise nonlinearities, sums, products and concatenations. Build the Architecture from layers instead."
    )
