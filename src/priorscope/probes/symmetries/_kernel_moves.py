"""What single moves of the input leave as it is in a kernel, or in the tangent kernel of a network."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, cast

import pandas as pd
import torch
from torch import Tensor, nn

from priorscope.checks import NOT_NEGATIVE, POSITIVE
from priorscope.contracts import KernelModel, guarded, is_kernel_model, kernel_matrix, settled
from priorscope.data.groups import Move, moves_of

if TYPE_CHECKING:
    import altair as alt

__all__ = ["KernelMoves", "Kept", "kernel_moves", "relative_change"]

KernelFunction: TypeAlias = Callable[[Tensor, Tensor], Tensor]


class Kept(StrEnum):
    """What a move of the input leaves as it is in a kernel; the value is the word in tables.

    Example:
        >>> Kept("invariant") is Kept.INVARIANT
        True
    """

    INVARIANT = "invariant"  # K(gx, x') = K(x, x')
    EQUIVARIANT = "equivariant"  # K(gx, gx') = K(x, x')
    NEARLY_INVARIANT = "nearly invariant"
    NEARLY_EQUIVARIANT = "nearly equivariant"
    NOTHING = "no"


def relative_change(plain: Tensor, moved: Tensor, *, centred: bool = False) -> float:
    r"""The change of a kernel matrix relative to its size; ``centred``: relative to its spread. Our own definition.

    .. math:: \|K' - K\|_F\,/\,\|K\|_F \qquad\text{or}\qquad \|K' - K\|_F\,/\,\|K - \bar K\|_F

    with :math:`\bar K` the mean of all entries. Zero where nothing changes, of whatever size.

    Example:
        >>> relative_change(torch.eye(2), 2 * torch.eye(2)), relative_change(torch.ones(2, 2), torch.ones(2, 2), centred=True)
        (1.0, 0.0)
    """
    gap = float((moved - plain).norm())
    size = float((plain - plain.mean()).norm() if centred else plain.norm())
    return gap / size if size > 0 else (0.0 if gap == 0 else float("inf"))


@dataclass(frozen=True)
class KernelMoves:
    """Relative changes of a kernel where one of its two inputs is moved (``once``) and where both are (``both``), by move.

    Up to ``tolerance`` a change is rounding; up to ``near`` (of one input, of both) it is small. "Nearly" is said of such.

    Example:
        >>> found = KernelMoves({Move.MIRROR: 0.3}, {Move.MIRROR: 1e-16}, tolerance=1e-5)
        >>> found.kept[Move.MIRROR].value
        'equivariant'
    """

    once: dict[Move, float]
    both: dict[Move, float]
    tolerance: float
    near: tuple[float, float] = (0.0, 0.0)

    @property
    def kept(self) -> dict[Move, Kept]:
        """What each move leaves as it is."""
        return {move: self._kept(move) for move in self.once}

    def _kept(self, move: Move) -> Kept:
        once, both = self.once[move], self.both[move]
        if once < self.tolerance:
            return Kept.INVARIANT
        if both < self.tolerance:
            return Kept.EQUIVARIANT
        if once < self.near[0]:
            return Kept.NEARLY_INVARIANT
        return Kept.NEARLY_EQUIVARIANT if both < self.near[1] else Kept.NOTHING

    def table(self) -> pd.DataFrame:
        """One row per move."""
        rows = [(str(m), self.once[m], self.both[m], str(kept)) for m, kept in self.kept.items()]
        return pd.DataFrame(rows, columns=["move", "once", "both", "kept"])

    def chart(self) -> alt.TopLevelMixin:
        """Both changes by move on a log axis."""
        import altair as alt

        long = self.table().melt(["move", "kept"], var_name="moved", value_name="change")
        long["change"] = long.change.clip(lower=1e-17)
        x = alt.X("change:Q", title="relative change of the kernel").scale(type="log")
        y = alt.Y("move:N", sort=[str(m) for m in self.once], title=None)
        colour = alt.Color("moved:N", title="inputs moved")
        chart: alt.TopLevelMixin = alt.Chart(long).mark_point(filled=True, size=60).encode(x, y, colour)
        return chart


@guarded(tolerance=POSITIVE, near_once=NOT_NEGATIVE, near_both=NOT_NEGATIVE)
def kernel_moves(
    model: KernelModel | nn.Module | KernelFunction,
    inputs: Tensor,
    *,
    moves: Iterable[Move] | None = None,
    tolerance: float = 1e-5,
    near_once: float = 0.0,
    near_both: float = 0.0,
) -> KernelMoves:
    """What each move that fits the inputs (or those of ``moves``) leaves as it is in a model's tangent kernel.

    ``model`` has a kernel, is a network (its empirical tangent kernel is taken, once for all moved inputs), or is a function of
    two batches. A kernel is *invariant* under a move where it does not see it, K(gx, x') = K(x, x'), and *equivariant* where it
    changes nothing to move all inputs alike; whole groups and trained systems are asked by :func:`symmetry`.

    Example:
        >>> import priorscope as ps
        >>> x = ps.data.digits().inputs[:6].double()
        >>> [kernel_moves(arch, x).kept[Move.SHIFT].value for arch in (ps.models.fcn(1), ps.models.gap(1), ps.models.vec(1))]
        ['equivariant', 'invariant', 'equivariant']
    """
    chosen = tuple(moves_of(tuple(inputs.shape[1:])) if moves is None else moves)
    moved = [move(inputs) for move in chosen]
    plain, pairs = _together(model, inputs, moved) if isinstance(model, nn.Module) else _apart(model, inputs, moved)
    once = {move: relative_change(plain, one) for move, (one, _) in zip(chosen, pairs, strict=True)}
    both = {move: relative_change(plain, two) for move, (_, two) in zip(chosen, pairs, strict=True)}
    return KernelMoves(once, both, tolerance, (near_once, near_both))


def _apart(
    model: KernelModel | KernelFunction, x: Tensor, moved: list[Tensor]
) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """The plain matrix, and those of every move with one and with both sides moved, one call each."""
    kernel: KernelFunction
    if is_kernel_model(model):
        kernel = partial(kernel_matrix, settled(model, x))
    else:
        kernel = cast(KernelFunction, model)
    return kernel(x, x).double(), [(kernel(z, x).double(), kernel(z, z).double()) for z in moved]


def _together(network: nn.Module, x: Tensor, moved: list[Tensor]) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """The same blocks of one tangent kernel of all moved inputs: every gradient is taken once."""
    from priorscope.probes.tangent import empirical_ntk

    n = len(x)
    whole = empirical_ntk(network, torch.cat([x, *moved])).detach().double()
    blocks = [slice(k * n, (k + 1) * n) for k in range(1, len(moved) + 1)]
    return whole[:n, :n], [(whole[block, :n], whole[block, block]) for block in blocks]
