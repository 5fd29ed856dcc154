"""scikit-learn's face of infinite-width networks: estimators for pipelines, grid searches and cross-validation."""

from priorscope.sklearn._average import Average, mean_probabilities
from priorscope.sklearn._balanced_classes import balanced_classes
from priorscope.sklearn._balanced_decision import BalancedDecision
from priorscope.sklearn._features import LearntFeatures
from priorscope.sklearn._folds import fit_by_groups
from priorscope.sklearn._kernel_machine import KernelMachine
from priorscope.sklearn._ntk import NTKClassifier, NTKRegressor
from priorscope.sklearn._pretrained import FrozenFeatures, TangentMachine
from priorscope.sklearn._report import MachineReport, Rival
from priorscope.sklearn._shortlist import Contender, Shortlist, ShortlistReport
from priorscope.sklearn._spread import Spread
from priorscope.sklearn._steps import Encode, Rescale, Shrink
from priorscope.sklearn._trained_network import TrainedNetwork
from priorscope.sklearn._tuned import Tuned

__all__ = [
    "Average",
    "BalancedDecision",
    "Contender",
    "Encode",
    "FrozenFeatures",
    "KernelMachine",
    "LearntFeatures",
    "MachineReport",
    "NTKClassifier",
    "NTKRegressor",
    "Rescale",
    "Rival",
    "Shortlist",
    "ShortlistReport",
    "Shrink",
    "Spread",
    "TangentMachine",
    "TrainedNetwork",
    "Tuned",
    "balanced_classes",
    "fit_by_groups",
    "mean_probabilities",
]
