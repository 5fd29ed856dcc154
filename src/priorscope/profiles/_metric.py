"""The measure by which predictors are compared: one for ranking, verdict, trial and page."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from priorscope.profiles._phrases import value as digits

if TYPE_CHECKING:
    from priorscope.statistics import Interval

__all__ = ["Metric"]


class Metric(Enum):
    """How wrong a predictor is; every value kept in a profile is one to be *low*: 1 - AUC and 1 - R² stand for AUC and R².

    ``shown`` turns such a value into the number that people expect, ``text`` into words.

    Example:
        >>> Metric.MISCLASSIFICATION.text(0.041), Metric.AUC.text(0.07), Metric("r2").shown(0.25)
        ('4.1 % wrong', 'AUC 0.93', 0.75)
        >>> Metric.RMSE.about(2.3), Metric.MISCLASSIFICATION.about(0.041), Metric.AUC.aim(0.07)
        ('off by about 2.3', 'about 4.1 % wrong', 'For AUC 0.93')
    """

    MISCLASSIFICATION = "misclassification"
    BALANCED_ERROR = "balanced-error"
    AUC = "auc"
    LOG_LOSS = "log-loss"
    SQUARED_ERROR = "squared-error"
    RMSE = "rmse"
    R2 = "r2"

    @property
    def words(self) -> str:
        """The name in a sentence."""
        return _WORDS[self]

    @property
    def axis(self) -> str:
        """The name on an axis, where the value to be low is drawn."""
        return {Metric.AUC: "1 − AUC", Metric.R2: "1 − R²", Metric.MISCLASSIFICATION: "share misclassified"}.get(
            self, self.words
        )

    @property
    def percent(self) -> bool:
        """Whether it is a share, written in per cent."""
        return self in (Metric.MISCLASSIFICATION, Metric.BALANCED_ERROR)

    @property
    def for_classes(self) -> bool:
        """Whether it needs classes; squared error is for both, the other two are for numbers."""
        return self in (Metric.MISCLASSIFICATION, Metric.BALANCED_ERROR, Metric.AUC, Metric.LOG_LOSS)

    @property
    def higher_is_better(self) -> bool:
        """Whether the number that people expect is one to be high."""
        return self in (Metric.AUC, Metric.R2)

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
        number = self.number(value)
        return {
            Metric.MISCLASSIFICATION: f"{number} wrong",
            Metric.BALANCED_ERROR: f"{number} wrong in the mean over classes",
            Metric.AUC: f"AUC {number}",
            Metric.LOG_LOSS: f"log-loss {number}",
            Metric.SQUARED_ERROR: f"squared error {number}",
            Metric.RMSE: f"off by {number}",
            Metric.R2: f"R² {number}",
        }[self]

    def about(self, value: float) -> str:
        """The value in words, as a forecast says it."""
        if self.percent:
            return f"about {self.text(value)}"
        return f"{self.text(value).removesuffix(self.number(value))}about {self.number(value)}"

    def aim(self, value: float) -> str:
        """The value as something to be reached, at the beginning of a sentence."""
        return f"To be {self.text(value)}" if self.percent or self is Metric.RMSE else f"For {self.text(value)}"


_WORDS = {
    Metric.MISCLASSIFICATION: "misclassification rate",
    Metric.BALANCED_ERROR: "balanced error (the mean over classes of the share misclassified)",
    Metric.AUC: "AUC (area under the ROC curve)",
    Metric.LOG_LOSS: "log-loss (in nats)",
    Metric.SQUARED_ERROR: "mean squared error",
    Metric.RMSE: "root mean square error, in the target's unit",
    Metric.R2: "R² (share of the variance explained)",
}
