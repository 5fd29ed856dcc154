"""Inference: how a model meets data. Kernels and networks share one method, ``fit(model, data, seed) -> Fitted``."""

from __future__ import annotations

from ._check import check_data
from ._fitted import Fitted, Trajectory, log_times
from ._gaussian_process import FittedProcess, GaussianProcess
from ._gradient_descent import GradientDescent
from ._gradient_flow import GradientFlow
from ._infinite_ensemble import FittedEnsemble, InfiniteEnsemble
from ._kernel_regression import FittedKernel, KernelRegression
from ._loss import Hinge, Logistic, Loss, QuadraticHinge, SoftHinge, Squared, as_loss
from ._members import Members
from ._spectral import NumericalRepair, Schedule, Spectral
from ._stop import AllFitted, LossBelow, StopRule, as_stop
from ._trained import FittedNetworks

__all__ = [
    # kernels
    "KernelRegression",
    "GaussianProcess",
    "InfiniteEnsemble",
    "Schedule",
    "Spectral",
    "NumericalRepair",
    # networks
    "GradientDescent",
    "GradientFlow",
    "Members",
    "StopRule",
    "LossBelow",
    "AllFitted",
    "as_stop",
    # losses
    "Loss",
    "Squared",
    "Logistic",
    "Hinge",
    "QuadraticHinge",
    "SoftHinge",
    "as_loss",
    # results
    "Fitted",
    "FittedKernel",
    "FittedProcess",
    "FittedEnsemble",
    "FittedNetworks",
    "Trajectory",
    "log_times",
    "check_data",
]
