"""Inference of networks by gradients. Exported here: dense networks read as layers, whose derivatives are written by hand."""

from priorscope.inference.networks._dense_form import (
    DenseLayer,
    DenseStep,
    PointwiseStep,
    bend_of,
    dense_form,
    slope_of,
)
from priorscope.inference.networks._dense_pass import DensePass

__all__ = ["DenseLayer", "DensePass", "DenseStep", "PointwiseStep", "bend_of", "dense_form", "slope_of"]
