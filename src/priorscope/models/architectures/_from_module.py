"""Architectures read off torch modules."""

from __future__ import annotations

import copy
from typing import Literal, overload

import torch
from torch import nn

from priorscope.checks import SEED, checked, whole
from priorscope.models.architectures._architecture import Architecture
from priorscope.models.architectures._sampled import SampledModel
from priorscope.models.architectures.reading._check import check_conversion
from priorscope.models.architectures.reading._fold import folded
from priorscope.models.architectures.reading._graph import WithoutDropout, read_graph, refuse_unknown, traced
from priorscope.models.architectures.reading._guard import guard, guard_object
from priorscope.models.architectures.reading._input_shape import fitting_shape
from priorscope.models.architectures.reading._law import check_laws, refuse_related
from priorscope.models.architectures.reading._refusal import NoLaw, NoShape, Refusal, RelatedWeights, refused
from priorscope.models.architectures.reading._signal import layers_of
from priorscope.models.layers._layer import Shape
from priorscope.models.networks._antisymmetric import Antisymmetric

__all__ = ["from_module"]

BATCHES = (3, 4)  # sizes of the batches of the check: two, so that a size written into the module shows


@overload
def from_module(
    module: nn.Module, input_shape: Shape | None = None, *, variances: str = "measured", fallback: None = None
) -> Architecture: ...


@overload
def from_module(
    module: nn.Module,
    input_shape: Shape | None = None,
    *,
    variances: str = "measured",
    fallback: Literal["sampled"],
    draws: int = 64,
    seed: int = 0,
) -> Architecture | SampledModel: ...


@checked(draws=whole(2), seed=SEED)
def from_module(
    module: nn.Module,
    input_shape: Shape | None = None,
    *,
    variances: str = "measured",
    fallback: Literal["sampled"] | None = None,
    draws: int = 64,
    seed: int = 0,
) -> Architecture | SampledModel:
    """The architecture of a network you already have, so that its infinite-width kernel can be computed.

    Reads what ``torch.fx`` can trace: Linear, Conv1d/2d, average pools, Flatten, Dropout, norms over channels, pointwise
    nonlinearities, constant factors, sums, products and concatenations of branches, as modules, functions or methods. Only
    exact types and known arguments are read, and every conversion is checked: the finite network of the layers, with the
    module's own weights, must give the module's outputs and gradients on two random batches (float64, dropout off), else
    it is refused with the size of the difference. What has no kernel is refused by name.

    ``variances="measured"`` takes the weights as they are: weight variance = fan-in × mean square of the weights, bias
    variance = mean square of the biases. ``variances="torch"`` takes torch's default initialisation instead: 1/3, and
    1/(3 fan-in) for biases. The kernel is that of the NTK parametrisation with these variances; a module in torch's own
    parametrisation has the same distribution of outputs, but its gradients carry no factor of 1/fan-in.

    ``input_shape`` (channels, *pixels) is the shape of one input; without it, one that the module accepts is looked for.
    Networks made by priorscope give their own layers back exactly. Constant factors are taken up by the weights beside
    them, which leaves the kernel as it is. Learnt factors of norms and slopes of PReLU are taken as fixed. Fewer than 64 biases
    that torch's law may have drawn are taken to have its variance.

    ``fallback="sampled"`` gives, where there is no closed form, a :class:`SampledModel`: its ``kernel`` is the mean over
    ``draws`` networks like the module (``seed`` chooses them), with a standard error. Where the weights are related to one
    another, as training leaves them, it is the kernel at these weights, and ``notes`` say so.

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
    if fallback not in (None, "sampled"):
        raise ValueError(f"fallback must be None or 'sampled'; got {fallback!r}.")
    try:
        return _read(module, input_shape, variances)
    except (Refusal, NoShape) as refusal:
        trained = isinstance(refusal, RelatedWeights) and variances == "measured"
        if fallback is None or (isinstance(refusal, NoLaw) and not trained):
            raise
        why = str(refusal).split(". ")[0]
        if trained:
            return SampledModel.at_weights(module, why)
        return SampledModel.of(module, variances=variances, draws=draws, seed=seed, why=why)


def _read(module: nn.Module, input_shape: Shape | None, variances: str) -> Architecture:
    """The architecture in closed form, or a refusal."""
    if type(module) is Antisymmetric:
        guard_object("Antisymmetric", module)
        module = module.plus
    name = type(module).__name__.lower()
    guard(module)
    double = _copied(module)
    refuse_related(double)
    root, graph = traced(double)
    refuse_unknown(root, graph)
    shape = fitting_shape(double) if input_shape is None else tuple(int(s) for s in input_shape)
    generator = torch.Generator().manual_seed(0)
    batches = [torch.randn(n, *shape, generator=generator, dtype=torch.float64) for n in BATCHES]
    _check_runs(double, batches[0])
    signal = read_graph(root, graph, batches[0], variances, shape_given=input_shape is not None)
    if not signal.parts:
        raise refused("a module without layers")
    check_conversion(double, signal, batches)
    if variances == "measured":
        check_laws(signal.parts)
    arch = Architecture(name, folded(layers_of(signal.parts)))
    if input_shape is not None:
        arch.check_input_shape(shape)
    return arch


def _copied(module: nn.Module) -> nn.Module:
    """A copy in float64 on the CPU, so that reading leaves the module as it is."""
    try:
        return copy.deepcopy(module).to("cpu", torch.float64)
    except Exception as error:
        raise refused(f"{type(module).__name__}, which cannot be copied ({error})") from error


def _check_runs(module: nn.Module, x: torch.Tensor) -> None:
    try:
        with torch.no_grad(), WithoutDropout():
            module(x.clone())
    except Exception as error:
        raise ValueError(
            f"{type(module).__name__} does not run on inputs of shape {tuple(x.shape[1:])} in float64: {error}. "
            "Give the shape of one input, (channels, *pixels), as input_shape."
        ) from error
