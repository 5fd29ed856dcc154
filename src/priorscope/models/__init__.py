"""Models: layers that know their finite forward pass and their infinite-width kernel, and what is built of them."""

from __future__ import annotations

from priorscope.models.architectures._architecture import Architecture
from priorscope.models.architectures._backbone import Backbone
from priorscope.models.architectures._from_factory import from_factory
from priorscope.models.architectures._from_module import from_module
from priorscope.models.architectures._hand_over import HandOver, Scaling
from priorscope.models.architectures._inclusion import gap_to_vec, lcn_to_vec, vec_to_lcn
from priorscope.models.architectures._load import NAMED, load
from priorscope.models.architectures._named import fcn, gap, lap, lcn, vec
from priorscope.models.architectures._sampled import SampledKernel, SampledModel
from priorscope.models.architectures._user_network import UserNetwork
from priorscope.models.architectures.zoo import (
    FiniteModel,
    convnet,
    dense,
    lenet,
    mixer,
    mlp,
    resnet18,
    small_resnet,
    vgg11,
    vit,
)
from priorscope.models.equivariant import homogeneous, points, spheres, steerable
from priorscope.models.equivariant._group_cnn import group_cnn
from priorscope.models.equivariant._group_pool import group_pool
from priorscope.models.equivariant._group_pool import moves_of as group_moves
from priorscope.models.equivariant._invariant import GroupAveraged, Invariant, invariant
from priorscope.models.equivariant._moves import GridMove
from priorscope.models.equivariant.points._network import point_network
from priorscope.models.equivariant.spheres._molecules import molecule_network
from priorscope.models.equivariant.spheres._networks import planar_cnn, spherical_cnn, spherical_resnet
from priorscope.models.equivariant.steerable._networks import steerable_cnn, voxel_cnn
from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._kernel import Kernel
from priorscope.models.kernels._mapped_inputs import MappedInputs
from priorscope.models.kernels._mapped_patches import MappedPatches
from priorscope.models.kernels._need import Need
from priorscope.models.kernels._remembered import RememberedKernel
from priorscope.models.kernels.classical._radial import RadialKernel, gaussian, laplace, matern
from priorscope.models.layers._activation import Activation
from priorscope.models.layers._attention import Attention
from priorscope.models.layers._concatenate import Concatenate
from priorscope.models.layers._conv import Conv
from priorscope.models.layers._dense import Dense
from priorscope.models.layers._dropout import Dropout
from priorscope.models.layers._flatten import Flatten
from priorscope.models.layers._general_conv import GeneralConv
from priorscope.models.layers._general_pool import GeneralAvgPool, ZeroPad
from priorscope.models.layers._global_pool import GlobalAvgPool, GlobalSumPool
from priorscope.models.layers._group_conv import GroupConv, GroupPool
from priorscope.models.layers._group_norm import GroupNorm
from priorscope.models.layers._identity import Identity
from priorscope.models.layers._layer import FiniteLayer, Layer
from priorscope.models.layers._layer_norm import LayerNorm
from priorscope.models.layers._locally_connected import LocallyConnected
from priorscope.models.layers._parallel_sum import ParallelSum, Residual
from priorscope.models.layers._product import Product
from priorscope.models.layers._rms_norm import RMSNorm
from priorscope.models.layers._scale import Scale
from priorscope.models.layers._sequential import Sequential
from priorscope.models.layers._window_pool import AvgPool, SumPool
from priorscope.models.networks._abc import ABCNetwork, ABCParametrisation, abc_parametrisation
from priorscope.models.networks._antisymmetric import Antisymmetric
from priorscope.models.networks._build import Build
from priorscope.models.networks._centred import Centred
from priorscope.models.networks._circular import CircularNetwork
from priorscope.models.networks._convolutional import convolutional_network
from priorscope.models.networks._dense_stack import DenseStack
from priorscope.models.networks._diagonal import DiagonalNetwork
from priorscope.models.networks._ensemble import Ensemble
from priorscope.models.networks._everyday import lstm_network, normalised_network, transformer_network
from priorscope.models.networks._factored_matrix import FactoredMatrix
from priorscope.models.networks._initial_law import InitialLaw
from priorscope.models.networks._one_hidden_layer import OneHiddenLayer
from priorscope.models.networks._plain import count_weights, plain_network
from priorscope.models.networks._redrawing import Redrawing
from priorscope.models.networks._register import RegisterNetwork, solve_parity
from priorscope.models.networks._shallow_stack import ShallowStack
from priorscope.models.networks._smooth_rectifier import SmoothRectifier
from priorscope.models.networks._tabular import TabularNetwork
from priorscope.models.nonlinearities import (
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

__all__ = [
    # architectures
    "Architecture",
    "Ensemble",
    "NAMED",
    "FiniteModel",
    "convnet",
    "dense",
    "HandOver",
    "Kernel",
    "RememberedKernel",
    "SampledKernel",
    "SampledModel",
    "Scaling",
    "Backbone",
    "UserNetwork",
    "fcn",
    "from_factory",
    "from_module",
    "gap",
    "gap_to_vec",
    "lap",
    "lcn",
    "lcn_to_vec",
    "lenet",
    "load",
    "mixer",
    "mlp",
    "molecule_network",
    "resnet18",
    "small_resnet",
    "solve_parity",
    "vec",
    "vec_to_lcn",
    "vgg11",
    "vit",
    # equivariant networks
    "planar_cnn",
    "point_network",
    "points",
    "spheres",
    "spherical_cnn",
    "spherical_resnet",
    "steerable",
    "steerable_cnn",
    "voxel_cnn",
    # kernels of the distance
    "RadialKernel",
    "MappedInputs",
    "MappedPatches",
    "gaussian",
    "laplace",
    "matern",
    # symmetries built in
    "GridMove",
    "GroupAveraged",
    "Invariant",
    "group_cnn",
    "group_moves",
    "group_pool",
    "homogeneous",
    "invariant",
    # networks
    "ABCNetwork",
    "ABCParametrisation",
    "abc_parametrisation",
    "Centred",
    "convolutional_network",
    "DenseStack",
    "DiagonalNetwork",
    "CircularNetwork",
    "FactoredMatrix",
    "lstm_network",
    "normalised_network",
    "transformer_network",
    "ShallowStack",
    "SmoothRectifier",
    "TabularNetwork",
    "count_weights",
    "plain_network",
    # layers
    "Activation",
    "Attention",
    "AvgPool",
    "Concatenate",
    "Conv",
    "Dense",
    "Dropout",
    "Flatten",
    "GeneralAvgPool",
    "GeneralConv",
    "GlobalAvgPool",
    "GlobalSumPool",
    "GroupConv",
    "GroupNorm",
    "GroupPool",
    "Identity",
    "LayerNorm",
    "LocallyConnected",
    "ParallelSum",
    "Product",
    "RMSNorm",
    "Residual",
    "Scale",
    "Sequential",
    "SumPool",
    "ZeroPad",
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
    "InitialLaw",
    "FiniteLayer",
    "Layer",
    "Need",
    "Redrawing",
    "OneHiddenLayer",
    "RegisterNetwork",
]
