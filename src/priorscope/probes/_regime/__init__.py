"""Training regimes: lazy, feature, and the crossover between them."""

from __future__ import annotations

from ._regime import Regime, regime, stacked_ntk

__all__ = ["Regime", "regime", "stacked_ntk"]
