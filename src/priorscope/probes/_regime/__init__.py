"""Training regimes: lazy, feature, and the crossover between them."""

from __future__ import annotations

from ._frozen import FrozenFit, frozen_flow
from ._regime import Regime, regime, stacked_ntk

__all__ = ["FrozenFit", "Regime", "frozen_flow", "regime", "stacked_ntk"]
