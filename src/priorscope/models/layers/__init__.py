"""Layers, one per file: the finite module, the step of the infinite-width kernel, its compiled step and its tangent form."""

from priorscope.models.layers._conv import ConvModule
from priorscope.models.layers._dense import DenseModule
from priorscope.models.layers._tangent_forms import (
    Explicit,
    Form,
    Local,
    Outputs,
    Product,
    TangentLayer,
    cheaper,
    combine,
    concatenate,
    convolution_forms,
    inner_products,
    linear_forms,
)

__all__ = [
    "ConvModule",
    "DenseModule",
    "Explicit",
    "Form",
    "Local",
    "Outputs",
    "Product",
    "TangentLayer",
    "cheaper",
    "combine",
    "concatenate",
    "convolution_forms",
    "inner_products",
    "linear_forms",
]
