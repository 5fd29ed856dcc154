"""An input shape that a module accepts, where none is given."""

from __future__ import annotations

import torch
from torch import nn

from priorscope.models.architectures.reading._graph import WithoutDropout
from priorscope.models.architectures.reading._refusal import NoShape
from priorscope.models.layers._attention import AttentionModule
from priorscope.models.layers._conv import ConvModule
from priorscope.models.layers._dense import DenseModule
from priorscope.models.layers._general_conv import GeneralConvModule
from priorscope.models.layers._layer import Shape
from priorscope.models.layers._locally_connected import LocallyConnectedModule

__all__ = ["fitting_shape"]

SIZES = (
    *range(8, 33),
    *range(7, 0, -1),
    48,
    56,
    64,
    84,
    96,
    112,
    128,
    160,
    192,
    224,
    256,
)  # pixels along each axis, tried in order


def fitting_shape(module: nn.Module) -> Shape:
    """The first shape that the module runs on: the features of its first layer, or its channels with square images."""
    candidates = _candidates(module)
    with torch.no_grad(), WithoutDropout():
        for shape in candidates:
            try:
                module(torch.zeros(3, *shape, dtype=torch.float64))
            except Exception:  # whatever a module raises, the next shape may do
                continue
            return shape
    raise NoShape(
        f"no input shape is known that {type(module).__name__} runs on; give input_shape=(channels, *pixels), "
        "the shape of one input."
    )


def _candidates(module: nn.Module) -> list[Shape]:
    """Shapes that would fit the first layer with weights."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            return [(part.in_features,)]
        if isinstance(part, DenseModule):
            n_in = part.weight.shape[1]
            return [(n_in,), *((n_in, s, s) for s in SIZES)]
        if isinstance(part, nn.Conv1d):
            return [(part.in_channels, s) for s in SIZES]
        if isinstance(part, nn.Conv2d):
            return [(part.in_channels, s, s) for s in SIZES]
        if isinstance(part, (ConvModule, GeneralConvModule)):
            n_in, n_space = part.weight.shape[1], part.weight.ndim - 2
            return [(n_in, *(s,) * n_space) for s in SIZES]
        if isinstance(part, AttentionModule):
            return [(part.query.shape[1], *(s,) * n) for s in SIZES for n in (2, 1)]
        if isinstance(part, LocallyConnectedModule):
            return []  # the filters' number depends on the pixels
    return []
