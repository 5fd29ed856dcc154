"""scikit-learn's face of infinite-width networks: estimators for pipelines, grid searches and cross-validation."""

from priorscope.sklearn._kernel_machine import KernelMachine
from priorscope.sklearn._ntk import NTKClassifier, NTKRegressor
from priorscope.sklearn._report import MachineReport, Rival
from priorscope.sklearn._spread import Spread

__all__ = ["KernelMachine", "MachineReport", "NTKClassifier", "NTKRegressor", "Rival", "Spread"]
