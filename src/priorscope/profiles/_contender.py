"""A contender of the race: an estimator of scikit-learn with its name, its words and what is known of its cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sklearn.base import BaseEstimator, clone

from priorscope.checks import NOT_NEGATIVE, checked, optional, whole
from priorscope.judge import Metric
from priorscope.profiles._kind import Kind
from priorscope.sklearn import BalancedDecision

if TYPE_CHECKING:
    from priorscope.profiles._candidates import Candidate

__all__ = ["Contender", "decided", "undecided"]


@checked(exponent=NOT_NEGATIVE, first=NOT_NEGATIVE, flattens=optional(whole()))
@dataclass(frozen=True, eq=False)
class Contender:
    """What is measured is ``clone(estimator).fit(train).predict(test)``, and what is built is this estimator.

    ``curve`` is the kind of its learning curve ("kernel", "linear", "tree", "neighbours", "network" or None), ``exponent``
    how its time is believed to grow with the rows until it was seen, ``first`` about how many seconds it takes on the first
    rung. ``native`` says that it takes inputs in their own form and not as flat rows. ``candidate`` is the architecture behind
    it, for what else is measured of it, ``offered`` what is compared anyway: models of the user.

    Example:
        >>> from sklearn.linear_model import Ridge
        >>> Contender("ridge", "linear", Kind.ESTIMATOR, Ridge(), offered=True).timed(3.0)
        Ridge()
    """

    name: str
    words: str
    kind: Kind
    estimator: BaseEstimator = field(repr=False)
    curve: str | None = None
    exponent: float = 1.0
    first: float = 0.5
    candidate: Candidate | None = field(default=None, repr=False)
    offered: bool = False
    native: bool = False
    flattens: int | None = None  # rows from which on its time grows no faster than they do
    here: bool = False  # measured in this process only: it remembers

    @property
    def watches(self) -> bool:
        """Whether it looks at the clock when told to."""
        return any(name.split("__")[-1] == "max_seconds" for name in self.estimator.get_params())

    def timed(self, seconds: float) -> BaseEstimator:
        """A clone that keeps to so many processor seconds where it can be told to."""
        made = clone(self.estimator)
        settings = {name: seconds for name in made.get_params() if name.split("__")[-1] == "max_seconds"}
        return made.set_params(**settings) if settings else made

    @property
    def title(self) -> str:
        """Words first, the short name behind them where it says more."""
        return (
            self.words if self.offered or not self.words or self.name == self.words else f"{self.words} ({self.name})"
        )


def decided(estimator: BaseEstimator, metric: Metric) -> BaseEstimator:
    """The estimator as it decides where all classes count alike; itself for any other metric.

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> decided(LogisticRegression(), Metric.BALANCED_ERROR), decided(LogisticRegression(), Metric.AUC)
        (BalancedDecision(estimator=LogisticRegression()), LogisticRegression())
    """
    wanted = metric is Metric.BALANCED_ERROR and not isinstance(estimator, BalancedDecision)
    return BalancedDecision(estimator) if wanted else estimator


def undecided(estimator: BaseEstimator) -> BaseEstimator:
    """The estimator behind such a decision."""
    return estimator.estimator if isinstance(estimator, BalancedDecision) else estimator
