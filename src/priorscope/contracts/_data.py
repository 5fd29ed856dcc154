"""What data must offer: samples with answers, data sets, and the groups that move them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from torch import Tensor

__all__ = ["CountedSamples", "FiniteGroup", "LabelledData", "MovableData", "Samples", "Shape"]

Shape: TypeAlias = tuple[int, ...]


class Samples(Protocol):
    """Samples with answers: ``inputs`` (n, ...) and ``targets`` (n, outputs), torch tensors.

    Example:
        >>> from priorscope.contracts import missing
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
        >>> from priorscope.contracts import missing
        >>> import priorscope as ps
        >>> missing(ps.data.digits().train, CountedSamples)
        ()
    """

    def __len__(self) -> int: ...


class LabelledData(Samples, Protocol):
    """The data of a learning system: training samples, test samples, the shape of both, and what the targets are.

    Example:
        >>> from priorscope.contracts import missing
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
        >>> from priorscope.contracts import missing
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


class FiniteGroup(Protocol):
    """A finite group that acts on inputs: its elements are functions of a batch, the identity among them.

    Example:
        >>> from priorscope.contracts import missing
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
