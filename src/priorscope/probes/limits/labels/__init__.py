"""Wrong labels: how many, which ones, how much of the label signal is where it is learnt first, when to stop training."""

from priorscope.probes.limits.labels._early_stopping import EarlyStopping, early_stopping
from priorscope.probes.limits.labels._label_noise import label_noise, label_noise_of_grams
from priorscope.probes.limits.labels._network_stopping import network_stopping
from priorscope.probes.limits.labels._rate import NoiseRate, noise_rate
from priorscope.probes.limits.labels._result import LabelNoise

__all__ = [
    "EarlyStopping",
    "LabelNoise",
    "NoiseRate",
    "early_stopping",
    "label_noise",
    "label_noise_of_grams",
    "network_stopping",
    "noise_rate",
]
