"""Models: layers that know their finite forward pass and their infinite-width kernel, and what is built of them."""

from __future__ import annotations

from ._activation import Activation
from ._antisymmetric import Antisymmetric
from ._architecture import Architecture
from ._build import Build
from ._conv import Conv
from ._covariance import Covariance
from ._dense import Dense
from ._ensemble import Ensemble
from ._flatten import Flatten
from ._global_pool import GlobalAvgPool, GlobalSumPool
from ._kernel import Kernel
from ._layer import Layer
from ._locally_connected import LocallyConnected
from ._named import fcn, gap, lap, lcn, vec
from ._need import Need
from ._sequential import Sequential
from ._window_pool import AvgPool, SumPool
from .nonlinearities import ABReLU, Abs, LeakyReLU, Nonlinearity, ReLU, nonlinearity

__all__ = [
    # architectures
    "Architecture",
    "Ensemble",
    "Kernel",
    "fcn",
    "gap",
    "lap",
    "lcn",
    "vec",
    # layers
    "Activation",
    "AvgPool",
    "Conv",
    "Dense",
    "Flatten",
    "GlobalAvgPool",
    "GlobalSumPool",
    "LocallyConnected",
    "Sequential",
    "SumPool",
    # nonlinearities
    "ABReLU",
    "Abs",
    "LeakyReLU",
    "Nonlinearity",
    "ReLU",
    "nonlinearity",
    # the algebra
    "Antisymmetric",
    "Build",
    "Covariance",
    "Layer",
    "Need",
]
