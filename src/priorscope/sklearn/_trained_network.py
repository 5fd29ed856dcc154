"""A network as a predictor of scikit-learn: trained by gradient descent, for classes and numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from priorscope.checks import POSITIVE, SEED, SHAPE, check, optional, whole
from priorscope.contracts import Shape, is_network_family
from priorscope.data import Split
from priorscope.inference import TrainingRun
from priorscope.models import Scaling, UserNetwork, from_factory, load
from priorscope.sklearn._by_task import EitherTask, classifies
from priorscope.sklearn._estimator import only_if
from priorscope.sklearn._inputs import Inputs
from priorscope.sklearn._names import model_named
from priorscope.sklearn._targets import read_targets

__all__ = ["TrainedNetwork"]


class TrainedNetwork(EitherTask):
    r"""Classification or regression with a finite network, trained by Adam on the squared loss.

    Networks of this library are drawn at ``width`` and start at zero output (:math:`f - f_0`); modules and factories of your
    own are taken as they are (:class:`priorscope.models.UserNetwork` says how inputs reach them). Predictions are those of
    averaged weights (:class:`priorscope.inference.TrainingRun`). Outputs for one-hot targets estimate the probabilities of
    the classes (Richard & Lippmann 1991, Neural Computation 3, 461); ``predict_proba`` clips and normalises them.

    Args:
        model: a name such as "fcn-3" or "gap-2-erf", an Architecture, an ``nn.Module``, a factory, or text
            ``package.module:factory``.
        task: "classification" or "regression"; None decides by ``y``.
        width: neurons or channels of a layer, for models of this library.
        learning_rate: of Adam.
        epochs: how often each sample is seen; ``min_steps`` is the least number of steps.
        input_shape: of one row, such as (1, 8, 8).
        tokens: whether inputs are whole numbers for a network that begins with an embedding: they are not standardised.
        seed: of weights and batches.

    Example:
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> TrainedNetwork("fcn-1", width=64, epochs=100, learning_rate=0.03).fit(X, X[:, 0] ** 2).score(X, X[:, 0] ** 2) > 0.9
        True
    """

    def __init__(
        self,
        model: object = "fcn-3",
        *,
        task: str | None = None,
        width: int = 256,
        learning_rate: float = 0.01,
        epochs: float = 40,
        min_steps: int = 100,
        batch_size: int = 32,
        input_shape: Shape | None = None,
        tokens: bool = False,
        seed: int = 0,
    ) -> None:
        """Keep the settings; :meth:`fit` checks them, as scikit-learn asks of estimators."""
        self.model = model
        self.task = task
        self.width = width
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.min_steps = min_steps
        self.batch_size = batch_size
        self.input_shape = input_shape
        self.tokens = tokens
        self.seed = seed

    def fit(self, X: ArrayLike, y: ArrayLike) -> TrainedNetwork:
        """Draw the network and train it; ``notes_`` says how inputs reached it."""
        self._check_settings()
        if y is None:
            raise ValueError("TrainedNetwork requires y to be passed, but the target y is None.")
        rows = self._rows(X, y)
        given = read_targets(y, self.task)
        shape = (rows.shape[1],) if self.input_shape is None else tuple(int(s) for s in self.input_shape)
        if math.prod(shape) != rows.shape[1]:
            raise ValueError(
                f"input_shape {shape} needs {math.prod(shape)} features per row; X has {rows.shape[1]}. Reshape or drop "
                "columns, or pass another input_shape."
            )
        self.inputs_ = Inputs.learnt(rows, shape, standardise=not self.tokens)
        x, targets = self.inputs_(rows).float(), torch.as_tensor(given.scaled, dtype=torch.float32)
        network, ours = self._network(x, targets.shape[1])
        batch = min(self.batch_size, len(x))
        self.steps_ = max(round(self.epochs * len(x) / batch), self.min_steps)
        run = TrainingRun(
            network,
            Split(x, targets),
            learning_rate=self.learning_rate,
            batch_size=batch,
            centre=ours,
            seed=self.seed,
        )
        self.run_ = run.advance(self.steps_)
        self.notes_ = (*given.notes, *(network.notes if isinstance(network, UserNetwork) else ()))
        self.task_ = given.task
        if given.labels is not None:
            self.classes_ = given.classes
        else:
            self.target_mean_, self.target_scale_, self._flat = given.mean, given.scale, given.flat
        return self

    def _check_settings(self) -> None:
        who = "TrainedNetwork"
        if self.task not in (None, "classification", "regression"):
            raise ValueError(f"task must be 'classification', 'regression' or None; got {self.task!r}.")
        check(who, "width", self.width, whole())
        check(who, "learning_rate", self.learning_rate, POSITIVE)
        check(who, "epochs", self.epochs, POSITIVE)
        check(who, "min_steps", self.min_steps, whole())
        check(who, "batch_size", self.batch_size, whole())
        check(who, "input_shape", self.input_shape, optional(SHAPE))
        check(who, "seed", self.seed, SEED)

    def _network(self, x: Tensor, outputs: int) -> tuple[nn.Module, bool]:
        """The network with fresh weights, and whether it is one of this library's."""
        model, shape = self.model, tuple(x.shape[1:])
        if isinstance(model, str):
            model = load(model) if ":" in model else model_named(model, shape)
        if is_network_family(model):
            return model.network(shape, width=self.width, outputs=outputs, seed=self.seed), True
        build = None
        if isinstance(model, UserNetwork):
            build = model.build
            model = model.module
        elif not isinstance(model, nn.Module):
            if not callable(model):
                raise TypeError(
                    f"model must be a name, an Architecture, an nn.Module or a factory; got {type(model).__name__}."
                )
            factory = model

            def build(seed: int) -> nn.Module:
                made: nn.Module = from_factory(factory, shape, outputs, seed)
                return made

            model = build(self.seed)
        plain = Scaling(torch.zeros(()), torch.ones(())) if self.tokens else None
        network = UserNetwork.fit(model, x[:64], outputs, build=build, scaling=plain)
        if network.given < outputs:
            raise ValueError(f"the network has {network.given} outputs; {outputs} are wanted.")
        try:
            return network.redraw(self.seed), False
        except ValueError:
            return network, False  # its law is not known: from the weights it came with

    def _rows(self, X: ArrayLike, y: ArrayLike | None = None) -> NDArray[np.float64]:
        if y is None:
            known: NDArray[np.float64] = validate_data(
                self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan"
            )
            return known
        rows: NDArray[np.float64]
        rows, _ = validate_data(
            self, X, y, dtype=np.float64, ensure_all_finite="allow-nan", multi_output=True, ensure_min_samples=2
        )
        return rows

    def _function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Outputs (n, outputs)."""
        check_is_fitted(self)
        x = self.inputs_(self._rows(X)).float()
        found: NDArray[np.float64] = self.run_.predict(x).double().numpy()
        return found

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of the largest output, or the predicted numbers, shaped like the targets of ``fit``."""
        f = self._function(X)
        if self.task_ == "classification":
            found: NDArray[Any] = self.classes_[f.argmax(1)]
            return found
        values: NDArray[Any] = f * self.target_scale_ + self.target_mean_
        return values[:, 0] if self._flat else values

    @only_if(classifies)
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Outputs clipped to at least 0.001 and normalised."""
        f = np.maximum(self._function(X), 1e-3)
        found: NDArray[np.float64] = f / f.sum(1, keepdims=True)
        return found

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = tags.regressor_tags is not None
        return tags
