"""Random features: the risk in closed form, single and averaged over initialisations, and its simulation."""

from priorscope.probes.limits.random_features._risk import RandomFeaturesRisk, random_features_risk
from priorscope.probes.limits.random_features._simulation import simulate_random_features

__all__ = ["RandomFeaturesRisk", "random_features_risk", "simulate_random_features"]
