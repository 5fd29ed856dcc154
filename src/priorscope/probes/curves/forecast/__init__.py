"""Forecasts of learning curves from a pilot sample: one file an estimator, one that combines them."""

from priorscope.probes.curves.forecast._combine import forecast, forecast_gram
from priorscope.probes.curves.forecast._result import Forecast, SamplesNeeded

__all__ = ["Forecast", "SamplesNeeded", "forecast", "forecast_gram"]
