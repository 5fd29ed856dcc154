"""The protocols on which the rooms meet: what data, models, inference and results must offer, and the checks at the door.

A class of the user's needs no base class of ours: it has the methods of a protocol or it does not. Whoever takes such an
object asks here once (:func:`require`, or one of the ``is_…`` questions); behind the door the types say the rest.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, TypeGuard, TypeVar, cast

from torch import Tensor, nn

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = [
    "CountedSamples",
    "FeatureKernel",
    "FiniteGroup",
    "GradientPredictor",
    "Fitted",
    "Inference",
    "KernelModel",
    "KernelPair",
    "LabelledData",
    "Member",
    "Model",
    "MovableData",
    "Needs",
    "NetworkEnsemble",
    "NetworkFamily",
    "NetworkMaker",
    "NetworkOptions",
    "NetworkStack",
    "Predictor",
    "Result",
    "Samples",
    "Shape",
    "TaskExecutor",
    "Trajectory",
    "Triple",
    "is_kernel_model",
    "is_network_family",
    "is_network_maker",
    "is_network_stack",
    "is_triple",
    "kernel_matrices",
    "kernel_matrix",
    "missing",
    "name_of",
    "needs_of",
    "own",
    "require",
    "settled",
]

Shape: TypeAlias = tuple[int, ...]
Needs: TypeAlias = Literal["kernel", "network"]
Member: TypeAlias = Callable[[int], nn.Module]  # a factory: seed -> network


class Samples(Protocol):
    """Samples with answers: ``inputs`` (n, ...) and ``targets`` (n, outputs), torch tensors.

    Example:
        >>> import priorscope as ps
        >>> missing(ps.data.digits(), Samples)
        ()
    """

    @property
    def inputs(self) -> Tensor:
        """Inputs (n, *input_shape)."""
        ...

    @property
    def targets(self) -> Tensor:
        """Targets (n, outputs)."""
        ...


class CountedSamples(Samples, Protocol):
    """Samples that can be counted.

    Example:
        >>> import priorscope as ps
        >>> missing(ps.data.digits().train, CountedSamples)
        ()
    """

    def __len__(self) -> int: ...


class LabelledData(Samples, Protocol):
    """The data of a learning system: training samples, test samples, the shape of both, and what the targets are.

    Example:
        >>> import priorscope as ps
        >>> missing(ps.data.digits(), LabelledData)
        ()
    """

    @property
    def train(self) -> CountedSamples:
        """The training samples, whose tensors ``inputs`` and ``targets`` also are."""
        ...

    @property
    def test(self) -> CountedSamples:
        """The test samples; may be empty."""
        ...

    @property
    def input_shape(self) -> Shape:
        """Shape of one input."""
        ...

    @property
    def n_outputs(self) -> int:
        """Number of columns of the targets."""
        ...

    @property
    def task(self) -> str:
        """Either "classification" or "regression"."""
        ...


class MovableData(LabelledData, Protocol):
    """Data that can be moved by a function of the inputs and cut down to a part: what probes of systems ask for.

    Example:
        >>> import priorscope as ps
        >>> missing(ps.data.digits(), MovableData)
        ()
    """

    def transformed(self, g: Callable[[Tensor], Tensor]) -> MovableData:
        """The data with ``g`` applied to the inputs of both splits."""
        ...

    def subset(self, n: int, seed: int = 0) -> MovableData:
        """``n`` random training samples."""
        ...


class KernelPair(Protocol):
    """The two infinite-width kernels between two batches, matrices (n1, n2); None where one was not asked for.

    Example:
        >>> import torch, priorscope as ps
        >>> missing(ps.models.fcn(1).kernel(torch.eye(2)), KernelPair)
        ()
    """

    @property
    def nngp(self) -> Any:
        """Covariance of the outputs at initialisation: a tensor, or a matrix on disk."""
        ...

    @property
    def ntk(self) -> Any:
        """Tangent kernel: a tensor, or a matrix on disk."""
        ...


class KernelModel(Protocol):
    """A model with a kernel that can be computed.

    Example:
        >>> import priorscope as ps
        >>> is_kernel_model(ps.models.fcn(1)), is_kernel_model(ps.models.lenet())
        (True, False)
    """

    def kernel(self, x1: Tensor, x2: Tensor | None = None, *, kinds: tuple[str, ...] = ("nngp", "ntk")) -> KernelPair:
        """Kernels between two batches; of ``x1`` with itself where ``x2`` is None."""
        ...


class FeatureKernel(KernelModel, Protocol):
    """A model whose kernel can be differentiated in its inputs and can see them through a linear map: what learns features.

    Example:
        >>> import priorscope as ps
        >>> missing(ps.models.fcn(1), FeatureKernel), missing(ps.models.laplace(), FeatureKernel)
        ((), ())
    """

    def expansion_gradients(self, x: Tensor, anchors: Tensor, coefficients: Tensor, *, kind: str = ...) -> Tensor:
        """Gradients (n, outputs, *input_shape) of x -> K(x, anchors) coefficients."""
        ...

    def feature_moment(self, x: Tensor, anchors: Tensor, coefficients: Tensor, *, kind: str = ...) -> Tensor:
        """Mean of gradient times gradient (size, size), in the space in which :meth:`mapped` acts."""
        ...

    def mapped(self, matrix: Tensor) -> FeatureKernel:
        """The kernel behind a linear map, (size, size) or its diagonal."""
        ...


class NetworkStack(Protocol):
    """K functions of one shape that run in one call: what gradient methods train together.

    Example:
        >>> import priorscope as ps
        >>> is_network_stack(ps.models.fcn(1).ensemble((3,), width=4, seeds=range(2)))
        True
    """

    @property
    def stacked(self) -> Mapping[str, Tensor]:
        """Parameters by name, each (K, ...)."""
        ...

    def call(self, stacked: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Outputs (K, n, outputs) at the parameters ``stacked``."""
        ...


class NetworkEnsemble(NetworkStack, Protocol):
    """A stack whose networks can be taken out one by one.

    Example:
        >>> import priorscope as ps
        >>> missing(ps.models.fcn(1).ensemble((3,), width=4, seeds=range(2)), NetworkEnsemble)
        ()
    """

    def __len__(self) -> int: ...

    def member(self, i: int) -> nn.Module:
        """Network ``i`` by itself."""
        ...


class NetworkOptions(TypedDict, total=False):
    """What a network is made with besides its input shape and its seed.

    Example:
        >>> import priorscope as ps
        >>> options: NetworkOptions = {"width": 4, "outputs": 2}
        >>> ps.models.fcn(1).network((3,), **options)[-1].weight.shape
        torch.Size([2, 4])
    """

    width: int
    outputs: int
    parametrisation: str
    initialisation: str


class NetworkMaker(Protocol):
    """A model that becomes a network for a seed.

    Example:
        >>> import priorscope as ps
        >>> is_network_maker(ps.models.fcn(1)), is_network_maker(nn.Linear(2, 1))
        (True, False)
    """

    def network(
        self,
        input_shape: Shape,
        *,
        width: int = ...,
        outputs: int = ...,
        seed: int = ...,
        parametrisation: str = ...,
        initialisation: str = ...,
    ) -> nn.Module:
        """The network of this seed."""
        ...


class NetworkFamily(NetworkMaker, Protocol):
    """A model that becomes networks of any width: one per seed, or several in one stack.

    Example:
        >>> import priorscope as ps
        >>> is_network_family(ps.models.fcn(1)), is_network_family(ps.models.lenet())
        (True, True)
    """

    def ensemble(
        self,
        input_shape: Shape,
        *,
        width: int = ...,
        outputs: int = ...,
        seeds: Iterable[int] = ...,
        parametrisation: str = ...,
        initialisation: str = ...,
    ) -> NetworkEnsemble:
        """The networks of these seeds in one stack."""
        ...


class Trajectory(Protocol):
    """Training seen at some times.

    Example:
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
        >>> missing(nn.Linear(2, 1), GradientPredictor)
        ('gradients',)
    """

    def gradients(self, inputs: Tensor) -> Tensor:
        """Gradients (n, outputs, *input_shape); (K, n, outputs, *input_shape) of several networks."""
        ...


class Predictor(Protocol):
    """Anything that predicts: a fitted result, or an estimator of scikit-learn.

    Example:
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
        >>> import priorscope as ps
        >>> needs_of(ps.inference.KernelRegression()), needs_of(ps.inference.GradientFlow())
        ('kernel', 'network')
    """

    def fit(self, model: Any, data: Any, seed: int = 0) -> Fitted:
        """Fit the model to the samples."""
        ...


class Result(Protocol):
    """What a probe gives: a tidy table and a chart.

    Example:
        >>> import numpy as np, priorscope as ps
        >>> missing(ps.probes.spectrum(np.eye(3)), Result)
        ()
    """

    def table(self) -> pd.DataFrame:
        """One row per thing measured."""
        ...

    def chart(self) -> alt.TopLevelMixin:
        """The picture of the result."""
        ...


Model: TypeAlias = "KernelModel | NetworkFamily | NetworkStack | nn.Module | Member"


class Triple(Protocol):
    """A learning system as others see it: data, model, inference.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits(classes="parity").subset(20)
        >>> is_triple(ps.System(data, ps.models.fcn(1), ps.inference.KernelRegression()))
        True
    """

    @property
    def data(self) -> LabelledData:
        """D."""
        ...

    @property
    def model(self) -> Model:
        """M."""
        ...

    @property
    def inference(self) -> Inference:
        """I."""
        ...


class FiniteGroup(Protocol):
    """A finite group that acts on inputs: its elements are functions of a batch, the identity among them.

    Example:
        >>> import priorscope as ps
        >>> missing(ps.data.groups.quarter_turns((1, 4, 4)), FiniteGroup)
        ()
    """

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def input_shape(self) -> Shape:
        """The shape of one input."""
        ...

    def elements(self) -> Sequence[Callable[[Tensor], Tensor]]:
        """All elements, each a map of batches (n, *input_shape)."""
        ...


class TaskExecutor(Protocol):
    """Whatever computes blocks elsewhere: a ``concurrent.futures.Executor``, a ``dask.distributed.Client``, or the like.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> missing(ThreadPoolExecutor(1), TaskExecutor)
        ()
    """

    @property
    def submit(self) -> Callable[..., object]:
        """``submit(function, *arguments)`` gives a future."""
        ...


Contract = TypeVar("Contract")
Settling = TypeVar("Settling", bound=KernelModel)


def _members(protocol: type) -> tuple[str, ...]:
    """Names a protocol asks for, in the order in which they are written."""
    names: dict[str, None] = {}
    for base in reversed(protocol.__mro__):
        if getattr(base, "_is_protocol", False) and base is not Protocol:
            names.update(dict.fromkeys(n for n in vars(base).get("__annotations__", {}) if not n.startswith("_")))
            names.update(dict.fromkeys(n for n in vars(base) if not n.startswith("_") or n == "__len__"))
    return tuple(names)


def _method(protocol: type, name: str) -> Callable[..., object] | None:
    """A method of the protocol as it is written there; None for what is no method."""
    found = inspect.getattr_static(protocol, name, None)
    return found if inspect.isfunction(found) else None


def missing(thing: object, protocol: type) -> tuple[str, ...]:
    """Names of the protocol that the object does not have, or has as something that cannot be called in place of a method.

    Example:
        >>> missing(3, KernelModel)
        ('kernel',)
    """
    return tuple(
        name
        for name in _members(protocol)
        if not hasattr(thing, name) or (_method(protocol, name) is not None and not callable(getattr(thing, name)))
    )


def _takes(method: Callable[..., object], wanted: Callable[..., object]) -> bool:
    """Whether a method can be called with the arguments of another, those with defaults by position or by name."""
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):  # compiled code does not tell
        return True
    asked = [p for p in inspect.signature(wanted).parameters.values() if p.name != "self"]
    named = [p for p in asked if p.kind is p.KEYWORD_ONLY]
    placed = [p for p in asked if p.kind is not p.KEYWORD_ONLY]
    firm = [p for p in placed if p.default is p.empty]
    ways = (
        (len(placed), [p.name for p in named]),
        (len(firm), [p.name for p in (*placed[len(firm) :], *named)]),
    )
    for count, names in ways:
        try:
            signature.bind(*range(count), **dict.fromkeys(names))
        except TypeError:
            continue
        return True
    return False


def require(thing: object, protocol: type[Contract], wanted: str, advice: str) -> Contract:
    """The object as what it must be, or an error that names what it lacks.

    Example:
        >>> require(3, KernelModel, "a model with a kernel", "Use an Architecture.")
        Traceback (most recent call last):
        ...
        TypeError: wanted a model with a kernel; got int, which has no kernel. Use an Architecture.
    """
    kind = type(thing).__name__
    lacks = missing(thing, protocol)
    if isinstance(thing, type) and not lacks:
        raise TypeError(f"wanted {wanted}; got the class {thing.__name__} itself. Make one: {thing.__name__}(...).")
    if lacks:
        raise TypeError(f"wanted {wanted}; got {kind}, which has no {', '.join(lacks)}. {advice}")
    for name in _members(protocol):
        asked = _method(protocol, name)
        if asked is not None and name != "__len__" and not _takes(getattr(thing, name), asked):
            raise TypeError(f"wanted {wanted}; {kind}.{name} does not take the arguments of {_written(name, asked)}.")
    return cast(Contract, thing)


def _written(name: str, method: Callable[..., object]) -> str:
    """A method's call in words.

    Example:
        >>> _written("fit", Inference.fit)
        'fit(model, data, seed)'
    """
    return f"{name}({', '.join(p for p in inspect.signature(method).parameters if p != 'self')})"


def own(thing: object, method: str) -> bool:
    """Whether an object's own class defines a method: what is inherited was written for another class.

    Example:
        >>> class Step:
        ...     def lower(self): ...
        >>> class Other(Step): ...
        >>> own(Step(), "lower"), own(Other(), "lower")
        (True, False)
    """
    return method in type(thing).__dict__


def is_kernel_model(model: object) -> TypeGuard[KernelModel]:
    """Whether the model has a kernel that can be computed.

    Example:
        >>> is_kernel_model(nn.Linear(2, 1))
        False
    """
    return callable(getattr(model, "kernel", None))


def is_network_stack(model: object) -> TypeGuard[NetworkStack]:
    """Whether the model is several networks that run in one call.

    Example:
        >>> is_network_stack(nn.Linear(2, 1))
        False
    """
    return not missing(model, NetworkStack)


def is_network_maker(model: object) -> TypeGuard[NetworkMaker]:
    """Whether the model becomes a network for a seed, without being one.

    Example:
        >>> is_network_maker(nn.Linear(2, 1))
        False
    """
    return not isinstance(model, nn.Module) and not missing(model, NetworkMaker)


def is_network_family(model: object) -> TypeGuard[NetworkFamily]:
    """Whether the model becomes networks of any width.

    Example:
        >>> is_network_family(nn.Linear(2, 1))
        False
    """
    return not isinstance(model, nn.Module) and not missing(model, NetworkFamily)


def is_triple(system: object) -> TypeGuard[Triple]:
    """Whether this is a whole learning system.

    Example:
        >>> is_triple(nn.Linear(2, 1))
        False
    """
    return not missing(system, Triple)


def needs_of(inference: Inference) -> Needs:
    """What an inference fits: "kernel" models or "network"s; networks where it does not say.

    Example:
        >>> import priorscope as ps
        >>> needs_of(ps.inference.GaussianProcess())
        'kernel'
    """
    needs = getattr(inference, "needs", "network")
    if needs not in ("kernel", "network"):
        raise TypeError(f"{type(inference).__name__}.needs must be 'kernel' or 'network'; got {needs!r}.")
    return cast(Needs, needs)


def kernel_matrix(model: KernelModel, x1: Tensor, x2: Tensor | None = None, kind: str = "ntk") -> Tensor:
    """One kernel of a model between two batches as a tensor.

    Example:
        >>> import torch, priorscope as ps
        >>> kernel_matrix(ps.models.fcn(1), torch.eye(3)).shape
        torch.Size([3, 3])
    """
    return kernel_matrices(model, x1, x2, (kind,))[kind]


def kernel_matrices(
    model: KernelModel, x1: Tensor, x2: Tensor | None = None, kinds: Iterable[str] = ("nngp", "ntk")
) -> dict[str, Tensor]:
    """Kernels of a model between two batches by their names, from one call; what is no such matrix is refused.

    Example:
        >>> import torch, priorscope as ps
        >>> sorted(kernel_matrices(ps.models.fcn(1), torch.eye(3)))
        ['nngp', 'ntk']
    """
    kinds = tuple(kinds)
    for kind in kinds:
        if kind not in ("nngp", "ntk"):
            raise ValueError(f"kind must be 'ntk' or 'nngp'; got {kind!r}.")
    pair = model.kernel(x1, x2, kinds=kinds)
    found = {kind: getattr(pair, kind, None) for kind in kinds}
    wanted = (len(x1), len(x1 if x2 is None else x2))
    for kind, matrix in found.items():
        who = f"{type(model).__name__}.kernel"
        if matrix is None:
            raise TypeError(
                f"wanted {who}(x1, x2) to give an object with {kind}, a matrix (n1, n2); got {type(pair).__name__} without it."
            )
        if tuple(getattr(matrix, "shape", ())) != wanted:
            raise ValueError(
                f"wanted {who}(x1, x2).{kind} of shape {wanted}; got {tuple(getattr(matrix, 'shape', ()))}."
            )
    return cast(dict[str, Tensor], found)


def settled(model: Settling, inputs: Tensor) -> Settling:
    """The model with all it takes from the training inputs fixed, by its method ``settled``; itself where it has none.

    A kernel whose bandwidth is the median distance is another kernel on other inputs: whoever fits settles it first.

    Example:
        >>> import torch, priorscope as ps
        >>> settled(ps.models.laplace(), torch.tensor([[0.0], [1.0], [5.0]])).bandwidth
        4.0
    """
    settle = getattr(model, "settled", None)
    return cast(Settling, settle(inputs)) if callable(settle) else model


def name_of(thing: object) -> str:
    """What to call a model in words: its ``name``, a function's own name, else the name of its class.

    Example:
        >>> import priorscope as ps
        >>> name_of(ps.models.fcn(2)), name_of(nn.Linear(2, 1))
        ('fcn', 'Linear')
    """
    for attribute in ("name", "__name__"):
        found = getattr(thing, attribute, None)
        if isinstance(found, str) and found and found != "<lambda>":
            return found
    return type(thing).__name__
