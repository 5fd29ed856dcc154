"""Inference: how a model meets data. Kernels and networks share one method, ``fit(model, data, seed) -> Fitted``."""

from __future__ import annotations

from priorscope.inference._check import check_data
from priorscope.inference._fitted import Fitted, Trajectory, log_times
from priorscope.inference.kernels._feature_machine import FeatureMachine, FittedFeatures
from priorscope.inference.kernels._feature_map import FeatureSetting, feature_map
from priorscope.inference.kernels._feature_plan import FeaturePlan
from priorscope.inference.kernels._gaussian_process import FittedProcess, GaussianProcess
from priorscope.inference.kernels._infinite_ensemble import FittedEnsemble, InfiniteEnsemble
from priorscope.inference.kernels._kernel_regression import FittedKernel, KernelRegression
from priorscope.inference.kernels._spectral import NumericalRepair, Repair, Schedule, Spectral
from priorscope.inference.kernels._support_vectors import FittedMachine, SupportVectorMachine
from priorscope.inference.networks._cycle import Cycle, Ended, processor_seconds
from priorscope.inference.networks._descent import descend
from priorscope.inference.networks._fourth_order import FourthOrderFlow
from priorscope.inference.networks._geometry import Geometry, Mirror, Steepest
from priorscope.inference.networks._gradient_descent import GradientDescent
from priorscope.inference.networks._gradient_flow import GradientFlow
from priorscope.inference.networks._hinge_training import train_hinge
from priorscope.inference.networks._loss import (
    Hinge,
    LogExponential,
    Logistic,
    Loss,
    QuadraticHinge,
    SoftHinge,
    Squared,
    as_loss,
)
from priorscope.inference.networks._members import Members
from priorscope.inference.networks._one_cycle import FittedCycle, OneCycle
from priorscope.inference.networks._potential import (
    DeepEntropy,
    Entropy,
    HyperbolicEntropy,
    Potential,
    Power,
    Quadratic,
)
from priorscope.inference.networks._stacked import can_batch, over_networks, stacked_accuracy, train_stacked
from priorscope.inference.networks._stiff_flow import StiffFlow
from priorscope.inference.networks._stop import AllFitted, LossBelow, StopRule, as_stop
from priorscope.inference.networks._trained import FittedNetworks
from priorscope.inference.networks._training import TrainingRun
from priorscope.inference.ridge import RIDGES, RidgePath, solve_blocks

__all__ = [
    # kernels
    "KernelRegression",
    "GaussianProcess",
    "InfiniteEnsemble",
    "RIDGES",
    "RidgePath",
    "solve_blocks",
    "Schedule",
    "Spectral",
    "NumericalRepair",
    "Repair",
    "SupportVectorMachine",
    "FeatureMachine",
    "FeatureSetting",
    "feature_map",
    # networks
    "GradientDescent",
    "GradientFlow",
    "FourthOrderFlow",
    "StiffFlow",
    "train_hinge",
    "descend",
    "TrainingRun",
    "OneCycle",
    "FittedCycle",
    "Cycle",
    "Ended",
    "processor_seconds",
    "Members",
    "train_stacked",
    "stacked_accuracy",
    "over_networks",
    "can_batch",
    "StopRule",
    "LossBelow",
    "AllFitted",
    "as_stop",
    # geometries of descent
    "Geometry",
    "Steepest",
    "Mirror",
    "Potential",
    "Quadratic",
    "Entropy",
    "HyperbolicEntropy",
    "DeepEntropy",
    "Power",
    # losses
    "Loss",
    "Squared",
    "Logistic",
    "LogExponential",
    "Hinge",
    "QuadraticHinge",
    "SoftHinge",
    "as_loss",
    # results
    "Fitted",
    "FittedKernel",
    "FittedProcess",
    "FittedEnsemble",
    "FittedMachine",
    "FittedFeatures",
    "FeaturePlan",
    "FittedNetworks",
    "Trajectory",
    "log_times",
    "check_data",
]
