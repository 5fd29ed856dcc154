"""Losses of predictions (…, n, outputs) against targets (n, outputs): one mean over samples, one sum over outputs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from priorscope.checks import ANY_NUMBER, POSITIVE, checked

__all__ = ["Loss", "Squared", "Logistic", "LogExponential", "Hinge", "QuadraticHinge", "SoftHinge", "LOSSES", "as_loss"]


class Loss(ABC):
    r"""A loss :math:`\ell(f, y)`; calling it averages over samples, keeping leading (member) axes.

    Example:
        >>> f, y = torch.tensor([[0.0], [2.0]]), torch.tensor([[1.0], [1.0]])
        >>> float(QuadraticHinge()(f, y))
        0.25
    """

    @abstractmethod
    def pointwise(self, predictions: Tensor, targets: Tensor) -> Tensor:
        """Loss of each sample, (…, n), summed over outputs."""

    def __call__(self, predictions: Tensor, targets: Tensor) -> Tensor:
        """Mean over samples, (…)."""
        return self.pointwise(predictions, targets).mean(-1)

    def slope(self, predictions: Tensor, targets: Tensor) -> Tensor:
        r"""The derivative :math:`\partial\ell/\partial f` of each sample's loss, shaped like the predictions."""
        f = predictions.detach().requires_grad_()
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad(self.pointwise(f, targets).sum(), f)
        return gradient

    def satisfied(self, predictions: Tensor, targets: Tensor) -> Tensor:
        """Whether every training point is fitted, (…): each margin met, or for other losses each residual zero."""
        return (self.pointwise(predictions, targets) == 0).all(-1)


@dataclass(frozen=True)
class Squared(Loss):
    r""":math:`\ell = \tfrac12\|f - y\|^2`, so that gradient flow is :math:`\dot f = -\Theta (f - y)/n`.

    Example:
        >>> float(Squared()(torch.tensor([[3.0]]), torch.tensor([[1.0]])))
        2.0
    """

    def pointwise(self, predictions: Tensor, targets: Tensor) -> Tensor:
        return (predictions - targets).square().sum(-1) / 2

    def slope(self, predictions: Tensor, targets: Tensor) -> Tensor:
        return predictions - targets


@dataclass(frozen=True)
class Logistic(Loss):
    r"""Cross-entropy: :math:`\log(1 + e^{-yf})` for one output, softmax cross-entropy for several.

    With several outputs the class is the largest target (one-hot, centred or not).

    Example:
        >>> round(float(Logistic()(torch.tensor([[0.0]]), torch.tensor([[1.0]]))), 4)
        0.6931
    """

    def pointwise(self, predictions: Tensor, targets: Tensor) -> Tensor:
        if predictions.shape[-1] == 1:
            return functional.softplus(-signs(targets) * predictions).squeeze(-1)
        log_p = predictions.log_softmax(-1)  # (…, n, outputs)
        index = targets.argmax(-1).expand(log_p.shape[:-1])[..., None]
        return -log_p.gather(-1, index).squeeze(-1)

    def satisfied(self, predictions: Tensor, targets: Tensor) -> Tensor:
        return torch.zeros(predictions.shape[:-2], dtype=torch.bool, device=predictions.device)  # it never ends


@dataclass(frozen=True)
class LogExponential(Loss):
    r""":math:`\log\frac1n\sum_i e^{-q_i}` of the margins :math:`q_i = y_if(x_i)`, or, of several outputs, of each rival's margin.

    Descent on it takes the path of the exponential loss at another speed (its gradient is that loss's over the loss), and goes on
    where the gradients of exponential and logistic loss underflow: the way to networks of largest margin. Minus the loss is the
    smoothed margin of Lyu & Li (2020). A logarithm of a mean belongs to no single sample: each carries the whole, so that
    means over samples are right; use full batches.

    Example:
        >>> round(float(LogExponential()(torch.tensor([[1000.0], [1001.0]]), torch.tensor([[1.0], [1.0]]))), 4)
        -1000.3799
    """

    def pointwise(self, predictions: Tensor, targets: Tensor) -> Tensor:
        n = predictions.shape[-2]
        if predictions.shape[-1] == 1:
            minus = -(signs(targets) * predictions).squeeze(-1)  # (…, n)
        else:
            index = targets.argmax(-1).expand(predictions.shape[:-1])[..., None]
            rivals = predictions.scatter(-1, index, -torch.inf)
            minus = (rivals - predictions.gather(-1, index)).flatten(-2)
        whole = torch.logsumexp(minus, -1) - math.log(n)
        return whole[..., None].expand(*whole.shape, n)

    def satisfied(self, predictions: Tensor, targets: Tensor) -> Tensor:
        return torch.zeros(predictions.shape[:-2], dtype=torch.bool, device=predictions.device)  # it never ends


@dataclass(frozen=True)
class _Margin(Loss):
    """Losses of the slack ``margin - y f`` alone; targets enter by their signs, each output by itself."""

    margin: float = 1.0

    def slack(self, predictions: Tensor, targets: Tensor) -> Tensor:
        r"""The slack :math:`\Delta = \epsilon - y f`, positive where the margin is not met."""
        return self.margin - signs(targets) * predictions

    def satisfied(self, predictions: Tensor, targets: Tensor) -> Tensor:
        return (self.slack(predictions, targets) < 0).flatten(-2).all(-1)


@checked(margin=ANY_NUMBER)
@dataclass(frozen=True)
class Hinge(_Margin):
    r""":math:`\ell = \max(0, \epsilon - yf)`, summed over outputs.

    Example:
        >>> float(Hinge()(torch.tensor([[-1.0]]), torch.tensor([[1.0]])))
        2.0
    """

    def pointwise(self, predictions: Tensor, targets: Tensor) -> Tensor:
        return self.slack(predictions, targets).relu().sum(-1)


@checked(margin=ANY_NUMBER)
@dataclass(frozen=True)
class QuadraticHinge(_Margin):
    r""":math:`\ell = \tfrac12\max(0, \epsilon - yf)^2`, the finite-range loss of the jamming picture.

    Example:
        >>> float(QuadraticHinge()(torch.tensor([[-1.0]]), torch.tensor([[1.0]])))
        2.0
    """

    def pointwise(self, predictions: Tensor, targets: Tensor) -> Tensor:
        return self.slack(predictions, targets).relu().square().sum(-1) / 2

    def slope(self, predictions: Tensor, targets: Tensor) -> Tensor:
        y = signs(targets)
        return -y * (self.margin - y * predictions).relu()


@checked(margin=ANY_NUMBER, sharpness=POSITIVE)
@dataclass(frozen=True)
class SoftHinge(_Margin):
    r""":math:`\ell = \tfrac1\beta\log(1 + e^{\beta(\epsilon - yf)})`, the smooth hinge.

    ``sharpness`` is beta. Default 20, the value of Geiger et al. (2020), "Disentangling feature and lazy training".

    Example:
        >>> round(float(SoftHinge()(torch.tensor([[0.0]]), torch.tensor([[1.0]]))), 6)
        1.0
    """

    sharpness: float = 20.0

    def pointwise(self, predictions: Tensor, targets: Tensor) -> Tensor:
        b = self.sharpness
        return (functional.softplus(b * self.slack(predictions, targets)) / b).sum(-1)

    def slope(self, predictions: Tensor, targets: Tensor) -> Tensor:
        y = signs(targets)
        return -y * (self.sharpness * (self.margin - y * predictions)).sigmoid()


def signs(targets: Tensor) -> Tensor:
    """Signs of the targets: +1 for the class, -1 for the rest; a zero target has no side and is an error."""
    y = targets.sign()
    if not bool((y != 0).all()):
        raise ValueError(
            "margin losses need targets with a sign (+1/-1 or centred one-hot); got zeros. "
            "Use the 'parity' or 'classes' scheme of the data, or the squared loss."
        )
    return y


LOSSES: dict[str, Loss] = {
    "squared": Squared(),
    "logistic": Logistic(),
    "cross-entropy": Logistic(),
    "log-exponential": LogExponential(),
    "hinge": Hinge(),
    "quadratic-hinge": QuadraticHinge(),
    "soft-hinge": SoftHinge(),
}


def as_loss(loss: str | Loss) -> Loss:
    """The loss of that name, or the loss itself.

    Example:
        >>> as_loss("hinge")
        Hinge(margin=1.0)
    """
    if isinstance(loss, Loss):
        return loss
    name = loss.replace("_", "-")
    if name not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)} or a Loss; got {loss!r}")
    return LOSSES[name]
