"""What models must offer: kernels, networks by seed and by width, stacks of networks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeAlias, TypedDict

from torch import Tensor, nn

from priorscope.contracts._data import Shape

__all__ = [
    "FeatureKernel",
    "GradientContext",
    "KernelModel",
    "KernelPair",
    "Member",
    "Model",
    "NetworkEnsemble",
    "NetworkFamily",
    "NetworkMaker",
    "NetworkOptions",
    "NetworkStack",
]

Member: TypeAlias = Callable[[int], nn.Module]  # a factory: seed -> network


class KernelPair(Protocol):
    """The two infinite-width kernels between two batches, matrices (n1, n2); None where one was not asked for.

    Example:
        >>> from priorscope.contracts import missing
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
        >>> from priorscope.contracts import is_kernel_model
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
        >>> from priorscope.contracts import missing
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


class GradientContext(Protocol):
    """What torch hands to the two halves of an ``autograd.Function``: tensors kept by the first for the second.

    Example:
        >>> import torch
        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx: GradientContext, x: Tensor) -> Tensor:
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...
        ...     @staticmethod
        ...     def backward(ctx: GradientContext, slope: Tensor) -> Tensor:
        ...         return 2 * ctx.saved_tensors[0] * slope
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> torch.autograd.grad(Square.apply(x), x)
        (tensor(6.),)
    """

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:
        """What was kept."""
        ...

    def save_for_backward(self, *tensors: Tensor) -> None:
        """Keep these."""
        ...


class NetworkStack(Protocol):
    """K functions of one shape that run in one call: what gradient methods train together.

    Example:
        >>> from priorscope.contracts import is_network_stack
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
        >>> from priorscope.contracts import missing
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
        >>> from priorscope.contracts import is_network_maker
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
        >>> from priorscope.contracts import is_network_family
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


Model: TypeAlias = "KernelModel | NetworkFamily | NetworkStack | nn.Module | Member"
