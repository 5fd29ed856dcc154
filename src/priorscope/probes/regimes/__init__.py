"""Training regimes: lazy, feature, the crossover between them, and what the kernel learns on the way."""

from __future__ import annotations

from priorscope.probes.regimes._frozen import FrozenFit, FrozenNetworks, frozen_flow, frozen_flows, frozen_training
from priorscope.probes.regimes._label_projection import LabelProjection, label_projection
from priorscope.probes.regimes._movement import half_times, last_activations, stacked_ntk
from priorscope.probes.regimes._regime import regime
from priorscope.probes.regimes._result import Regime

__all__ = [
    "FrozenFit",
    "FrozenNetworks",
    "LabelProjection",
    "Regime",
    "frozen_flow",
    "frozen_flows",
    "frozen_training",
    "half_times",
    "label_projection",
    "last_activations",
    "regime",
    "stacked_ntk",
]
