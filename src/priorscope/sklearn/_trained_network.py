"""A network as a predictor of scikit-learn, trained as people train networks: for classes and numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data
from torch import Tensor

from priorscope.checks import NOT_NEGATIVE, POSITIVE, SHAPE, check, number, optional, whole
from priorscope.contracts import Shape
from priorscope.inference import OneCycle, processor_seconds
from priorscope.sklearn._by_task import EitherTask, classifies
from priorscope.sklearn._estimator import is_frame, only_if
from priorscope.sklearn._inner_split import inner_split
from priorscope.sklearn._inputs import Inputs
from priorscope.sklearn._recipe import Recipe, recipe_of
from priorscope.sklearn._rows import Rows, needs_encoding
from priorscope.sklearn._targets import Targets, read_targets

__all__ = ["TrainedNetwork"]

Array = NDArray[np.float64]


class TrainedNetwork(EitherTask):
    r"""Classification or regression with a finite network, trained by AdamW through one cycle of the rate.

    ``model`` is "convolutional" (batch normalisation, global pooling; for images and series), "positional" (the same, with
    places kept), "dense" (for tables: :class:`priorscope.models.TabularNetwork`), a network of your own, or one of this
    library's architectures, which starts at zero output (:math:`f - f_0`). Classes are learnt by cross entropy, numbers by
    the squared error of standardised targets; batch normalisation and dropout are live (:class:`priorscope.inference.OneCycle`).
    Settings left at None are those that suit the model and the number of rows.

    Args:
        model: see above; or a name such as "fcn-3" or "gap-2-erf", an Architecture, an ``nn.Module``, a factory, or text
            ``package.module:factory``.
        task: "classification" or "regression"; None decides by ``y``.
        width: neurons or channels of a layer, for models of this library.
        learning_rate: of AdamW, at its highest.
        epochs: how often each sample is seen; ``min_steps`` is the least number of steps.
        held_out: share of the rows that is not trained on: the weights that are best there are kept; 0 for none.
        augment: changes every batch (n, \*shape) of training inputs, such as ``priorscope.data.Deform(1.0, 3)``.
        loss: of outputs (n, outputs) and targets, as torch's own losses: classes as whole numbers, numbers standardised.
        input_shape: of one row, such as (1, 8, 8), for rows that are flattened images or series.
        tokens: whether inputs are whole numbers for a network that begins with an embedding: they are not standardised.
        max_seconds: of processor time for training; where the epochs do not fit, the cycle is shortened (``stopped_by_``).
        random_state: of weights, batches and the rows held out; runs on one thread are repeated to the bit.

    Example:
        >>> X = np.linspace(-1, 1, 40)[:, None]
        >>> TrainedNetwork("fcn-1", width=64, epochs=400).fit(X, X[:, 0] ** 2).score(X, X[:, 0] ** 2) > 0.9
        True
    """

    def __init__(
        self,
        model: object = "dense",
        *,
        task: str | None = None,
        width: int | None = None,
        learning_rate: float | None = None,
        epochs: float | None = None,
        min_steps: int | None = None,
        batch_size: int | None = None,
        weight_decay: float | None = None,
        held_out: float | None = None,
        augment: Callable[[Tensor], Tensor] | None = None,
        loss: Callable[[Tensor, Tensor], Tensor] | None = None,
        input_shape: Shape | None = None,
        tokens: bool = False,
        max_seconds: float | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        """Keep the settings; :meth:`fit` checks them, as scikit-learn asks of estimators."""
        self.model = model
        self.task = task
        self.width = width
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.min_steps = min_steps
        self.batch_size = batch_size
        self.weight_decay = weight_decay
        self.held_out = held_out
        self.augment = augment
        self.loss = loss
        self.input_shape = input_shape
        self.tokens = tokens
        self.max_seconds = max_seconds
        self.random_state = random_state

    # -- fit -----------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike) -> TrainedNetwork:
        """Draw the network and train it; ``notes_`` says how inputs reached it, ``stopped_by_`` what ended the training."""
        began = processor_seconds()
        self._check_settings()
        if y is None:
            raise ValueError("TrainedNetwork requires y to be passed, but the target y is None.")
        rows = self._training_rows(X, y)
        given = read_targets(y, self.task)
        seed = self._seed()
        shape = self._shape(rows.shape[1])
        self.inputs_ = Inputs.learnt(rows, shape, standardise=not self.tokens)
        x = self.inputs_(rows).float()
        recipe = recipe_of(self.model, x, given.scaled.shape[1], width=self.width, tokens=self.tokens, seed=seed)
        self._train(recipe, x, given, seed, began)
        self.notes_ = (*given.notes, *recipe.notes)
        self.task_ = given.task
        if given.labels is not None:
            self.classes_ = given.classes
        else:
            self.target_mean_, self.target_scale_, self._flat = given.mean, given.scale, given.flat
        return self

    def _train(self, recipe: Recipe, x: Tensor, given: Targets, seed: int, began: float) -> None:
        """Train the network of the recipe, on the rows that are not held out, in what is left of the seconds."""
        labels = given.labels
        targets = torch.as_tensor(given.scaled).float() if labels is None else torch.as_tensor(labels)
        loss = self.loss or ("squared" if labels is None else "cross-entropy")

        left = None if self.max_seconds is None else max(self.max_seconds - (processor_seconds() - began), 1e-3)
        recipe = self._asked(recipe)
        how = OneCycle(
            learning_rate=recipe.learning_rate,
            epochs=recipe.epochs,
            min_steps=recipe.min_steps,
            batch_size=recipe.batch_size,
            weight_decay=recipe.weight_decay,
            loss=loss,
            smoothing=recipe.smoothing,
            augment=self.augment,
            max_seconds=left,
        )
        data, held = SimpleNamespace(inputs=x, targets=targets), None
        if recipe.held_out:
            train, kept = (torch.from_numpy(part) for part in inner_split(given, recipe.held_out, seed))
            if len(kept):
                data = SimpleNamespace(inputs=x[train], targets=targets[train])
                held = SimpleNamespace(inputs=x[kept], targets=targets[kept])
        judge = None if self.loss is not None else _squared if labels is None else _brier
        self.run_ = how.fit(recipe.network, data, seed, held=held, judge=judge)
        self.steps_, self.stopped_by_ = self.run_.steps, str(self.run_.ended)

    def _asked(self, recipe: Recipe) -> Recipe:
        """The recipe with what the user has set."""
        names = ("learning_rate", "epochs", "min_steps", "batch_size", "weight_decay", "held_out")
        return replace(recipe, **{name: getattr(self, name) for name in names if getattr(self, name) is not None})

    def _check_settings(self) -> None:
        """Raise for settings that cannot be meant, before anything is computed."""
        who = "TrainedNetwork"
        if self.task not in (None, "classification", "regression"):
            raise ValueError(f"task must be 'classification', 'regression' or None; got {self.task!r}.")
        rules = {
            "width": optional(whole()),
            "learning_rate": optional(POSITIVE),
            "epochs": optional(POSITIVE),
            "min_steps": optional(whole()),
            "batch_size": optional(whole()),
            "weight_decay": optional(NOT_NEGATIVE),
            "held_out": optional(number(least=0, below=1)),
            "input_shape": optional(SHAPE),
            "max_seconds": optional(POSITIVE),
        }
        for name, rule in rules.items():
            check(who, name, getattr(self, name), rule)

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _training_rows(self, X: Any, y: ArrayLike) -> Array:
        """Rows of numbers (n, features), NaN for gaps; images, series and frames by an encoding that is kept."""
        self.rows_: Rows | None = None
        if needs_encoding(X):
            check_consistent_length(X, y)
            self.rows_ = Rows.learnt(X, self.input_shape)
            rows = self.rows_(X)
            validate_data(self, X, reset=True, skip_check_array=True)
            self.n_features_in_ = len(X.columns) if is_frame(X) else rows.shape[1]
            return rows
        found: Array
        found, _ = validate_data(
            self, X, y, dtype=np.float64, ensure_all_finite="allow-nan", multi_output=True, ensure_min_samples=2
        )
        return found

    def _shape(self, features: int) -> Shape:
        """The shape of one input: as it was read, as the user says, or flat."""
        if self.rows_ is not None:
            return self.rows_.shape
        if self.input_shape is None:
            return (features,)
        shape = tuple(int(s) for s in self.input_shape)
        if int(np.prod(shape)) != features:
            raise ValueError(
                f"input_shape {shape} needs {int(np.prod(shape))} features per row; X has {features}. Reshape or drop "
                "columns, or pass another input_shape."
            )
        return shape

    # -- predict -------------------------------------------------------------------------------------------------------

    def _outputs(self, X: Any) -> Tensor:
        """Outputs of the network (n, outputs), or (n, members, outputs)."""
        check_is_fitted(self, "run_")
        if self.rows_ is not None:
            rows = self.rows_(X)
        else:
            rows = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        return self.run_.predict(self.inputs_(rows).float()).double()

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class, or the predicted numbers, shaped like the targets of ``fit``."""
        found = self._outputs(X)
        if self.task_ == "classification":
            classes: NDArray[Any] = self.classes_[_probabilities(found).argmax(1).numpy()]
            return classes
        values: NDArray[Any] = _mean(found).numpy() * self.target_scale_ + self.target_mean_
        return values[:, 0] if self._flat else values

    @only_if(classifies)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes: softmax of the outputs, averaged over members."""
        found: Array = _probabilities(self._outputs(X)).numpy()
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return "run_" in vars(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = tags.regressor_tags is not None
        return tags


def _mean(outputs: Tensor) -> Tensor:
    """The mean over members, where there are several."""
    return outputs.mean(1) if outputs.ndim == 3 else outputs


def _probabilities(outputs: Tensor) -> Tensor:
    return _mean(outputs.softmax(-1))


def _brier(outputs: Tensor, labels: Tensor) -> Tensor:
    """The squared error of probabilities (Brier 1950): what held-out rows judge classes by, between error and log-loss."""
    found = _probabilities(outputs)
    return (found.square().sum(1) - 2 * found.gather(1, labels[:, None])[:, 0]).mean()


def _squared(outputs: Tensor, targets: Tensor) -> Tensor:
    return (_mean(outputs) - targets).square().mean()
