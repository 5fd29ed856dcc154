"""Forecasts of learning curves from a pilot sample: one file per estimator, one that combines them."""

from priorscope.probes.curves.forecast._caution import Caution, CautionKind
from priorscope.probes.curves.forecast._combine import REACH, forecast_gram
from priorscope.probes.curves.forecast._forecast import forecast, lap_window, standard_model, standard_settings
from priorscope.probes.curves.forecast._result import Forecast, SamplesNeeded

__all__ = [
    "REACH",
    "Caution",
    "CautionKind",
    "Forecast",
    "SamplesNeeded",
    "forecast",
    "forecast_gram",
    "lap_window",
    "standard_model",
    "standard_settings",
]
