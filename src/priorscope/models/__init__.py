"""Models: layers that know their finite forward pass and their infinite-width kernel, and what is built of them."""

from __future__ import annotations

from ._activation import Activation
from ._antisymmetric import Antisymmetric
from ._architecture import Architecture
from ._attention import Attention
from ._build import Build
from ._concatenate import Concatenate
from ._conv import Conv
from ._covariance import Covariance
from ._dense import Dense
from ._dropout import Dropout
from ._ensemble import Ensemble
from ._flatten import Flatten
from ._from_module import from_module
from ._global_pool import GlobalAvgPool, GlobalSumPool
from ._identity import Identity
from ._inclusion import gap_to_vec, lcn_to_vec, vec_to_lcn
from ._kernel import Kernel
from ._layer import Layer
from ._layer_norm import LayerNorm
from ._locally_connected import LocallyConnected
from ._named import fcn, gap, lap, lcn, vec
from ._need import Need
from ._parallel_sum import ParallelSum, Residual
from ._product import Product
from ._sequential import Sequential
from ._window_pool import AvgPool, SumPool
from .nonlinearities import (
    GELU,
    RBF,
    ABReLU,
    Abs,
    Cosine,
    Erf,
    Exponential,
    Gaussian,
    Hermite,
    LeakyReLU,
    Linear,
    Monomial,
    Nonlinearity,
    Polynomial,
    Quadrature,
    ReLU,
    Sign,
    Sine,
    nonlinearity,
)
from .zoo import FiniteModel, lenet, mixer, resnet18, vgg11, vit

__all__ = [
    # architectures
    "Architecture",
    "Ensemble",
    "FiniteModel",
    "Kernel",
    "fcn",
    "from_module",
    "gap",
    "gap_to_vec",
    "lap",
    "lcn",
    "lcn_to_vec",
    "lenet",
    "mixer",
    "resnet18",
    "vec",
    "vec_to_lcn",
    "vgg11",
    "vit",
    # layers
    "Activation",
    "Attention",
    "AvgPool",
    "Concatenate",
    "Conv",
    "Dense",
    "Dropout",
    "Flatten",
    "GlobalAvgPool",
    "GlobalSumPool",
    "Identity",
    "LayerNorm",
    "LocallyConnected",
    "ParallelSum",
    "Product",
    "Residual",
    "Sequential",
    "SumPool",
    # nonlinearities
    "Abs",
    "ABReLU",
    "Cosine",
    "Erf",
    "Exponential",
    "Gaussian",
    "GELU",
    "Hermite",
    "LeakyReLU",
    "Linear",
    "Monomial",
    "Nonlinearity",
    "Polynomial",
    "Quadrature",
    "RBF",
    "ReLU",
    "Sign",
    "Sine",
    "nonlinearity",
    # the algebra
    "Antisymmetric",
    "Build",
    "Covariance",
    "Layer",
    "Need",
]
