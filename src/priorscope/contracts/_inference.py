"""What an inference and its result must offer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias

from torch import Tensor

__all__ = ["Fitted", "GradientPredictor", "Inference", "Needs", "Predictor", "Trajectory"]

Needs: TypeAlias = Literal["kernel", "network"]


class Trajectory(Protocol):
    """Training seen at some times.

    Example:
        >>> from priorscope.contracts import missing
        >>> import torch, priorscope as ps
        >>> missing(ps.inference.Trajectory(torch.zeros(1), torch.zeros(1)), Trajectory)
        ()
    """

    @property
    def times(self) -> Tensor:
        """Times (T,)."""
        ...

    @property
    def loss(self) -> Tensor:
        """Training loss (T,) or (T, K)."""
        ...


class Fitted(Protocol):
    """What ``fit`` gives back: it predicts, and says what the fit took.

    Example:
        >>> from priorscope.contracts import missing
        >>> import priorscope as ps
        >>> data = ps.data.digits(classes="parity").subset(20)
        >>> missing(ps.inference.KernelRegression().fit(ps.models.fcn(1), data), Fitted)
        ()
    """

    @property
    def trajectory(self) -> Trajectory:
        """Training loss along the way."""
        ...

    @property
    def seconds(self) -> float:
        """How long the fit took."""
        ...

    def predict(self, inputs: Tensor) -> Tensor:
        """Predictions (n, outputs); (K, n, outputs) of several networks."""
        ...


class GradientPredictor(Protocol):
    """A fitted function that gives its gradients in its inputs.

    Example:
        >>> from torch import nn
        >>> from priorscope.contracts import missing
        >>> missing(nn.Linear(2, 1), GradientPredictor)
        ('gradients',)
    """

    def gradients(self, inputs: Tensor) -> Tensor:
        """Gradients (n, outputs, *input_shape); (K, n, outputs, *input_shape) of several networks."""
        ...


class Predictor(Protocol):
    """Anything that predicts: a fitted result, or an estimator of scikit-learn.

    Example:
        >>> from torch import nn
        >>> from priorscope.contracts import missing
        >>> missing(nn.Linear(2, 1), Predictor)
        ('predict',)
    """

    @property
    def predict(self) -> Callable[..., object]:
        """``predict(inputs)`` gives predictions, one row per input."""
        ...


class Inference(Protocol):
    """How one function of the model is chosen given the data.

    ``needs`` says what ``fit`` takes as its model: "kernel" (a :class:`KernelModel`) or "network" (an ``nn.Module``, a stack or a
    factory). A class that does not say is given networks.

    Example:
        >>> from priorscope.contracts import needs_of
        >>> import priorscope as ps
        >>> needs_of(ps.inference.KernelRegression()), needs_of(ps.inference.GradientFlow())
        ('kernel', 'network')
    """

    def fit(self, model: Any, data: Any, seed: int = 0) -> Fitted:
        """Fit the model to the samples."""
        ...
