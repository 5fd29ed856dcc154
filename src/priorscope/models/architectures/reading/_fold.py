"""Constant factors moved into the weights beside them, where the kernel stays the same to the last term."""

from __future__ import annotations

from dataclasses import replace

from priorscope.models.layers._concatenate import Concatenate
from priorscope.models.layers._conv import Conv
from priorscope.models.layers._dense import Dense
from priorscope.models.layers._dropout import Dropout
from priorscope.models.layers._flatten import Flatten
from priorscope.models.layers._general_conv import GeneralConv
from priorscope.models.layers._general_pool import GeneralAvgPool, ZeroPad
from priorscope.models.layers._global_pool import GlobalAvgPool, GlobalSumPool
from priorscope.models.layers._layer import Layer
from priorscope.models.layers._parallel_sum import ParallelSum
from priorscope.models.layers._product import Product
from priorscope.models.layers._scale import Scale
from priorscope.models.layers._sequential import Sequential
from priorscope.models.layers._window_pool import AvgPool, SumPool

__all__ = ["folded"]

LINEAR = (Flatten, GlobalAvgPool, GlobalSumPool, AvgPool, SumPool, GeneralAvgPool, ZeroPad, Dropout)


def folded(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    r"""The layers without those constant factors c that a layer with weights takes up.

    After weights, :math:`c^2(\sigma_w^2 K + \sigma_b^2)` and :math:`c^2(K' + \sigma_w^2\Theta)` are those of the variances
    :math:`c^2\sigma_w^2, c^2\sigma_b^2`; before weights those of :math:`c^2\sigma_w^2, \sigma_b^2`. Pools, ``Flatten`` and
    ``Dropout`` between are linear and let the factor pass.
    """
    result: list[Layer] = [_folded_inside(layer) for layer in layers]
    at = 0
    while at < len(result):
        layer = result[at]
        if isinstance(layer, Scale):
            for step in (-1, 1):
                other = at + step
                while 0 <= other < len(result) and isinstance(result[other], LINEAR):
                    other += step
                if 0 <= other < len(result) and isinstance(found := result[other], Dense | Conv | GeneralConv):
                    square = layer.factor**2
                    bias = found.bias_variance * (square if step == -1 else 1.0)
                    result[other] = replace(found, weight_variance=found.weight_variance * square, bias_variance=bias)
                    del result[at]
                    at -= 1
                    break
        at += 1
    return tuple(result)


def _folded_inside(layer: Layer) -> Layer:
    if isinstance(layer, Sequential):
        return Sequential(folded(layer.layers))
    if isinstance(layer, ParallelSum | Product | Concatenate):
        return replace(layer, branches=tuple(_folded_inside(branch) for branch in layer.branches))
    return layer
