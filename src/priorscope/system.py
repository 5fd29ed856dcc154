"""The triple: data, model, inference — and what comes out of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from priorscope.checks import checked, whole
from priorscope.contracts import (
    Fitted,
    Inference,
    KernelModel,
    LabelledData,
    Member,
    Model,
    NetworkStack,
    Trajectory,
    is_kernel_model,
    is_network_family,
    is_network_stack,
    needs_of,
    require,
)

__all__ = ["System", "Outcome", "check_system"]


@dataclass(frozen=True)
class Outcome:
    """What a run of a system gives: predictions, errors on the test set, the trajectory and the seconds.

    ``test_error`` is the mean squared error over test samples and outputs; ``test_accuracy`` is the share of test
    samples whose class is right (None for regression). For an ensemble both are of the mean prediction, and ``member_errors``
    holds each member's own mean squared error.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits(classes="parity").subset(50, seed=0, n_test=50)
        >>> outcome = ps.System(data, ps.models.fcn(1), ps.inference.KernelRegression(ridge=1e-3)).run()
        >>> outcome.test_accuracy > 0.7
        True
    """

    fitted: Fitted
    test_error: float
    test_accuracy: float | None
    member_errors: tuple[float, ...]
    seconds: float

    def predict(self, inputs: Tensor) -> Tensor:
        """Predictions (n, outputs), or (K, n, outputs) of an ensemble."""
        return self.fitted.predict(inputs)

    @property
    def trajectory(self) -> Trajectory:
        """Loss (and what else was kept) along training."""
        return self.fitted.trajectory

    @property
    def misclassification(self) -> float | None:
        """The misclassification rate on the test samples; None for regression."""
        return None if self.test_accuracy is None else 1 - self.test_accuracy


@checked(width=whole(), members=whole())
@dataclass(frozen=True)
class System:
    """A learning system: where the samples come from, what functions there are, how one of them is chosen.

    ``model`` is an architecture, an ``nn.Module``, an ensemble, or a factory ``seed -> nn.Module``; ``width`` and
    ``members`` say how an architecture becomes networks when the inference trains them (``parametrisation`` and
    ``initialisation`` too); kernels do not look at them. Any class that keeps the contract of its place
    (:mod:`priorscope.contracts`) will do; it is checked here, once.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits(classes="parity").subset(20, seed=0, n_test=20)
        >>> flow = ps.inference.GradientFlow(time=1.0)
        >>> tuple(ps.System(data, ps.models.fcn(1), flow, width=16, members=3).run(seed=0).predict(data.inputs).shape)
        (3, 20, 1)
    """

    data: LabelledData
    model: Model
    inference: Inference
    width: int = 256
    members: int = 1
    parametrisation: str = "ntk"
    initialisation: str = "gaussian"

    def __post_init__(self) -> None:
        """Refuse parts that cannot work together before anything is run."""
        require(
            self.data,
            LabelledData,
            "data with inputs, targets, train, test, input_shape, n_outputs and task",
            "Make a dataset with priorscope.data.from_arrays(x, y).",
        )
        require(
            self.inference,
            Inference,
            "an inference with a method fit(model, data, seed)",
            "Take one such as priorscope.inference.KernelRegression().",
        )
        if needs_of(self.inference) == "kernel":
            require(
                self.model,
                KernelModel,
                f"a model with a closed-form kernel for {type(self.inference).__name__}",
                "Use an Architecture, priorscope.models.from_module(network), or an inference that trains networks.",
            )
        elif not isinstance(self.model, nn.Module) and not callable(self.model) and not is_network_family(self.model):
            raise TypeError(
                f"wanted an architecture, an nn.Module, an ensemble or a factory seed -> nn.Module; got "
                f"{type(self.model).__name__}. A model of your own needs the methods network and ensemble."
            )

    def network(self, seed: int = 0) -> nn.Module | NetworkStack:
        """What the inference trains: the module itself, or the architecture's network (or ensemble) for that seed."""
        model = self.model
        if isinstance(model, nn.Module) or is_network_stack(model):
            return model
        if not is_network_family(model):
            return cast(Member, model)(seed)
        shape, outputs = tuple(self.data.input_shape), self.data.n_outputs
        options: dict[str, str] = {}
        if is_kernel_model(self.model):
            options = {"parametrisation": self.parametrisation, "initialisation": self.initialisation}
        if self.members > 1:
            seeds = range(seed * self.members, (seed + 1) * self.members)
            return model.ensemble(shape, width=self.width, outputs=outputs, seeds=list(seeds), **options)
        return model.network(shape, width=self.width, outputs=outputs, seed=seed, **options)

    def run(self, seed: int = 0) -> Outcome:
        """Fit on the training set and measure on the test set."""
        model = self.model if needs_of(self.inference) == "kernel" else self.network(seed)
        if isinstance(model, nn.Module):
            check_model(model, self.data.inputs)
        who = type(self.inference).__name__
        fitted = require(
            self.inference.fit(model, self.data, seed=seed),
            Fitted,
            f"a fitted result of {who}.fit",
            "It needs predict(inputs), trajectory (with times and loss) and seconds.",
        )
        x, y = self.data.test.inputs, self.data.test.targets
        if len(x) == 0:
            return Outcome(fitted, float("nan"), None, (), fitted.seconds)
        predictions = fitted.predict(x)
        if not isinstance(predictions, Tensor) or tuple(predictions.shape[-2:]) != tuple(y.shape):
            got = tuple(predictions.shape) if isinstance(predictions, Tensor) else type(predictions).__name__
            raise TypeError(
                f"wanted predictions of {who} as a tensor {tuple(y.shape)}, or one such per network; got {got}. "
                "predict(inputs) gives one row per input and one column per target."
            )
        members = predictions if predictions.ndim == 3 else predictions[None]  # (K, n, outputs)
        y = y.to(members.dtype)
        mean = members.mean(0)
        classes = self.data.task == "classification"
        return Outcome(
            fitted,
            test_error=float((mean - y).square().mean()),
            test_accuracy=accuracy(mean, y) if classes else None,
            member_errors=tuple((members - y).square().mean((1, 2)).tolist()),
            seconds=fitted.seconds,
        )


def check_system(who: str, system: object) -> None:
    """Refuse what is no system, in the name of the probe that was asked.

    Example:
        >>> import priorscope as ps
        >>> check_system("symmetry", ps.models.fcn(1))
        Traceback (most recent call last):
        ...
        TypeError: symmetry takes a priorscope.System(data, model, inference); got Architecture.
    """
    if not isinstance(system, System):
        raise TypeError(f"{who} takes a priorscope.System(data, model, inference); got {type(system).__name__}.")


def accuracy(predictions: Tensor, targets: Tensor) -> float:
    """The share of samples put in the right class: by sign for one output, by the largest output for several.

    NaN where a prediction is: the largest of outputs with a NaN among them would be a class that nobody predicted.
    """
    if predictions.isnan().any():
        return float("nan")
    if targets.shape[-1] == 1:
        return float((predictions * targets > 0).double().mean())
    return float((predictions.argmax(-1) == targets.argmax(-1)).double().mean())


def check_model(model: nn.Module, inputs: Tensor) -> None:
    """Raise when a network gives every input the same output and the same gradient of it.

    Equal outputs alone prove nothing: an antisymmetric network starts at zero everywhere and still learns.
    """
    first: Tensor | None = next(iter(model.parameters()), None)
    if first is None and is_network_stack(model):
        first = next(iter(model.stacked.values()), None)
    if first is None or len(inputs) < 2:
        return
    x = inputs[:4].to(first.dtype)
    x = x + torch.randn(x.shape, generator=torch.Generator().manual_seed(0)).to(x.dtype) * 1e-3
    training = model.training
    model.eval()
    params = [p for p in model.parameters() if p.requires_grad]
    with torch.enable_grad():
        out = model(x)
        flat = out if out.ndim == 3 else out.reshape(1, len(x), -1)
        same = bool((flat == flat[:, :1]).all())
        rows = []
        if same and params and flat.requires_grad:
            for i in range(2):
                grads = torch.autograd.grad(flat[:, i].sum(), params, retain_graph=True, allow_unused=True)
                rows.append(torch.cat([g.flatten() for g in grads if g is not None]))
    model.train(training)
    if same and (not rows or torch.equal(rows[0], rows[1])):
        raise ValueError(
            "the model ignores its input: outputs and their gradients are equal for different inputs, so nothing can be "
            "learned from the data. Check masks, pooling and detached tensors of the network."
        )
