"""The one judgement: how wrong predictions are (metrics), and whether an interval says better, level, worse or cannot tell."""

from priorscope.judge._judgement import Judgement, judge_draws, margin_of
from priorscope.judge._measured import Measured
from priorscope.judge._metric import METRICS, Metric, metric_of
from priorscope.judge._outputs import Outputs, outputs_of
from priorscope.judge._scores import auc, balanced, f1, log_loss, mean_of, rooted

__all__ = [
    "METRICS",
    "Judgement",
    "Measured",
    "Metric",
    "Outputs",
    "auc",
    "balanced",
    "f1",
    "judge_draws",
    "log_loss",
    "margin_of",
    "mean_of",
    "metric_of",
    "outputs_of",
    "rooted",
]
