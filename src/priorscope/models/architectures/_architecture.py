"""An architecture: layers without a width, from which networks of any width and the infinite-width kernel come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from priorscope.checks import SEED, SHAPE, checked, whole
from priorscope.contracts import TaskExecutor
from priorscope.models.kernels._kernel import Kernel, check_kinds
from priorscope.models.kernels._mapped_inputs import MappedInputs
from priorscope.models.kernels._reference import reference_diagonal
from priorscope.models.layers._conv import Conv
from priorscope.models.layers._layer import Layer, Shape
from priorscope.models.layers._locally_connected import LocallyConnected
from priorscope.models.layers._sequential import Sequential
from priorscope.models.networks._antisymmetric import Antisymmetric
from priorscope.models.networks._build import Build
from priorscope.models.networks._ensemble import Ensemble

if TYPE_CHECKING:
    from priorscope.models.kernels._mapped_patches import MappedPatches

__all__ = ["Architecture"]


@dataclass(frozen=True)
class Architecture:
    """Layers from the input to the readout, the last of which has weights.

    Example:
        >>> import torch, priorscope as ps
        >>> arch = ps.models.Architecture("perceptron", (ps.models.Dense(), ps.models.Activation("erf"), ps.models.Dense()))
        >>> arch.network((3,), width=16, seed=0)(torch.zeros(2, 3)).shape
        torch.Size([2, 1])
        >>> arch.kernel(torch.eye(3)).nngp.shape
        torch.Size([3, 3])
    """

    name: str
    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        if isinstance(self.layers, Layer):
            object.__setattr__(self, "layers", (self.layers,))
        elif isinstance(self.layers, Iterable):
            object.__setattr__(self, "layers", tuple(self.layers))
        if not Sequential(self.layers).layers:
            raise ValueError("Architecture needs at least one layer, the readout; got none. End with Dense().")

    @property
    def body(self) -> Sequential:
        """All layers as one."""
        return Sequential(self.layers)

    def check_input_shape(self, shape: Shape) -> None:
        """Refuse inputs that the layers cannot take, or whose outputs still have pixels."""
        after = self.body.output_shape(tuple(shape))
        if len(after) != 1:
            raise ValueError(
                f"{self.name} ends with pixels {after[1:]} for inputs of shape {tuple(shape)}; "
                "put Flatten() or GlobalAvgPool() before the readout."
            )

    def kernel(
        self,
        x1: Tensor,
        x2: Tensor | None = None,
        *,
        kinds: tuple[str, ...] | str = ("nngp", "ntk"),
        path: str = "auto",
        dtype: torch.dtype | None = None,
        block: int | None = None,
        out: str | PathLike[str] | None = None,
        executor: TaskExecutor | None = None,
        progress: bool | None = None,
        memory: float | None = None,
    ) -> Kernel:
        """Infinite-width kernels between two batches (``x2=None``: of one with itself, each pair once).

        ``path`` chooses the torch reference or the fused CPU code; "auto" takes the fused one where it applies. ``block``
        (inputs per block), ``memory`` (bytes), ``out`` (a file), ``executor`` and ``progress`` steer long work.

        Example:
            >>> import torch, priorscope as ps
            >>> k = ps.models.fcn(depth=1, weight_variance=2.0).kernel(torch.ones(1, 4))
            >>> round(float(k.nngp), 5), round(float(k.ntk), 5)  # (2, 2 + 2) by hand
            (2.0, 4.0)
        """
        kinds = check_kinds(kinds)
        from priorscope.models.kernels._engine import compute_kernel

        return compute_kernel(
            self,
            x1,
            x2,
            kinds=kinds,
            path=path,
            dtype=dtype,
            block=block,
            out=out,
            executor=executor,
            progress=progress,
            memory=memory,
        )

    def kernel_diagonal(self, x: Tensor, *, kinds: tuple[str, ...] | str = ("nngp", "ntk")) -> Kernel:
        """Kernels of each input with itself, vectors ``(n,)``.

        Example:
            >>> import torch, priorscope as ps
            >>> ps.models.fcn(depth=1).kernel_diagonal(torch.eye(3)).ntk.shape
            torch.Size([3])
        """
        return reference_diagonal(self, x, check_kinds(kinds))

    def expansion_gradients(self, x: Tensor, anchors: Tensor, coefficients: Tensor, *, kind: str = "ntk") -> Tensor:
        r"""Gradients (n, outputs, *input_shape) of :math:`f(x) = \sum_j K(x, z_j)\,c_j` with the kernel of this architecture.

        Without pixels from the derivatives of the kernel in the cosine and the norms, with pixels through the reference.

        Example:
            >>> import torch, priorscope as ps
            >>> x = torch.eye(2)
            >>> ps.models.Architecture("linear", (ps.models.Dense(),)).expansion_gradients(x, x, torch.ones(2, 1)).tolist()
            [[[0.5, 0.5]], [[0.5, 0.5]]]
        """
        from priorscope.models.kernels._expansion_gradients import expansion_gradients

        (kind,) = check_kinds(kind)
        return expansion_gradients(self, x, anchors, coefficients, kind)

    def feature_moment(self, x: Tensor, anchors: Tensor, coefficients: Tensor, *, kind: str = "ntk") -> Tensor:
        """Mean of gradient times gradient over rows and outputs: of whole inputs, or of patches behind a first convolution.

        Example:
            >>> import torch, priorscope as ps
            >>> x = torch.randn(3, 1, 4, 4, generator=torch.Generator().manual_seed(0))
            >>> ps.models.vec(1).feature_moment(x, x, torch.ones(3, 1)).shape
            torch.Size([9, 9])
        """
        first = self.layers[0]
        size = x.shape[1] * first.kernel_size ** (x.ndim - 2) if isinstance(first, Conv) else x[0].numel()
        return self.mapped(torch.ones(size)).feature_moment(x, anchors, coefficients, kind=kind)

    def mapped(self, matrix: Tensor) -> MappedInputs | MappedPatches:
        """The kernel behind a linear map: of patches where the first layer is a convolution, else of whole inputs.

        Example:
            >>> import torch, priorscope as ps
            >>> ps.models.fcn(1).mapped(torch.eye(3)).name, ps.models.gap(1).mapped(torch.eye(9)).name
            ('fcn + features', 'gap + features')
        """
        from priorscope.models.kernels._mapped_patches import MappedPatches

        first = self.layers[0]
        if isinstance(first, Conv):
            return MappedPatches(self, matrix)
        if isinstance(first, LocallyConnected):
            raise ValueError(
                f"{self.name} has other weights at each position, so that no linear map of its patches suits all; learn features "
                "with vec, which has the same kernel at infinite width, or with fcn."
            )
        return MappedInputs(self, matrix)

    def estimate(self, n1: int, n2: int | None, input_shape: Shape, **options: Any) -> Any:
        """Time and memory that ``kernel`` will take, before it is started.

        Example:
            >>> import priorscope as ps
            >>> ps.models.gap(depth=2).estimate(100, None, (3, 8, 8)).seconds > 0
            True
        """
        from priorscope.models.kernels._estimate import estimate

        return estimate(self, n1, n2, input_shape, **options)

    @checked(input_shape=SHAPE, width=whole(), outputs=whole(), seed=SEED)
    def network(
        self,
        input_shape: Shape,
        width: int = 256,
        outputs: int = 1,
        seed: int = 0,
        parametrisation: str = "ntk",
        initialisation: str = "gaussian",
        dtype: torch.dtype | None = None,
    ) -> nn.Module:
        """A finite network ``(n, *input_shape) -> (n, outputs)`` whose hidden layers have ``width`` channels.

        Example:
            >>> import torch, priorscope as ps
            >>> ps.models.gap(depth=1).network((3, 8, 8), width=4, outputs=2)(torch.zeros(5, 3, 8, 8)).shape
            torch.Size([5, 2])
        """
        shape = tuple(int(s) for s in input_shape)
        self.check_input_shape(shape)
        generator = torch.Generator().manual_seed(int(seed))
        build = Build(generator, parametrisation, initialisation, dtype)
        modules: list[nn.Module] = []
        last = len(self.layers) - 1
        for i, layer in enumerate(self.layers):
            channels = outputs if i == last else width
            modules.append(layer.module(shape, channels, build.readout() if i == last else build))
            shape = layer.output_shape(shape, channels)
        net = nn.Sequential(*modules)
        return Antisymmetric(net) if initialisation == "antisymmetric" else net

    @checked(input_shape=SHAPE, width=whole(), outputs=whole())
    def ensemble(
        self,
        input_shape: Shape,
        width: int = 256,
        outputs: int = 1,
        seeds: Sequence[int] | Iterable[int] = range(4),
        parametrisation: str = "ntk",
        initialisation: str = "gaussian",
        dtype: torch.dtype | None = None,
    ) -> Ensemble:
        """Networks of several seeds that run and train in one call.

        Example:
            >>> import priorscope as ps
            >>> len(ps.models.fcn(depth=1).ensemble((4,), width=8, outputs=1, seeds=range(3)))
            3
        """
        how = (parametrisation, initialisation, dtype)
        return Ensemble([self.network(input_shape, width, outputs, seed, *how) for seed in seeds])
