"""Models averaged over a finite group: the infinite-width kernel, and the networks whose limit it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any

import torch
from torch import Tensor, nn

from priorscope.checks import SEED, SHAPE, checked, whole
from priorscope.contracts import (
    FiniteGroup,
    KernelModel,
    NetworkMaker,
    Shape,
    TaskExecutor,
    kernel_matrix,
    name_of,
    require,
    settled,
)
from priorscope.models.architectures._architecture import Architecture
from priorscope.models.equivariant._group_pool import group_name, is_jointly_invariant, moves_of
from priorscope.models.equivariant._moves import GROUPS
from priorscope.models.kernels._average import Average, Move
from priorscope.models.kernels._engine import compute_kernel
from priorscope.models.kernels._estimate import Estimate, estimate
from priorscope.models.kernels._kernel import Kernel, check_kinds
from priorscope.models.networks._ensemble import Ensemble

__all__ = ["GroupAveraged", "Invariant", "invariant"]


class GroupAveraged(nn.Module):
    r"""A network averaged over a finite group, :math:`\bar f(x) = |G|^{-1}\sum_g f(g x)`: exactly invariant, same parameters.

    Example:
        >>> net = GroupAveraged(nn.Sequential(nn.Flatten(), nn.Linear(4, 1)), "p4", (1, 2, 2))
        >>> x = torch.rand(3, 1, 2, 2)
        >>> torch.allclose(net(x), net(x.rot90(1, (-2, -1))))
        True
    """

    def __init__(self, network: nn.Module, group: str | FiniteGroup, input_shape: Shape) -> None:
        super().__init__()
        self.network = network
        self.moves: tuple[Move, ...] = moves_of(group, tuple(input_shape))

    def forward(self, x: Tensor) -> Tensor:
        moved = torch.cat([move(x) for move in self.moves])  # one pass for all
        found: Tensor = self.network(moved)
        return found.reshape(len(self.moves), len(x), *found.shape[1:]).mean(0)


@dataclass(frozen=True)
class Invariant:
    r"""A model averaged over a finite group of moves of its inputs: what it can learn is exactly invariant.

    .. math:: \bar f(x) = \frac1{|G|}\sum_{g} f(g x), \qquad
        k_G(x, x') = \frac1{|G|^2}\sum_{g, g'} k(g x, g' x') = \frac1{|G|}\sum_{g} k(x, g x')

    for both kernels (Haasdonk & Burkhardt 2007; Mroueh, Voinea & Poggio 2015; for tangent kernels of networks with averaged
    outputs Li et al. 2019, arXiv 1911.00809). The last form holds where :math:`k(gx, gx') = k(x, x')`; that is tried for
    every shape of inputs (:meth:`average`), and where it fails the double sum is taken, |G| times dearer. ``model`` is an
    architecture or anything with a kernel; ``group`` a name ("mirror", "flips", "p2", "p4", "p4m", "shifts", "sign") or a finite
    group of ``priorscope.data.groups``.

    Example:
        >>> import priorscope as ps
        >>> arch = ps.models.invariant(ps.models.gap(2), "p4")
        >>> x = torch.rand(2, 1, 6, 6)
        >>> k = arch.kernel(torch.cat([x, x.rot90(1, (-2, -1))])).ntk
        >>> arch.name, torch.allclose(k[:2], k[2:], rtol=1e-4)
        ('gap/p4', True)
    """

    model: KernelModel
    group: str | FiniteGroup

    def __post_init__(self) -> None:
        advice = "Average an nn.Module with GroupAveraged, or take an Architecture."
        require(self.model, KernelModel, "a model with a kernel", advice)
        if isinstance(self.group, str):
            if self.group not in GROUPS:
                raise ValueError(
                    f"there is no group {self.group!r}; there are {', '.join(GROUPS)}, and those of priorscope.data.groups."
                )
        else:
            moves_of(
                self.group,
                tuple(require(self.group, FiniteGroup, "a finite group", "See priorscope.data.groups.").input_shape),
            )

    @property
    def name(self) -> str:
        """The model's name, a stroke, the group's."""
        return f"{name_of(self.model)}/{group_name(self.group)}"

    @property
    def words(self) -> str:
        """The group in words."""
        return GROUPS[self.group].words if isinstance(self.group, str) else self.group.name

    @cached_property
    def _averages(self) -> dict[Shape, Average]:
        return {}

    def average(self, input_shape: Shape) -> Average:
        """The moves for inputs of a shape, and whether both inputs must be moved.

        Example:
            >>> import priorscope as ps
            >>> ps.models.invariant(ps.models.gap(2), "p4").average((1, 8, 8)).times
            4
            >>> layers = (ps.models.Conv(3, stride=2, padding="zeros"), ps.models.Flatten(), ps.models.Dense())
            >>> strided = ps.models.Architecture("strided", layers)
            >>> ps.models.invariant(strided, "p4").average((1, 8, 8)).times  # not the same after a turn of both inputs
            16
        """
        shape = tuple(int(s) for s in input_shape)
        if shape not in self._averages:
            moves = moves_of(self.group, shape)
            plain = settled(self.model, torch.randn(8, *shape, generator=torch.Generator().manual_seed(5)))
            joint = is_jointly_invariant(lambda a, b: kernel_matrix(plain, a, b, "ntk"), moves, shape)
            self._averages[shape] = Average(group_name(self.group), moves, not joint)
        return self._averages[shape]

    def check_input_shape(self, shape: Shape) -> None:
        """Refuse inputs that the model or the group cannot take."""
        moves_of(self.group, tuple(shape))
        if isinstance(self.model, Architecture):
            self.model.check_input_shape(shape)

    def settled(self, inputs: Tensor) -> Invariant:
        """The model with what it takes from the training inputs fixed."""
        return replace(self, model=settled(self.model, inputs))

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
        """Kernels between two batches, averaged; options as in :meth:`Architecture.kernel` where the model is one.

        Example:
            >>> import priorscope as ps
            >>> ps.models.invariant(ps.models.fcn(1), "sign").kernel(torch.eye(2)).ntk.shape
            torch.Size([2, 2])
        """
        kinds = check_kinds(kinds)
        average = self.average(tuple(x1.shape[1:]))
        if isinstance(self.model, Architecture):
            return compute_kernel(
                self.model,
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
                average=average,
            )
        if out is not None or executor is not None:
            raise ValueError(
                f"out= and executor= are for architectures; {name_of(self.model)} is a kernel of another kind."
            )
        return self._any_kernel(x1, x2, kinds, average, dtype)

    def _any_kernel(
        self, x1: Tensor, x2: Tensor | None, kinds: tuple[str, ...], average: Average, dtype: torch.dtype | None
    ) -> Kernel:
        """The mean of the kernels that the model gives, whatever it is; one sum per kind."""
        second = x1 if x2 is None else x2
        model = settled(self.model, second)
        totals: dict[str, Tensor] = {}
        for left in average.left:
            for right in average.moves:
                pair = model.kernel(left(x1), right(second), kinds=kinds)
                for kind, value in (("nngp", pair.nngp), ("ntk", pair.ntk)):
                    if kind in kinds and value is not None:
                        totals[kind] = value + totals[kind] if kind in totals else value
        means = {kind: value / average.times for kind, value in totals.items()}
        if x2 is None:
            means = {kind: (value + value.mT) / 2 for kind, value in means.items()}
        return Kernel(**{kind: value if dtype is None else value.to(dtype) for kind, value in means.items()})

    def kernel_diagonal(self, x: Tensor, *, kinds: tuple[str, ...] | str = ("nngp", "ntk")) -> Kernel:
        """Kernels of each input with itself, vectors ``(n,)``.

        Example:
            >>> import priorscope as ps
            >>> ps.models.invariant(ps.models.fcn(1), "sign").kernel_diagonal(torch.eye(3)).ntk.shape
            torch.Size([3])
        """
        rows = [self.kernel(row[None], kinds=kinds) for row in x]
        both = check_kinds(kinds)
        return Kernel(**{kind: torch.cat([getattr(row, kind).reshape(1) for row in rows]) for kind in both})

    def estimate(self, n1: int, n2: int | None, input_shape: Shape, **options: Any) -> Estimate:
        """Time and memory that ``kernel`` will take: those of the plain kernel, its time as often as it is taken.

        Example:
            >>> import priorscope as ps
            >>> plain = ps.models.gap(1)
            >>> both = [m.estimate(50, 50, (1, 8, 8)).seconds for m in (plain, ps.models.invariant(plain, "p4"))]
            >>> round(both[1] / both[0])
            4
        """
        if not isinstance(self.model, Architecture):
            raise ValueError(
                f"the cost of architectures can be told; {name_of(self.model)} is a kernel of another kind."
            )
        return estimate(self.model, n1, n2, input_shape, times=self.average(input_shape).times, **options)

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
        """A finite network ``(n, *input_shape) -> (n, outputs)`` averaged over the group; the weights are those of the plain one.

        Example:
            >>> import priorscope as ps
            >>> net = ps.models.invariant(ps.models.gap(1), "p4").network((1, 8, 8), width=4, outputs=2)
            >>> net(torch.zeros(5, 1, 8, 8)).shape
            torch.Size([5, 2])
        """
        maker = require(self.model, NetworkMaker, "a model with networks", "Kernels of the distance have none.")
        shape = tuple(int(s) for s in input_shape)
        options: dict[str, Any] = {} if dtype is None else {"dtype": dtype}
        plain = maker.network(
            shape,
            width=width,
            outputs=outputs,
            seed=seed,
            parametrisation=parametrisation,
            initialisation=initialisation,
            **options,
        )
        return GroupAveraged(plain, self.group, shape)

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
            >>> len(ps.models.invariant(ps.models.fcn(1), "sign").ensemble((4,), width=8, seeds=range(3)))
            3
        """
        how = (parametrisation, initialisation, dtype)
        return Ensemble([self.network(input_shape, width, outputs, seed, *how) for seed in seeds])


def invariant(model: KernelModel, group: str | FiniteGroup) -> Invariant:
    """The model averaged over a finite group: an :class:`Invariant`, usable wherever an architecture is.

    Example:
        >>> import priorscope as ps
        >>> digits = ps.data.digits(classes="parity").subset(60, seed=0, n_test=40)
        >>> arch = ps.models.invariant(ps.models.gap(1), ps.data.groups.dihedral(digits.input_shape))
        >>> arch.name, ps.System(digits, arch, ps.inference.KernelRegression(ridge=1e-3)).run().test_accuracy > 0.5
        ('gap/dihedral', True)
    """
    return Invariant(model, group)
