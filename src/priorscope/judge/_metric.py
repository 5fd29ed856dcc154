"""The measure by which predictors are compared: one vocabulary for ranking, verdict and page, with scikit-learn's names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from priorscope.judge._measured import Measured
from priorscope.judge._outputs import Outputs
from priorscope.judge._scores import auc, balanced, by_parts, f1, log_loss, mean_of, rooted
from priorscope.printing import digits

if TYPE_CHECKING:
    from priorscope.statistics import Interval

__all__ = ["METRICS", "Metric", "metric_of"]

Truth = NDArray[Any]
Constant = Callable[[Truth], Any]


@dataclass(frozen=True, eq=False)
class Metric:
    """How wrong a predictor is; every value kept is one to be *low*: 1 - AUC, 1 - R² and 1 - F1 stand for AUC, R² and F1.

    ``shown`` turns such a value into the number that people expect, ``text`` into words. ``METRICS`` holds them by name;
    :func:`metric_of` knows scikit-learn's names too and takes a function of (truth, predictions), lower being better.

    Example:
        >>> METRICS["misclassification"].text(0.041), METRICS["auc"].text(0.07), METRICS["r2"].shown(0.25)
        ('4.1 % wrong', 'AUC 0.93', 0.75)
        >>> Metric.RMSE.about(2.3), Metric.MISCLASSIFICATION.about(0.041), Metric.AUC.aim(0.07)
        ('off by about 2.3', 'about 4.1 % wrong', 'For AUC 0.93')
    """

    value: str  # its name
    words: str
    in_words: str  # with {} for the number
    measure: Callable[[Truth, Outputs], Measured] = field(repr=False)
    for_classes: bool
    percent: bool = False
    higher_is_better: bool = False
    guess: str = "predicting the mean"

    MISCLASSIFICATION: ClassVar[Metric]
    BALANCED_ERROR: ClassVar[Metric]
    AUC: ClassVar[Metric]
    F1: ClassVar[Metric]
    LOG_LOSS: ClassVar[Metric]
    SQUARED_ERROR: ClassVar[Metric]
    RMSE: ClassVar[Metric]
    MAE: ClassVar[Metric]
    MAPE: ClassVar[Metric]
    R2: ClassVar[Metric]

    @property
    def axis(self) -> str:
        """The name on an axis, where the value to be low is drawn."""
        special = {"auc": "1 − AUC", "r2": "1 − R²", "f1": "1 − F1", "misclassification": "share misclassified"}
        return special.get(self.value, self.words)

    def shown(self, value: float) -> float:
        """The number that people expect, from the value to be low."""
        return 1 - value if self.higher_is_better else value

    def number(self, value: float) -> str:
        """The shown number with the digits it deserves."""
        if self.percent:
            return f"{100 * value:.1f} %" if value < 0.0995 else f"{100 * value:.0f} %"
        if self.higher_is_better:
            return f"{self.shown(value):.2f}" if value > 0.02 else f"{self.shown(value):.3f}"
        return digits(value)

    def span(self, interval: Interval) -> str:
        """The ends of an interval, the lower number first."""
        low, high = self.number(interval.low), self.number(interval.high)
        if self.higher_is_better:
            low, high = high, low
        return f"{low.removesuffix(' %')}–{high}" if self.percent else f"{low}–{high}"

    def text(self, value: float) -> str:
        """The value in words."""
        return self.in_words.format(self.number(value))

    def about(self, value: float) -> str:
        """The value in words, as something estimated."""
        if self.in_words.startswith("{}"):
            return f"about {self.text(value)}"
        return self.in_words.format(f"about {self.number(value)}")

    def aim(self, value: float) -> str:
        """The value as something to be reached, at the beginning of a sentence."""
        own = self.percent or self.value in ("rmse", "mae")
        return f"To be {self.text(value)}" if own else f"For {self.text(value)}"

    def gain(self, before: float, after: float) -> str:
        """A difference of two values in words: points of a share, or a share of the first value.

        Example:
            >>> METRICS["misclassification"].gain(0.12, 0.10), METRICS["rmse"].gain(2.0, 1.5)
            ('2.0 points', '25 %')
        """
        if self.percent:
            return f"{100 * (before - after):.1f} points"
        if self.higher_is_better:
            return f"{before - after:.3f}"
        return f"{100 * (1 - after / before):.0f} %" if before > 0 else "nothing"


def _wrong(truth: Truth, outputs: Outputs) -> NDArray[np.float64]:
    wrong: NDArray[np.float64] = (outputs.values != truth).astype(float)
    return wrong


def _squares(truth: Truth, outputs: Outputs) -> NDArray[np.float64]:
    found: NDArray[np.float64] = ((outputs.values - truth) ** 2).reshape(len(truth), -1).mean(1)
    return found


def _squared(truth: Truth, outputs: Outputs) -> Measured:
    """Of numbers, or of probabilities beside one-hot targets (Brier 1950)."""
    if outputs.probabilities is None:
        return mean_of(_squares(truth, outputs))
    return mean_of(((outputs.probabilities - np.eye(outputs.probabilities.shape[1])[truth]) ** 2).sum(1))


def _absolute(truth: Truth, outputs: Outputs) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.abs(outputs.values - truth).reshape(len(truth), -1).mean(1)
    return found


def _relative(truth: Truth, outputs: Outputs) -> Measured:
    size = np.abs(truth).reshape(len(truth), -1)
    if (size == 0).any():
        raise ValueError("mape divides by the targets, and some are zero; use mae, or rmse.")
    return mean_of((np.abs(outputs.values - truth).reshape(len(truth), -1) / size).mean(1))


def _unexplained(truth: Truth, outputs: Outputs) -> Measured:
    r"""The mean squared error over the variance: :math:`I_i = (\ell_i - r v_i) / \bar v` with :math:`v_i = (y_i - \bar y)^2`."""
    losses = _squares(truth, outputs)
    spread = ((truth - truth.mean(0)) ** 2).reshape(len(truth), -1).mean(1)
    scale = max(float(spread.mean()), 1e-300)
    value = float(losses.mean()) / scale
    return Measured(value, (losses - value * spread) / scale)


def _p(outputs: Outputs) -> NDArray[np.float64]:
    assert outputs.probabilities is not None
    return outputs.probabilities


_COMMONEST = "always guessing the commonest class"
METRICS: dict[str, Metric] = {
    m.value: m
    for m in (
        Metric("misclassification", "misclassification rate", "{} wrong", lambda t, o: mean_of(_wrong(t, o)), True, True,
               guess=_COMMONEST),
        Metric("balanced-error", "balanced error (the mean over classes of the share misclassified)",
               "{} wrong in the mean over classes", lambda t, o: balanced(_wrong(t, o), t), True, True, guess="guessing"),
        Metric("auc", "AUC (area under the ROC curve)", "AUC {}", lambda t, o: auc(_p(o), t), True, False, True,
               guess="guessing"),
        Metric("f1", "F1 (of the second class, or the mean over classes)", "F1 {}", lambda t, o: f1(o.values, t), True, False,
               True, guess="the best constant guess"),
        Metric("log-loss", "log-loss (in nats)", "log-loss {}", lambda t, o: log_loss(_p(o), t), True,
               guess="always predicting the shares of the classes"),
        Metric("squared-error", "mean squared error", "squared error {}", _squared, False),
        Metric("rmse", "root mean square error, in the target's unit", "off by {}", lambda t, o: rooted(_squares(t, o)), False),
        Metric("mae", "mean absolute error, in the target's unit", "off by {} in the mean",
               lambda t, o: mean_of(_absolute(t, o)), False, guess="predicting the median"),
        Metric("mape", "mean absolute error as a share of the target", "{} off", _relative, False, True,
               guess="predicting the median"),
        Metric("r2", "R² (share of the variance explained)", "R² {}", _unexplained, False, False, True),
    )
}  # fmt: skip
Metric.MISCLASSIFICATION = METRICS["misclassification"]
Metric.BALANCED_ERROR = METRICS["balanced-error"]
Metric.AUC = METRICS["auc"]
Metric.F1 = METRICS["f1"]
Metric.LOG_LOSS = METRICS["log-loss"]
Metric.SQUARED_ERROR = METRICS["squared-error"]
Metric.RMSE = METRICS["rmse"]
Metric.MAE = METRICS["mae"]
Metric.MAPE = METRICS["mape"]
Metric.R2 = METRICS["r2"]

_OTHER_NAMES = {  # scikit-learn's and everyday ones
    "accuracy": "misclassification", "error": "misclassification", "balanced_accuracy": "balanced-error",
    "balanced": "balanced-error", "balanced_error": "balanced-error", "roc_auc": "auc", "roc_auc_ovr": "auc",
    "f1_macro": "f1", "f1_score": "f1", "log_loss": "log-loss", "neg_log_loss": "log-loss", "cross-entropy": "log-loss",
    "neg_brier_score": "squared-error", "brier": "squared-error", "squared": "squared-error", "mse": "squared-error",
    "mean_squared_error": "squared-error", "neg_mean_squared_error": "squared-error", "squared_error": "squared-error",
    "neg_root_mean_squared_error": "rmse", "root_mean_squared_error": "rmse", "mean_absolute_error": "mae",
    "neg_mean_absolute_error": "mae", "mean_absolute_percentage_error": "mape",
    "neg_mean_absolute_percentage_error": "mape", "r2_score": "r2",
}  # fmt: skip


def metric_of(asked: Metric | str | Callable[[Any, Any], float]) -> Metric:
    """The metric of a name (ours or scikit-learn's), or of a function of (truth, predictions) whose values are to be low.

    Example:
        >>> metric_of("neg_mean_absolute_error").value, metric_of("roc_auc").value
        ('mae', 'auc')
        >>> def worst(truth, values): return float(abs(truth - values).max())
        >>> metric_of(worst).measure(np.array([1.0, 2.0]), Outputs(np.array([1.0, 5.0]))).value
        3.0
    """
    if isinstance(asked, Metric):
        return asked
    if callable(asked):
        name = getattr(asked, "__name__", type(asked).__name__)

        def measure(truth: Truth, outputs: Outputs) -> Measured:
            found = by_parts(asked, truth, outputs.values)
            if not (np.isfinite(found.value) and found.value >= 0):
                raise ValueError(
                    f"a metric of your own must be a finite number of at least zero, lower being better; {name} gave "
                    f"{found.value!r}. Return one minus a score, or the negative of a negative one."
                )
            return found

        return Metric(name, f"your metric {name}", f"{name} {{}}", measure, False, guess="the best constant guess")
    name = _OTHER_NAMES.get(str(asked), str(asked))
    if name not in METRICS:
        raise ValueError(
            f"metric must be one of {', '.join(METRICS)}, a name of scikit-learn's such as 'neg_mean_absolute_error', or a "
            f"function of (truth, predictions); got {asked!r}."
        )
    return METRICS[name]
