"""What a selection counts: errors of left-out predictions by one of four measures, per sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from priorscope.sklearn._balanced_classes import balanced_classes

__all__ = ["METRICS", "Problem", "losses", "probabilities", "temperature"]

Array = NDArray[np.float64]
METRICS = ("error", "balanced", "log-loss", "squared")


@dataclass(frozen=True)
class Problem:
    """What is to be learnt: ``targets`` (n, outputs), the class of each sample (None: numbers) and the weights.

    ``blocks`` number samples that are left out together, None where each is left out alone.
    """

    targets: Array
    labels: NDArray[np.int64] | None
    weights: Array
    blocks: NDArray[np.int64] | None = None

    @property
    def shares(self) -> Array:
        """Share of each class in the weights, which the outputs of a weighted fit stand for."""
        assert self.labels is not None
        found = np.bincount(self.labels, weights=self.weights, minlength=self.targets.shape[1])
        shares: Array = found.astype(np.float64) / self.weights.sum()
        return shares

    def part(self, rows: NDArray[np.int64]) -> Problem:
        """The same for some of the samples."""
        labels, blocks = (None if v is None else v[rows] for v in (self.labels, self.blocks))
        return Problem(self.targets[rows], labels, self.weights[rows], blocks)

    def uncertainty(self, each: Array) -> float:
        """Standard error of the mean of ``each`` (n,); samples of one block count as one.

        It is :math:`\\sqrt{B/(B-1)\\sum_b(\\sum_{i\\in b}(v_i-\\bar v))^2}/n` over B blocks (Cameron & Miller 2015, eq. 11, for a
        mean), for blocks of one sample the usual one.
        """
        blocks = np.arange(len(each)) if self.blocks is None else np.unique(self.blocks, return_inverse=True)[1]
        sums = np.bincount(blocks, weights=each - each.mean())
        return float(np.sqrt(len(sums) / max(len(sums) - 1, 1) * (sums**2).sum()) / len(each))


def probabilities(scores: Array, inverse_temperature: float) -> Array:
    r"""Softmax :math:`p_c \propto e^{\beta f_c}` of scores (n, classes); Guo et al. (2017), with :math:`\beta = 1/T`.

    Example:
        >>> probabilities(np.array([[0.0, 1.0]]), np.log(3.0)).round(3).tolist()
        [[0.25, 0.75]]
    """
    z = inverse_temperature * (scores - scores.max(1, keepdims=True))
    p = np.exp(z)
    found: Array = p / p.sum(1, keepdims=True)
    return found


def temperature(scores: Array, labels: NDArray[np.int64], weights: Array) -> float:
    r"""The :math:`\beta` that gives left-out scores the lowest log-loss, found on a logarithmic scale in [0.01, 300].

    One sample of uniform probability is added, so that separable scores keep a finite :math:`\beta`.

    Example:
        >>> sure = temperature(np.array([[0.1, 0.9], [0.9, 0.1]] * 50), np.array([1, 0] * 50), np.ones(100))
        >>> unsure = temperature(np.array([[0.1, 0.9], [0.9, 0.1]] * 50), np.array([1, 0, 0, 1] * 25), np.ones(100))
        >>> sure > 5, unsure < 0.1
        (True, True)
    """
    centred = scores - scores.max(1, keepdims=True)
    own = centred[np.arange(len(labels)), labels]
    share = weights / weights.mean()
    guess = centred.mean(1).mean()  # of the added sample, whose class is any

    def loss(log_beta: float) -> float:
        beta = float(np.exp(log_beta))
        norm = np.log(np.exp(beta * centred).sum(1))
        return float((share * (norm - beta * own)).sum() + norm.mean() - beta * guess)

    found = minimize_scalar(loss, bounds=(np.log(0.01), np.log(300.0)), method="bounded", options={"xatol": 1e-2})
    return float(np.exp(found.x))


def losses(scores: Array, problem: Problem, metric: str, *, margins: bool = False) -> Array:
    """Loss of each sample (n,) by a metric.

    Balanced error decides as it is predicted (:func:`priorscope.sklearn.balanced_classes`) unless scores are ``margins``, of
    which the largest wins, and divides by the size of the class, so that its mean is right.
    """
    labels = problem.labels
    if metric == "squared" or labels is None:
        found: Array = ((scores - problem.targets) ** 2).mean(1)
        return found
    if metric == "log-loss":
        p = probabilities(scores, temperature(scores, labels, problem.weights))
        return -np.log(np.maximum(p[np.arange(len(labels)), labels], 1e-12))
    alike = metric == "balanced" and not margins
    guess = balanced_classes(scores, problem.shares) if alike else scores.argmax(1)
    wrong: Array = (guess != labels).astype(np.float64)
    if metric == "error":
        return wrong
    counts = np.bincount(labels, minlength=scores.shape[1])
    present = (counts > 0).sum()
    found = wrong * len(labels) / (present * counts[labels])
    return found
