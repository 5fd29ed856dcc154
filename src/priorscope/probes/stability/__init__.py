"""Stability of networks to deformations and other moves of their inputs, relative to noise of the same size."""

from priorscope.probes.stability._label_survival import (
    AugmentationGain,
    LabelSurvival,
    augmentation_gain,
    label_survival,
)
from priorscope.probes.stability._response import NoResponse
from priorscope.probes.stability._result import Sensitivity, Stability, log_interval
from priorscope.probes.stability._stability import stability
from priorscope.probes.stability._subject import networks_of
from priorscope.probes.stability._sweep import StabilitySweep, noise_sweep, stability_sweep
from priorscope.probes.stability._training import stability_curve, stability_path

__all__ = [
    "AugmentationGain",
    "LabelSurvival",
    "NoResponse",
    "Sensitivity",
    "Stability",
    "StabilitySweep",
    "augmentation_gain",
    "label_survival",
    "log_interval",
    "networks_of",
    "noise_sweep",
    "stability",
    "stability_curve",
    "stability_path",
    "stability_sweep",
]
