"""The average gradient outer product of a function: of a network, of a fitted predictor, of a family at initialisation."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Unpack, cast

import torch
from torch import Tensor, nn

from priorscope.checks import SEED, whole
from priorscope.contracts import (
    GradientPredictor,
    NetworkOptions,
    Samples,
    guarded,
    is_network_maker,
    missing,
    name_of,
    require,
)
from priorscope.probes.geometry._draws import Drawn, Draws
from priorscope.probes.geometry._engine import rows_by_loop
from priorscope.probes.geometry._gradient_rows import GradientRows
from priorscope.probes.geometry._outer_result import GradientOuterProduct
from priorscope.probes.geometry._probes import Probes
from priorscope.system import Outcome

__all__ = ["function_gradients", "gradient_outer_product", "inputs_of"]

NUMBERS = 40_000_000  # of gradients kept
OUTPUTS = 32  # up to which each output is differentiated by itself
SIGNS = 16  # random combinations of the outputs where there are more


@guarded(n_samples=whole(2), n_models=whole(2), n_probes=whole(), n_modes=whole(), seed=SEED)
def gradient_outer_product(
    model: Drawn | GradientPredictor | Outcome,
    data: Samples | Tensor,
    *,
    n_samples: int = 1000,
    n_models: int = 500,
    n_probes: int = 16,
    n_modes: int = 16,
    seed: int = 0,
    **network: Unpack[NetworkOptions],
) -> GradientOuterProduct:
    r"""Average gradient outer product :math:`M = E_x[\nabla f(x)\,\nabla f(x)^\top]`: which directions of the input a
    function uses.

    ``model`` is

    - an ``nn.Module``, at its present weights, in evaluation mode: fresh, on the way, or trained;
    - a fitted predictor that gives its gradients (kernel regression, a feature machine, trained networks), or the outcome of
    a system; - an architecture: at initialisation, averaged over ``n_models`` networks (``network`` passes width,
    parametrisation …) with
      ``n_probes`` inputs each. It is then the average geometry with the data as probes, by the same engine
      (:func:`average_geometry`); for a module drawn again, use that.

    The mean is over up to ``n_samples`` inputs of ``data`` (a data set, its training part, or a tensor) and over outputs;
    more than 32 outputs are combined by random signs, which keeps the mean. Errors are over samples, or over networks. Above
    3,000 inputs M is never formed. Source: Radhakrishnan et al. (2024), Science 383, 1461, there for the input of
    every layer (:func:`feature_ansatz`); Samarov (1993), JASA 88, 836.

    Example:
        >>> net = nn.Linear(3, 1)
        >>> M = gradient_outer_product(net, torch.randn(10, 3))
        >>> bool(torch.allclose(M.matrix, torch.outer(net.weight[0], net.weight[0]).double()))
        True
    """
    x = inputs_of(data)
    generator = torch.Generator().manual_seed(seed)
    if isinstance(model, Outcome):
        return _of_outcome(model, x, n_samples, n_modes, generator)
    if isinstance(model, nn.Module):
        return _of_function(_evaluating(model), x, name_of(model), n_samples, n_modes, generator, _dtype(model))
    if not missing(model, GradientPredictor):
        return _of_gradients(cast(GradientPredictor, model), x, n_samples, n_modes, generator)
    if is_network_maker(model) or isinstance(model, list | tuple) or callable(model):
        return _of_family(model, x, n_models, n_probes, n_modes, seed, **network)
    raise TypeError(
        f"gradient_outer_product takes an nn.Module, a fitted predictor with .gradients, or an architecture; got "
        f"{type(model).__name__}. Kernel regression and feature machines give their gradients; wrap other predictors in a module."
    )


def _samples(data: object) -> Samples:
    return require(data, Samples, "a data set, or a tensor of inputs", "Convert arrays by torch.as_tensor(array).")


def inputs_of(data: Samples | Tensor) -> Tensor:
    """The inputs of a data set, or the tensor itself; finite, at least two of them."""
    x = data if isinstance(data, Tensor) else _samples(data).inputs
    if x.ndim < 2 or len(x) < 2 or not bool(torch.isfinite(x).all()):
        raise ValueError(
            f"gradients are averaged over at least two finite inputs (n, *input_shape); got {tuple(x.shape)}."
        )
    return x.detach()


def _dtype(network: nn.Module) -> torch.dtype:
    return next((p.dtype for p in network.parameters() if p.is_floating_point()), torch.get_default_dtype())


def _evaluating(network: nn.Module) -> Callable[[Tensor], Tensor]:
    """A copy in evaluation mode whose parameters ask for no gradient; the user's network is left as it was."""
    still = copy.deepcopy(network).eval().requires_grad_(False)
    return lambda z: still(z)


def some_of(x: Tensor, per_input: int, n_samples: int, generator: torch.Generator) -> tuple[Tensor, tuple[str, ...]]:
    """Random inputs, as many as were asked for and as their gradients fit; and a note where those are fewer."""
    count = min(len(x), n_samples)
    most = max(2, NUMBERS // max(per_input * x[0].numel(), 1))
    notes = (f"{most} of {count} inputs: the gradients of more would not fit",) if most < count else ()
    count = min(count, most)
    chosen = x if count == len(x) else x[torch.randperm(len(x), generator=generator)[:count].sort().values]
    return chosen, notes


def function_gradients(function: Callable[[Tensor], Tensor], x: Tensor, cotangents: Tensor) -> Tensor:
    """Gradients (n, r, D) of a function (n, *shape) -> (n, outputs) along ``cotangents`` (r, outputs), in blocks of inputs."""
    r, found = len(cotangents), []
    for part in x.split(256):
        along = cotangents[None, :, None, :].expand(1, r, len(part), cotangents.shape[1])
        rows = rows_by_loop(lambda _, z: function(z), {}, part[None], along)
        found.append(rows.reshape(r, len(part), -1).transpose(0, 1))
    return torch.cat(found)


def _of_function(
    function: Callable[[Tensor], Tensor],
    x: Tensor,
    name: str,
    n_samples: int,
    n_modes: int,
    generator: torch.Generator,
    dtype: torch.dtype,
) -> GradientOuterProduct:
    """The outer product of a function (n, *shape) -> (n, outputs), by automatic differentiation."""
    x = x.to(dtype)
    with torch.no_grad():
        out = function(x[:2])
    if not isinstance(out, Tensor) or out.ndim != 2 or len(out) != 2:
        got = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
        raise ValueError(f"the network must map (n, *input_shape) to (n, outputs); for n = 2 it gave {got}.")
    outputs = out.shape[1]
    notes: tuple[str, ...] = ()
    if outputs <= OUTPUTS:
        cotangents = torch.eye(outputs, dtype=dtype) / outputs**0.5
    else:
        signs = 2.0 * torch.randint(0, 2, (SIGNS, outputs), generator=generator) - 1
        cotangents = (signs / (SIGNS * outputs) ** 0.5).to(dtype)
        notes = (f"{outputs} outputs were combined by {SIGNS} random signs",)
    chosen, more = some_of(x, len(cotangents), n_samples, generator)
    rows = function_gradients(function, chosen, cotangents)
    return _result(rows, tuple(x.shape[1:]), name, "sample", n_modes, (*notes, *more))


def _of_gradients(
    model: GradientPredictor, x: Tensor, n_samples: int, n_modes: int, generator: torch.Generator
) -> GradientOuterProduct:
    chosen, notes = some_of(x, int(model.gradients(x[:1]).shape[-x.ndim]), n_samples, generator)
    found = model.gradients(chosen)  # (n, outputs, *shape), or with networks first
    shape = tuple(x.shape[1:])
    lead = found.ndim - len(shape)
    rows = found.flatten(lead) / found.shape[lead - 1] ** 0.5
    if lead == 3:  # networks, samples, outputs
        rows = rows.flatten(1, 2) / found.shape[1] ** 0.5
    return _result(rows, shape, name_of(model), "network" if lead == 3 else "sample", n_modes, notes)


def _of_outcome(
    outcome: Outcome, x: Tensor, n_samples: int, n_modes: int, generator: torch.Generator
) -> GradientOuterProduct:
    fitted = outcome.fitted
    lacks = missing(fitted, GradientPredictor)
    if lacks:
        raise TypeError(
            f"wanted an outcome whose fitted result gives gradients; {type(fitted).__name__} has no {', '.join(lacks)}. "
            "KernelRegression, FeatureMachine, GradientFlow and GradientDescent do."
        )
    return _of_gradients(cast(GradientPredictor, fitted), x, n_samples, n_modes, generator)


def _of_family(
    model: Drawn, x: Tensor, n_models: int, n_probes: int, n_modes: int, seed: int, **network: Unpack[NetworkOptions]
) -> GradientOuterProduct:
    """At initialisation: one unit per network, whose rows are the gradients at its probes; readouts integrated out."""
    shape = tuple(x.shape[1:])
    made = GradientRows(Draws(model, shape, seed, **network), Probes.of(x, n_probes, 1.0), "auto", "auto")
    each = made.per_probe * n_probes * x[0].numel()
    most = min(n_models, max(2, NUMBERS // each))
    block = made.block_size(most)
    sizes = [min(block, most - start) for start in range(0, most, block)]
    found = [made.rows(n).reshape(n, -1, x[0].numel()) for n in sizes]
    rows = torch.cat(found).double() * (made.readout_variance() / n_probes) ** 0.5
    notes = (*made.notes, *([f"{most} of {n_models} networks: more would not fit"] if most < n_models else []))
    return _result(rows, shape, f"{name_of(model)} at initialisation", "network", n_modes, notes)


def _result(
    rows: Tensor, shape: tuple[int, ...], name: str, unit: str, n_modes: int, notes: tuple[str, ...]
) -> GradientOuterProduct:
    if not bool(torch.isfinite(rows).all()):
        raise ValueError(f"{name} has gradients that are not finite on these inputs; check its weights and the inputs.")
    if not bool(rows.any()):
        raise ValueError(f"{name} ignores its input: all gradients with respect to it are zero.")
    return GradientOuterProduct(rows.detach(), shape, name, unit, n_modes, notes)
