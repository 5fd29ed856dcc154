"""A network as a predictor of scikit-learn, trained as people train networks: for classes and numbers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from priorscope.checks import NOT_NEGATIVE, POSITIVE, SHAPE, check, number, optional, whole
from priorscope.contracts import Fields, Shape
from priorscope.inference import Ended, FittedCycle, OneCycle, Trajectory, processor_seconds
from priorscope.models import UserNetwork
from priorscope.sklearn._by_task import EitherTask, classifies
from priorscope.sklearn._estimator import only_if
from priorscope.sklearn._inner_split import inner_split
from priorscope.sklearn._own_network import (
    OwnNetwork,
    asked,
    backbone_of,
    first_taken,
    fitted_network,
    from_weights,
    is_own,
    loaded,
    own_recipe,
)
from priorscope.sklearn._reading import Reading, as_array, reading, readings_of_own
from priorscope.sklearn._recipe import Recipe, recipe_of
from priorscope.sklearn._targets import Targets, read_targets

__all__ = ["TrainedNetwork"]

Array = NDArray[np.float64]
TrainingFunction = Callable[..., nn.Module | None]


class TrainedNetwork(EitherTask):
    r"""Classification or regression with a finite network, trained by AdamW through one cycle of the rate.

    ``model`` is "convolutional" (batch normalisation, global pooling; for images and series), "positional" (the same, with
    places kept), "dense" (for tables: :class:`priorscope.models.TabularNetwork`), a network of your own, or one of this
    library's architectures, which starts at zero output (:math:`f - f_0`). Classes are learnt by cross entropy, numbers by
    the squared error of standardised targets; batch normalisation and dropout are live (:class:`priorscope.inference.OneCycle`).
    A network of your own is given rows as they came (arrays, tensors, dictionaries of them) where it takes them so; with one
    output for two classes it says the logarithm of the odds. Settings left at None suit the model and the number of rows.

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
        train: a function of your own that trains a network of yours, called with the module, its inputs (a tensor, or parts by
            name) and the targets, and with those of ``seed``, ``max_seconds`` that it names; it may return another module.
        from_weights: whether a network of yours starts from the weights that it came with and gets inputs as they came, instead
            of being drawn again by ``random_state`` for standardised ones. Its last layer is new, fitted to frozen features.
        input_shape: of one row, such as (1, 8, 8), for rows that are flattened images or series.
        fields: the parts of inputs that are laid one after the other, such as tokens and their mask
            (:class:`priorscope.contracts.Fields`); dictionaries of arrays need none.
        tokens: whether inputs are whole numbers for a network with an embedding, and not standardised; None asks the network.
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
        train: TrainingFunction | None = None,
        from_weights: bool = False,
        input_shape: Shape | None = None,
        fields: Fields | None = None,
        tokens: bool | None = None,
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
        self.train = train
        self.from_weights = from_weights
        self.input_shape = input_shape
        self.fields = fields
        self.tokens = tokens
        self.max_seconds = max_seconds
        self.random_state = random_state

    # -- fit -----------------------------------------------------------------------------------------------------------

    def fit(self, X: object, y: ArrayLike) -> TrainedNetwork:
        """Draw the network and train it; ``notes_`` says how inputs reached it, ``stopped_by_`` what ended the training."""
        began = processor_seconds()
        self._check_settings()
        if y is None:
            raise ValueError("TrainedNetwork requires y to be passed, but the target y is None.")
        model = loaded(self.model)
        seed, y = self._seed(), np.asarray(as_array(y))
        if is_own(model):
            given = read_targets(y, self.task)
            recipe, x = self._own(model, X, y, given, seed)
        else:
            self.reading_, x = reading(self, as_array(X), y, self.input_shape, not self.tokens)
            given = read_targets(y, self.task)
            recipe = recipe_of(model, x, given.scaled.shape[1], width=self.width, seed=seed)
        self._train(recipe, x, given, seed, began)
        if isinstance(self.run_.network, UserNetwork):  # what is kept can be pickled where the module can
            self.run_.network.build = self.run_.network.sample = None
        self.notes_ = (*given.notes, *recipe.notes)
        self.task_ = given.task
        if given.labels is not None:
            self.classes_ = given.classes
        else:
            self.target_mean_, self.target_scale_, self._flat = given.mean, given.scale, given.flat
        return self

    def _own(self, model: OwnNetwork, X: object, y: ArrayLike, given: Targets, seed: int) -> tuple[Recipe, Tensor]:
        """The recipe of a network of the user, and the rows as it takes them."""
        outputs, classes = given.scaled.shape[1], given.labels is not None
        shape = self.input_shape or tuple(getattr(X, "shape", (1, 1))[1:])
        embeds, sequential = asked(model, shape, outputs)
        tokens = embeds if self.tokens is None else self.tokens
        plain = not (tokens or self.from_weights)
        readings = readings_of_own(self, X, y, self.input_shape, self.fields, standardise=plain, sequential=sequential)
        if self.from_weights and self.train is None:
            self.reading_, x, trained = first_taken(readings, lambda how, x: backbone_of(model, how, x, tokens=tokens))
            loss = self.loss or ("cross-entropy" if classes else "squared")
            return from_weights(trained, x, given, loss, seed), x

        def fitted(how: Reading, x: Tensor) -> UserNetwork:
            return fitted_network(model, how, x, outputs, seed, tokens=tokens, odds=classes and outputs == 2)

        self.reading_, x, network = first_taken(readings, fitted)
        return own_recipe(network, len(x), outputs, seed, kept=self.from_weights), x

    def _train(self, recipe: Recipe, x: Tensor, given: Targets, seed: int, began: float) -> None:
        """Train the network of the recipe, on the rows that are not held out, in what is left of the seconds."""
        labels = given.labels
        targets = torch.as_tensor(given.scaled).float() if labels is None else torch.as_tensor(labels)
        loss = self._loss(recipe.network) or ("squared" if labels is None else "cross-entropy")

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
        if self.train is not None:
            self.run_ = self._by_function(recipe.network, x, targets, seed, left)
        else:
            self.run_ = how.fit(recipe.network, data, seed, held=held, judge=judge)
        self.steps_, self.stopped_by_ = self.run_.steps, str(self.run_.ended)

    def _by_function(
        self, network: nn.Module, x: Tensor, targets: Tensor, seed: int, left: float | None
    ) -> FittedCycle:
        """The network as the user's own function trains it."""
        if not isinstance(network, UserNetwork):
            raise ValueError("train= is for networks of your own; leave it out for those of this library.")
        assert self.train is not None
        offered = {"seed": seed, "random_state": seed, "max_seconds": left}
        named = inspect.signature(self.train).parameters
        began = processor_seconds()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network.train()
            made = self.train(
                network.module, network.way.given(x), targets, **{k: v for k, v in offered.items() if k in named}
            )
        if isinstance(made, nn.Module):
            network.module = made
        elif made is not None:
            raise TypeError(f"train= must return a module or nothing; got {type(made).__name__}.")
        path = Trajectory(torch.zeros(0), torch.zeros(0))
        spent = processor_seconds() - began
        return FittedCycle(network, path, steps=0, kept=0, seconds=spent, ended=Ended.OWN, held_loss=None)

    def _asked(self, recipe: Recipe) -> Recipe:
        """The recipe with what the user has set."""
        names = ("learning_rate", "epochs", "min_steps", "batch_size", "weight_decay", "held_out")
        return replace(recipe, **{name: getattr(self, name) for name in names if getattr(self, name) is not None})

    def _loss(self, network: nn.Module) -> Callable[[Tensor, Tensor], Tensor] | None:
        """The loss of the user; for one output and two classes it is given that output and 0 or 1."""
        own = self.loss
        if own is None or not (isinstance(network, UserNetwork) and network.odds):
            return own
        return lambda outputs, labels: own(outputs[:, 1:], labels[:, None].to(outputs.dtype))

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

    # -- predict -------------------------------------------------------------------------------------------------------

    def _outputs(self, X: object) -> Tensor:
        """Outputs of the network (n, outputs), or (n, members, outputs)."""
        check_is_fitted(self, "run_")
        return self.run_.predict(self.reading_(self, X)).double()

    def predict(self, X: object) -> NDArray[np.generic]:
        """The most probable class, or the predicted numbers, shaped like the targets of ``fit``."""
        found = self._outputs(X)
        if self.task_ == "classification":
            classes: NDArray[np.generic] = self.classes_[_probabilities(found).argmax(1).numpy()]
            return classes
        values: NDArray[np.generic] = _mean(found).numpy() * self.target_scale_ + self.target_mean_
        return values[:, 0] if self._flat else values

    @only_if(classifies)
    def predict_proba(self, X: object) -> Array:
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
