"""The tangent kernel of a network as it stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Literal

import torch
from torch import Tensor, nn

from priorscope.checks import optional, whole
from priorscope.contracts import NetworkEnsemble, guarded, is_network_stack, require
from priorscope.models.layers import Form, Outputs, inner_products
from priorscope.probes.tangent._apart import check_apart, check_takes
from priorscope.probes.tangent._capture import as_rows
from priorscope.probes.tangent._jacobian import jacobian, trainable
from priorscope.probes.tangent._layerwise import Layerwise
from priorscope.probes.tangent._ntk_vector import ntk_vector_block

Method = Literal["auto", "jacobian", "ntk-vector", "layerwise"]


@guarded(block=optional(whole()), memory=whole())
def empirical_ntk(
    network: nn.Module | Sequence[nn.Module],
    x1: Tensor,
    x2: Tensor | None = None,
    outputs: Outputs = "sum",
    method: Method = "auto",
    *,
    block: int | None = None,
    memory: int = 2**29,
    states: Iterable[Mapping[str, Tensor]] | None = None,
) -> Tensor:
    r"""The tangent kernel of a network at its present parameters, for any ``nn.Module``.

    .. math:: \Theta_{ab}(x, x') = \sum_\theta \partial_\theta f_a(x)\, \partial_\theta f_b(x')

    over the parameters with ``requires_grad`` (Jacot, Gabriel & Hongler 2018, Sec. 4). Layer by layer, the gradient of a
    weight used at positions p is :math:`\sum_p b_p a_p^T` (activations a, backpropagated deltas b), so its share of the
    kernel is :math:`\sum_{pq} (a_p \cdot a'_q)(b_p \cdot b'_q)` and no Jacobian is formed.

    Args:
        network: a module (n, ...) -> (n, ...), in eval mode; or several (an ensemble), stacked on a first axis.
        x1: inputs (n1, ...).
        x2: inputs (n2, ...); x1 itself unless given.
        outputs: "sum" gives (n1, n2), :math:`\sum_a \Theta_{aa}`; "logit" (n1, n2, C), each :math:`\Theta_{aa}`;
            "full" (n1, n2, C, C).
        method: "layerwise" (products of Grams per layer), "jacobian" (per-sample Jacobians, contracted), "ntk-vector"
            (products with unit vectors), or "auto": layerwise where its answer agrees with autodiff on two samples,
            otherwise the cheaper of the other two.
        block: samples per block; from ``memory`` unless given.
        memory: bytes that gradients may take at a time. Default 2**29, ours.
        states: state dicts, as of a training trajectory: one kernel each, stacked on a first axis.

    Holds: symmetric positive semidefinite when x2 is None; all methods agree to round-off.

    Example:
        >>> network = torch.nn.Linear(3, 1, bias=False)
        >>> empirical_ntk(network, torch.eye(3)).tolist()  # gradients are the inputs themselves
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if states is not None:
        if not isinstance(network, nn.Module) or _members(network) is not None:
            raise ValueError("empirical_ntk takes states for a single network; got several. Call it once per network.")
        moved = deepcopy(network)
        kernels = []
        for state in states:
            moved.load_state_dict(state)
            kernels.append(_single(moved, x1, x2, outputs, method, block, memory))
        return torch.stack(kernels)
    members = list(network) if isinstance(network, Sequence) else _members(network)
    if members is not None:
        return torch.stack([_single(member, x1, x2, outputs, method, block, memory) for member in members])
    if not isinstance(network, nn.Module):
        raise TypeError(
            f"empirical_ntk needs an nn.Module, several, or an ensemble; got {type(network).__name__}. An architecture becomes a "
            "network by .network(input_shape, width=…), and has the kernel of infinite width by .kernel(x)."
        )
    return _single(network, x1, x2, outputs, method, block, memory)


def _members(network: nn.Module) -> list[nn.Module] | None:
    """The networks of an ensemble (a module with ``stacked`` parameters and ``network(i)``), or None."""
    if is_network_stack(network):
        advice = "Pass the networks one by one."
        ensemble = require(network, NetworkEnsemble, "a stack whose networks can be taken out", advice)
        return [ensemble.member(i) for i in range(len(ensemble))]
    return None


def _single(
    network: nn.Module,
    x1: Tensor,
    x2: Tensor | None,
    outputs: Outputs,
    method: Method,
    block: int | None,
    memory: int,
) -> Tensor:
    """Compute the kernel of one network by the method asked for, or by the one that suits it."""
    _check(network, x1, x2, outputs, method)
    _check_outputs(network, x1)
    if method in ("auto", "layerwise"):
        engine = Layerwise(network, outputs)
        if not engine.plain:
            check_apart(network, x1, "empirical_ntk")
        if engine.plain or _agrees(network, x1):
            return _by_forms(engine, x1, x2, block, memory)
        if method == "layerwise":
            raise ValueError(
                "empirical_ntk(method='layerwise') disagrees with autodiff on this network: it uses a layer's "
                "parameter outside that layer's call, or mixes samples. Use method='jacobian' or 'auto'."
            )
        method = _cheaper_method(network, x1, outputs)
    else:
        check_apart(network, x1, "empirical_ntk")
    n_params = sum(param.numel() for param in trainable(network).values())
    with torch.no_grad():
        n_out = as_rows(network(x1[:1]), 1).shape[1]
    per_sample = n_params * x1.element_size() * (n_out if method == "jacobian" else 1)
    if block is None and method == "ntk-vector":
        block = max(1, int((memory // (3 * per_sample * n_out)) ** 0.5))  # one parameter vector per pair
    block = block or max(1, memory // (3 * per_sample))
    return _by_blocks(network, x1, x2, outputs, method, block)


def _by_forms(engine: Layerwise, x1: Tensor, x2: Tensor | None, block: int | None, memory: int) -> Tensor:
    """Blocks of forms; as many as fit are kept so that they are made once."""
    longest = max(len(x1), 0 if x2 is None else len(x2))
    if block is None and longest > 256:
        sample = sum(form.n_bytes for form in engine.forms(x1[:1]).values())
        block = max(1, min(longest, memory // (2 * max(sample, 1))))
    size = block or longest
    right = x1 if x2 is None else x2
    kept: dict[int, dict[str, Form]] = {}
    held = 0
    starts = range(0, len(right), size)
    out: Tensor | None = None
    for i in range(0, len(x1), size):
        left_forms = kept.get(i) if x2 is None else None
        left_forms = engine.forms(x1[i : i + size]) if left_forms is None else left_forms
        for j in starts:
            if x2 is None and j < i:
                continue
            if x2 is None and j == i:
                forms = left_forms
            elif j in kept:
                forms = kept[j]
            else:
                forms = engine.forms(right[j : j + size])
                cost = sum(form.n_bytes for form in forms.values())
                if held + cost <= memory // 2:
                    kept[j], held = forms, held + cost
            tile = engine.gram(left_forms, forms)
            if size >= len(x1) and size >= len(right):
                return tile
            if out is None:
                out = tile.new_empty(len(x1), len(right), *tile.shape[2:])
            out[i : i + size, j : j + size] = tile
            if x2 is None and j > i:
                flipped = tile.transpose(0, 1)
                out[j : j + size, i : i + size] = flipped.transpose(2, 3) if engine.outputs == "full" else flipped
    assert out is not None
    return out


def _by_blocks(
    network: nn.Module, x1: Tensor, x2: Tensor | None, outputs: Outputs, method: Method, size: int
) -> Tensor:
    """Put the kernel together from blocks of Jacobians or of NTK-vector products."""
    right = x1 if x2 is None else x2
    strips = []
    for i in range(0, len(x1), size):
        left = jacobian(network, x1[i : i + size]) if method == "jacobian" else x1[i : i + size]
        tiles = []
        for j in range(0, len(right), size):
            part = right[j : j + size]
            if method == "ntk-vector":
                tiles.append(ntk_vector_block(network, left, part, outputs))
                continue
            other = left if x2 is None and i == j else jacobian(network, part)
            tiles.append(inner_products(left, other, outputs))
        strips.append(torch.cat(tiles, 1))
    return torch.cat(strips)


def _agrees(network: nn.Module, x: Tensor) -> bool:
    """Whether the layerwise kernel of two samples, along a random direction of the outputs, is autodiff's."""
    pair = x[:2]
    params = list(trainable(network).values())
    try:
        with torch.no_grad():
            n_out = as_rows(network(pair), len(pair)).shape[1]
        generator = torch.Generator().manual_seed(0)
        direction = torch.randn(n_out, generator=generator, dtype=torch.float64).to(pair.device)
        engine = Layerwise(network, "full")
        forms = engine.forms(pair)
        full = engine.gram(forms, forms)
        found = torch.einsum("nmcd,c,d->nm", full.double(), direction, direction)
    except (RuntimeError, NotImplementedError):
        return False
    rows = []
    with torch.enable_grad():
        for one in pair:  # one at a time: a network that mixes samples shows here
            value = as_rows(network(one.unsqueeze(0)), 1)[0].double() @ direction
            grads = torch.autograd.grad(value, params, allow_unused=True)
            rows.append(
                torch.cat(
                    [(p.new_zeros(p.shape) if g is None else g).flatten().double() for g, p in zip(grads, params)]
                )
            )
    wanted = torch.stack(rows) @ torch.stack(rows).mT
    exact = full.dtype == torch.float64 and all(param.dtype == torch.float64 for param in params)
    tolerance = 1e-8 if exact else 1e-3  # round-off of sums over parameters, not a wrong term
    return bool((found - wanted).abs().max() <= tolerance * wanted.diagonal().max())


def _cheaper_method(network: nn.Module, x: Tensor, outputs: Outputs) -> Method:
    """Jacobians cost C² (full) or C times the parameters per pair, NTK-vector products C forward passes per pair."""
    from torch.utils.flop_counter import FlopCounterMode

    n_params = sum(param.numel() for param in trainable(network).values())
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        n_out = as_rows(network(x[:1]), 1).shape[1]
    contraction = n_params * (n_out**2 if outputs == "full" else n_out)
    products = 2 * n_out * max(counter.get_total_flops(), n_params)
    return "ntk-vector" if products < contraction else "jacobian"


def _check(network: nn.Module, x1: Tensor, x2: Tensor | None, outputs: str, method: str) -> None:
    """Refuse unknown options, empty or non-finite inputs, and networks that have no tangent kernel."""
    if outputs not in ("sum", "full", "logit"):
        raise ValueError(f"outputs must be 'sum', 'full' or 'logit'; got {outputs!r}.")
    if method not in ("auto", "jacobian", "ntk-vector", "layerwise"):
        raise ValueError(f"method must be 'auto', 'jacobian', 'ntk-vector' or 'layerwise'; got {method!r}.")
    for name, x in (("x1", x1), ("x2", x2)):
        if x is not None and (x.ndim < 1 or len(x) == 0):
            raise ValueError(f"empirical_ntk needs at least one input in {name}; got shape {tuple(x.shape)}.")
        if x is not None and x.is_floating_point() and not bool(torch.isfinite(x).all()):
            raise ValueError(f"empirical_ntk needs finite inputs; {name} has NaN or infinity. Clean it first.")
    if any(param.device.type == "meta" for param in network.parameters()):
        raise ValueError(
            "empirical_ntk needs weights with values; this network's are on the meta device. Call network.to_empty(device=…) "
            "and draw or load its weights."
        )
    if not trainable(network):
        raise ValueError("empirical_ntk needs a network with parameters that require gradients; this one has none.")
    for module in network.modules():
        mixing = isinstance(module, nn.modules.batchnorm._BatchNorm | nn.modules.dropout._DropoutNd)
        if mixing and module.training:
            raise ValueError(
                f"empirical_ntk needs {type(module).__name__} in eval mode (in training mode samples mix or outputs "
                "are random, and no kernel exists); got training mode. Call network.eval() first."
            )


def _check_outputs(network: nn.Module, x1: Tensor) -> None:
    """Refuse inputs that the network does not take, and outputs that have no gradient."""
    found = as_rows(check_takes(network, x1[:1], "empirical_ntk"), 1)
    if not found.is_floating_point():
        raise ValueError(
            f"empirical_ntk needs outputs of floating point, which have gradients; {type(network).__name__} gives {found.dtype}. "
            "Leave the rounding, or the choice of a class, out of its forward."
        )
