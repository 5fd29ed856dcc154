"""What a trained network is worth on other data: its features frozen, under a linear or a kernel head, and its tangent kernel."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from priorscope.checks import POSITIVE, SHAPE, check, optional, whole
from priorscope.contracts import Fields, Shape
from priorscope.inference import processor_seconds
from priorscope.models import Backbone, Kernel
from priorscope.probes import empirical_ntk
from priorscope.sklearn._by_task import EitherTask, classifies
from priorscope.sklearn._estimator import Estimator, only_if
from priorscope.sklearn._kernel_machine import KernelMachine
from priorscope.sklearn._own_network import asked, backbone_of, first_taken
from priorscope.sklearn._reading import Reading, as_array, readings_of_own
from priorscope.sklearn._targets import read_targets
from priorscope.sklearn._tuned import Tuned

__all__ = ["FrozenFeatures", "TangentMachine"]

_SIGNED = 4  # outputs of which the tangent kernel is taken: random signs of all, where there are more
_TRIED = 24  # rows on which the time of the kernel is measured


class _AtWeights(EitherTask):
    """A predictor on top of a module at the weights it came with."""

    module: nn.Module
    input_shape: Shape | None
    fields: Fields | None
    tokens: bool | None
    max_seconds: float | None
    random_state: int | np.random.RandomState | None
    backbone_: Backbone
    reading_: Reading
    estimator_: Estimator

    def _begun(self, X: object, y: ArrayLike) -> tuple[Tensor, NDArray[np.generic], float, int]:
        """The rows as the module takes them, the targets, when it began, and the seed."""
        began, who = processor_seconds(), type(self).__name__
        if not isinstance(self.module, nn.Module):
            raise TypeError(
                f"{who} needs a module with its trained weights; got {type(self.module).__name__}. Build it and load its "
                "weights first: module.load_state_dict(torch.load(path, weights_only=True))."
            )
        check(who, "max_seconds", self.max_seconds, optional(POSITIVE))
        check(who, "input_shape", self.input_shape, optional(SHAPE))
        if y is None:
            raise ValueError(f"{who} requires y to be passed, but the target y is None.")
        targets = np.asarray(as_array(y))
        given = read_targets(targets, self.task)
        self.task_ = given.task
        if given.labels is not None:
            self.classes_ = given.classes
        module = self.module
        embeds, sequential = asked(module, (), 1)
        tokens = embeds if self.tokens is None else self.tokens
        readings = readings_of_own(
            self, X, targets, self.input_shape, self.fields, standardise=False, sequential=sequential
        )
        self.reading_, x, self.backbone_ = first_taken(
            readings, lambda how, x: backbone_of(module, how, x, tokens=tokens)
        )
        self.notes_ = (*given.notes, *self.backbone_.notes)
        state = self.random_state
        seed = int(state) if isinstance(state, int | np.integer) else int(check_random_state(state).randint(2**31 - 1))
        return x, targets, began, seed

    def _left(self, began: float) -> float | None:
        return None if self.max_seconds is None else max(self.max_seconds - (processor_seconds() - began), 1e-2)

    def _rows(self, x: Tensor) -> NDArray[np.float64]:
        """What the head is fitted to."""
        raise NotImplementedError

    def predict(self, X: object) -> NDArray[np.generic]:
        """Classes or numbers of new rows."""
        check_is_fitted(self, "estimator_")
        found: NDArray[np.generic] = self.estimator_.predict(self._rows(self.reading_(self, X)))
        return found

    @only_if(classifies)
    def predict_proba(self, X: object) -> NDArray[np.float64]:
        """Probabilities of the classes, as the head gives them."""
        check_is_fitted(self, "estimator_")
        found: NDArray[np.float64] = self.estimator_.predict_proba(self._rows(self.reading_(self, X)))  # type: ignore[attr-defined]
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return "estimator_" in vars(self)


class FrozenFeatures(_AtWeights):
    """A head on the features of a trained network, which stay as they are: what its representation is worth on your data.

    The features are the numbers before the module's last linear layer, in eval mode, of inputs as they came (a network that
    was trained on normalised images wants them normalised); without such a layer they are its outputs, maps averaged over places.

    Args:
        module: with its trained weights.
        head: "linear" (tuned), "kernel" (a kernel machine with Laplace's kernel), or an estimator of scikit-learn.
        task, input_shape, fields, tokens, max_seconds, random_state: as in :class:`TrainedNetwork`.

    Example:
        >>> net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 5))
        >>> X = np.random.default_rng(0).normal(size=(80, 2))
        >>> FrozenFeatures(net).fit(X[:60], X[:60, 0] > 0).score(X[60:], X[60:, 0] > 0) > 0.8
        True
    """

    def __init__(
        self,
        module: nn.Module,
        head: str | Estimator = "linear",
        *,
        task: str | None = None,
        input_shape: Shape | None = None,
        fields: Fields | None = None,
        tokens: bool | None = None,
        max_seconds: float | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        """Keep the settings; :meth:`fit` checks them, as scikit-learn asks of estimators."""
        self.module = module
        self.head = head
        self.task = task
        self.input_shape = input_shape
        self.fields = fields
        self.tokens = tokens
        self.max_seconds = max_seconds
        self.random_state = random_state

    def fit(self, X: object, y: ArrayLike) -> FrozenFeatures:
        """Compute the features and fit the head; ``notes_`` say which features these are."""
        if isinstance(self.head, str) and self.head not in ("linear", "kernel"):
            raise ValueError(f"head must be 'linear', 'kernel' or an estimator; got {self.head!r}.")
        x, targets, began, seed = self._begun(X, y)
        rows = self._rows(x)
        if self.head == "linear":
            machine = Tuned("linear", task=self.task_, max_seconds=self._left(began), random_state=seed)
        elif self.head == "kernel":
            machine = KernelMachine("laplace", task=self.task_, seed=seed)
        else:
            machine = clone(self.head)
        self.estimator_ = machine.fit(rows, targets)
        return self

    def _rows(self, x: Tensor) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self.backbone_.features(x).double().numpy()
        return found


class TangentMachine(_AtWeights):
    r"""The tangent kernel of a trained network at its weights, as a predictor: fine-tuning in the limit of small changes.

    .. math:: \Theta(x, x') = \phi(x) \cdot \phi(x') + \sum_{\theta} \partial_\theta g(x) \cdot \partial_\theta g(x'),
        \quad g = S\,\phi / \sqrt{d}

    the kernel of a new last layer on the features :math:`\phi` (d numbers before the module's last linear layer) and of all
    layers below it, seen through a last layer of random signs S (Malladi et al. 2023, arXiv 2210.05643, for such kernels).
    Ridge by leave-one-out. Within ``max_seconds`` as many rows carry the solution as their kernel takes (``notes_``).

    Args:
        module: with its trained weights.
        landmarks: how many training rows carry the solution; None: all up to 5,000, or as many as the time allows.
        task, input_shape, fields, tokens, max_seconds, random_state: as in :class:`TrainedNetwork`.

    Example:
        >>> net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 5))
        >>> X = np.random.default_rng(0).normal(size=(80, 2))
        >>> TangentMachine(net).fit(X[:60], X[:60, 0] > 0).score(X[60:], X[60:, 0] > 0) > 0.8
        True
    """

    def __init__(
        self,
        module: nn.Module,
        *,
        landmarks: int | None = None,
        task: str | None = None,
        input_shape: Shape | None = None,
        fields: Fields | None = None,
        tokens: bool | None = None,
        max_seconds: float | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        """Keep the settings; :meth:`fit` checks them, as scikit-learn asks of estimators."""
        self.module = module
        self.landmarks = landmarks
        self.task = task
        self.input_shape = input_shape
        self.fields = fields
        self.tokens = tokens
        self.max_seconds = max_seconds
        self.random_state = random_state

    def fit(self, X: object, y: ArrayLike) -> TangentMachine:
        """Compute the kernel of the training rows and solve for the coefficients."""
        check("TangentMachine", "landmarks", self.landmarks, optional(whole()))
        x, targets, began, seed = self._begun(X, y)
        model = _Tangent(self.backbone_, seed)
        n, carried = len(x), self.landmarks
        if carried is None and self.max_seconds is not None:
            carried = _affordable(model, x, self._left(began) or 0.0)
        few = carried is not None and carried < n
        if few:
            self.notes_ += (f"{carried} of {n} training rows carry the solution",)
        self._shape = tuple(x.shape[1:])
        self.estimator_ = KernelMachine(
            model,
            kind="ntk",
            task=self.task_,
            inputs="raw",
            whiten=False,
            flips=False,
            input_shape=self._shape if len(self._shape) > 1 else None,
            landmarks=carried if few and carried is not None else "auto",
            seed=seed,
        ).fit(self._rows(x), targets)
        return self

    def _rows(self, x: Tensor) -> NDArray[np.float64]:
        found: NDArray[np.float64] = x.flatten(1).double().numpy()
        return found


class _Tangent:
    """The tangent kernel of a new last layer and of all layers below it, as a model with a kernel."""

    def __init__(self, backbone: Backbone, seed: int) -> None:
        k = min(_SIGNED, backbone.size)
        signs = torch.randint(0, 2, (k, backbone.size), generator=torch.Generator().manual_seed(seed)) * 2.0 - 1
        self.backbone = backbone
        self.below = backbone.headed(k, signs / (k * backbone.size) ** 0.5)
        self.below.head.requires_grad_(False)
        self.below.eval()

    def kernel(self, x1: Tensor, x2: Tensor | None = None, *, kinds: tuple[str, ...] = ("ntk",)) -> Kernel:
        """The kernel between two batches; there is no other than the tangent kernel."""
        a, b = x1.float(), None if x2 is None else x2.float()
        found = empirical_ntk(self.below, a, b).detach().double()
        first = self.backbone.features(a).double()
        second = first if b is None else self.backbone.features(b).double()
        found = found + first @ second.mT + 1.0
        return Kernel(ntk=found.to(x1.dtype))


def _affordable(model: _Tangent, x: Tensor, seconds: float) -> int:
    """How many rows can carry the solution in these seconds, by the time that a few take."""
    few = min(_TRIED, len(x))
    model.kernel(x[:2])
    began = processor_seconds()
    model.kernel(x[:few])
    each = max((processor_seconds() - began) / few**2, 1e-9)
    return int(max(min(seconds / (2 * each * len(x)), len(x), 5000), 2))
