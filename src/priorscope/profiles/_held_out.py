"""Predictions on samples that took no part in training, and every measure of error that follows from them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from priorscope.profiles._design import Design, Part
from priorscope.profiles._metric import Metric
from priorscope.sklearn import balanced_classes

__all__ = ["HeldOut", "Truth", "sample_losses"]

Array = NDArray[np.float64]
_NOTHING = 1e-12


@dataclass(frozen=True)
class Truth:
    """The answers of all samples of the design: targets (n, outputs) as predictors see them, and labels (None in regression).

    ``unit`` turns a root mean square of standardised targets into the target's own unit, ``variance`` is that of the targets.

    Example:
        >>> Truth(np.array([[1.0], [-1.0]]), np.array([1, 0])).classes
        2
    """

    targets: Array = field(repr=False)
    labels: NDArray[np.int64] | None = field(default=None, repr=False)
    unit: float = 1.0

    @property
    def classes(self) -> int:
        """Number of classes; 0 in regression."""
        if self.labels is None:
            return 0
        return 2 if self.targets.shape[1] == 1 else self.targets.shape[1]

    @property
    def variance(self) -> float:
        """Mean over outputs of the variance of the targets."""
        return float(self.targets.var(0).mean())

    def weights(self, metric: Metric) -> Array:
        """Weight of each sample: equal, or such that all classes count alike."""
        n = len(self.targets)
        if self.labels is None or metric not in (Metric.BALANCED_ERROR, Metric.AUC):
            return np.ones(n)
        count = np.bincount(self.labels, minlength=self.classes)
        return n / (np.count_nonzero(count) * np.maximum(count, 1))[self.labels]

    def effective(self, metric: Metric) -> float:
        r"""How many equal samples say as much as these weighted ones: :math:`(\sum w)^2 / \sum w^2` (Kish 1965, Survey sampling).

        Where classes count alike that is :math:`C^2 / \sum_c 1/n_c`: the rarest class decides.

        Example:
            >>> labels = np.array([0] * 95 + [1] * 5)
            >>> round(Truth(2.0 * labels[:, None] - 1, labels).effective(Metric.BALANCED_ERROR))
            19
        """
        w = self.weights(metric)
        return float(w.sum() ** 2 / (w**2).sum())


def _columns(scores: Array, classes: int) -> Array:
    """One column per class: of a single output, its negative is the score of the other class."""
    return np.concatenate([-scores, scores], 1) / 2 if classes == 2 and scores.shape[1] == 1 else scores


def _log_loss(scores: list[Array], labels: list[NDArray[np.int64]], classes: int, probable: bool) -> list[Array]:
    """Log-loss of each sample; scores that are no probabilities pass through a softmax whose scale fits them best."""
    if probable:
        return [-np.log(np.clip(s[np.arange(len(s)), y], 1e-3, 1.0)) for s, y in zip(scores, labels, strict=True)]
    every, known = np.concatenate([_columns(s, classes) for s in scores]), np.concatenate(labels)

    def each(scale: float) -> Array:
        z = scale * every
        z = z - z.max(1, keepdims=True)
        loss: Array = np.log(np.exp(z).sum(1)) - z[np.arange(len(z)), known]
        return loss

    best = minimize_scalar(lambda u: float(each(float(np.exp(u))).mean()), bounds=(-3.0, 6.0), method="bounded")
    found = each(float(np.exp(best.x)))
    return np.split(found, np.cumsum([len(y) for y in labels])[:-1])


def _ranked_above(scores: Array, labels: NDArray[np.int64], classes: int) -> Array:
    """For each sample the share of samples of other classes that its own class's score ranks above it (ties: a half)."""
    columns = _columns(scores, classes)
    wrong = np.full(len(labels), 0.5)
    for c in np.unique(labels):
        own, rest = columns[labels == c, c], np.sort(columns[labels != c, c])
        if len(rest):
            above = len(rest) - np.searchsorted(rest, own, "right")
            ties = np.searchsorted(rest, own, "right") - np.searchsorted(rest, own, "left")
            wrong[labels == c] = (above + 0.5 * ties) / len(rest)
    return wrong


def sample_losses(metric: Metric, scores: list[Array], parts: list[Part], truth: Truth, probable: bool) -> list[Array]:
    """The loss of each tested sample of each part, whose weighted mean is the metric (of RMSE: its square).

    ``probable``: scores are probabilities, one column per class; otherwise they are in the coding of the targets. By balanced
    error the class with the largest probability over its share in training wins, by misclassification the largest score.
    """
    if not metric.for_classes:
        return [((_coded(s, truth, probable) - truth.targets[p.test]) ** 2).mean(1) for s, p in zip(scores, parts)]
    assert truth.labels is not None
    labels = [truth.labels[p.test] for p in parts]
    if metric is Metric.LOG_LOSS:
        return _log_loss(scores, labels, truth.classes, probable)
    if metric is Metric.AUC:
        return [_ranked_above(s, y, truth.classes) for s, y in zip(scores, labels)]
    if metric is Metric.BALANCED_ERROR:
        guesses = [balanced_classes(_posterior(s, truth, probable), _shares(p, truth)) for s, p in zip(scores, parts)]
    else:
        guesses = [_columns(s, truth.classes).argmax(1) for s in scores]
    return [(g != y).astype(float) for g, y in zip(guesses, labels)]


def _shares(part: Part, truth: Truth) -> Array:
    """Shares of the classes among the training samples of a part."""
    assert truth.labels is not None
    return np.bincount(truth.labels[part.train], minlength=truth.classes) / max(part.size, 1)


def _posterior(scores: Array, truth: Truth, probable: bool) -> Array:
    """Estimated probabilities of the classes: the inverse of the coding, in which squared error estimates them."""
    if probable:
        return scores
    if truth.targets.shape[1] == 1:
        return np.concatenate([1 - scores, 1 + scores], 1) / 2
    return scores + 1 / truth.classes


def _coded(scores: Array, truth: Truth, probable: bool) -> Array:
    """Probabilities in the coding of the targets: 2p - 1 of the second class, or p less the mean over classes."""
    if not probable:
        return scores
    return 2 * scores[:, 1:] - 1 if truth.targets.shape[1] == 1 else scores - 1 / truth.classes


@dataclass(frozen=True)
class HeldOut:
    """Scores of one predictor on the tested samples of every part it was measured on.

    Example:
        >>> design = Design.of(16, draws=1)
        >>> part = design.part(0, 0, 4)
        >>> y = np.sign(np.arange(16) - 7.5)[:, None]
        >>> held = HeldOut(design, Truth(y, (y[:, 0] > 0).astype(int)), (part,), (0.8 * y[part.test],))
        >>> [float(v.round(2)) for v in held.curve(Metric.MISCLASSIFICATION)[1]]
        [0.0]
    """

    design: Design = field(repr=False)
    truth: Truth = field(repr=False)
    parts: tuple[Part, ...] = field(repr=False)
    scores: tuple[Array, ...] = field(repr=False)
    probable: bool = False

    @property
    def eighths(self) -> tuple[int, ...]:
        """The training sizes, in eighths of a draw."""
        return tuple(sorted({p.eighths for p in self.parts}))

    def sums(self, metric: Metric, like: HeldOut | None = None) -> tuple[Array, Array]:
        """Sums of weighted losses and of weights, (sizes, samples); ``like``: only on parts and sizes that it has too."""
        shared = None if like is None else {(p.draw, p.turn, p.eighths) for p in like.parts}
        at = self.eighths if like is None else tuple(m for m in self.eighths if m in like.eighths)
        weight = self.truth.weights(metric)
        loss, count = np.zeros((len(at), len(self.design))), np.zeros((len(at), len(self.design)))
        for row, m in enumerate(at):
            inside = [
                i
                for i, p in enumerate(self.parts)
                if p.eighths == m and (shared is None or (p.draw, p.turn, p.eighths) in shared)
            ]
            parts, scores = [self.parts[i] for i in inside], [self.scores[i] for i in inside]
            if not parts:
                continue
            for part, each in zip(parts, sample_losses(metric, scores, parts, self.truth, self.probable)):
                loss[row, part.test] += weight[part.test] * each
                count[row, part.test] += weight[part.test]
        return loss, count

    def curve(self, metric: Metric, like: HeldOut | None = None) -> tuple[NDArray[np.int64], Array]:
        """Training sizes and the metric at each (its square for RMSE, 1 - R² for R²)."""
        loss, count = self.sums(metric, like)
        at = self.eighths if like is None else tuple(m for m in self.eighths if m in like.eighths)
        scale = self.truth.variance if metric is Metric.R2 else 1.0
        return self.design.sizes(at), loss.sum(1) / np.maximum(count.sum(1), _NOTHING) / scale

    def draws(self, metric: Metric, weights: Array, like: HeldOut | None = None) -> Array:
        """The metric at each size for each row of ``weights`` over the samples, (draws, sizes): a bootstrap."""
        loss, count = self.sums(metric, like)
        scale = self.truth.variance if metric is Metric.R2 else 1.0
        return (weights @ loss.T) / np.maximum(weights @ count.T, _NOTHING) / scale
