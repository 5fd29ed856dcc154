"""Covariances of one layer's outputs over the weights of an infinitely wide network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

import torch
from torch import Tensor

from priorscope.models.kernels._need import Need

__all__ = ["Covariance", "pixel_diagonal"]


def pixel_diagonal(full: Tensor, n_space: int) -> Tensor:
    """Same-pixel entries of a tensor ``(..., *S, *S)``: ``(..., *S)``."""
    if n_space == 0:
        return full
    space = full.shape[full.ndim - n_space :]
    batch = full.shape[: full.ndim - 2 * n_space]
    n_pixels = prod(space)
    return full.reshape(*batch, n_pixels, n_pixels).diagonal(dim1=-2, dim2=-1).reshape(*batch, *space)


def pixel_embed(diagonal: Tensor, n_space: int) -> Tensor:
    """The tensor ``(..., *S, *S)`` that is ``diagonal`` on equal pixels and zero elsewhere."""
    if n_space == 0:
        return diagonal
    batch, space = diagonal.shape[: diagonal.ndim - n_space], diagonal.shape[diagonal.ndim - n_space :]
    return torch.diag_embed(diagonal.reshape(*batch, prod(space))).reshape(*batch, *space, *space)


@dataclass(frozen=True, eq=False)
class Covariance:
    r"""Second moments per channel of a layer's outputs at two batches of inputs, and the tangent kernel so far.

    With pixels :math:`S` the tensors end in ``*S`` (kind DIAGONAL: equal pixels) or ``*S, *S`` (kind FULL).
    ``same`` says that the second batch is the first; the self-covariances are then read off ``cross``, so that the two agree
    to the last bit. ``paired`` says that input i of the first batch meets only input i of the second.

    Example:
        >>> import torch
        >>> x = torch.eye(2)
        >>> Covariance.of_inputs(x, None, Need.NONE).cross
        tensor([[0.5000, 0.0000],
                [0.0000, 0.5000]])
    """

    cross: Tensor  # (n1, n2, *S[, *S]), or (n, *S[, *S]) when paired
    ntk: Tensor | None  # like cross
    self1: Tensor  # (n1, *S[, *S])
    self2: Tensor  # (n2, *S[, *S])
    spatial: tuple[int, ...]
    kind: Need
    gaussian: bool = False  # are the outputs Gaussian over the weights, with channels alike?
    same: bool = False
    paired: bool = False
    channels: float = 0.0  # number of channels in units of the width; inputs have finitely many

    @classmethod
    def of_inputs(
        cls, x1: Tensor, x2: Tensor | None, kind: Need, *, ntk: bool = True, paired: bool = False
    ) -> Covariance:
        """Inner products over channels, divided by their number; inputs are ``(n, channels, *S)``."""
        space = tuple(x1.shape[2:])
        kind = Need.NONE if not space else max(kind, Need.DIAGONAL)
        same = x2 is None or paired
        x2 = x1 if x2 is None else x2
        s, t = "yz"[: len(space)], "uv"[: len(space)]
        if kind is not Need.FULL:
            t = s
        out = s if kind is not Need.FULL else s + t
        n_channels = x1.shape[1]
        single = torch.einsum(f"ac{s},ac{t}->a{out}", x1, x1) / n_channels
        if paired:
            cross = single
        else:
            cross = torch.einsum(f"ac{s},bc{t}->ab{out}", x1, x2) / n_channels
        other = single if same else torch.einsum(f"ac{s},ac{t}->a{out}", x2, x2) / n_channels
        if not paired:
            cross = with_equal_pixels(cross, x1, x2, single, other, len(space), kind)
        if same:
            self1 = self2 = cross if paired else batch_diagonal(cross)
        else:
            self1, self2 = single, other
        return cls(
            cross,
            torch.zeros_like(cross) if ntk else None,
            self1,
            self2,
            space,
            kind,
            same=same,
            paired=paired,
        )

    @property
    def n_space(self) -> int:
        """Number of spatial axes."""
        return len(self.spatial)

    def variances(self) -> tuple[Tensor, Tensor]:
        """Same-pixel variances of the two batches, shaped to broadcast against ``cross``."""
        a, b = self.self1, self.self2
        if self.kind is Need.FULL:
            a, b = pixel_diagonal(a, self.n_space), pixel_diagonal(b, self.n_space)
        if not self.paired:
            a, b = a[:, None], b[None]
        if self.kind is Need.FULL:
            ones = (1,) * self.n_space
            a = a.reshape(*a.shape, *ones)
            b = b.reshape(*b.shape[: b.ndim - self.n_space], *ones, *self.spatial)
        return a, b

    def singles(self) -> tuple[Covariance, Covariance]:
        """The self-covariances of the two batches as paired covariances without tangent kernel."""

        def single(k: Tensor) -> Covariance:
            return replace(self, cross=k, ntk=None, self1=k, self2=k, same=True, paired=True)

        return single(self.self1), single(self.self2)

    def moved(
        self,
        cross: Tensor,
        ntk: Tensor | None,
        single: Callable[[Covariance], Tensor],
        *,
        spatial: tuple[int, ...] | None = None,
        kind: Need | None = None,
        gaussian: bool | None = None,
        channels: float | None = None,
    ) -> Covariance:
        """The covariance after a step: new ``cross`` and ``ntk``; ``single`` gives a self-covariance from a paired one."""
        if self.same:
            self1 = self2 = cross if self.paired else batch_diagonal(cross)
        else:
            first, second = self.singles()
            self1, self2 = single(first), single(second)
        return replace(
            self,
            cross=cross,
            ntk=ntk,
            self1=self1,
            self2=self2,
            spatial=self.spatial if spatial is None else spatial,
            kind=self.kind if kind is None else kind,
            gaussian=self.gaussian if gaussian is None else gaussian,
            channels=self.channels if channels is None else channels,
        )

    def linear(
        self,
        step: Callable[[Tensor], Tensor],
        *,
        spatial: tuple[int, ...] | None = None,
        kind: Need | None = None,
        gaussian: bool | None = None,
        channels: float | None = None,
    ) -> Covariance:
        """Apply one linear map of the spatial axes to every tensor."""
        ntk = None if self.ntk is None else step(self.ntk)
        return self.moved(
            step(self.cross),
            ntk,
            lambda c: step(c.cross),
            spatial=spatial,
            kind=kind,
            gaussian=gaussian,
            channels=channels,
        )

    def affine(
        self,
        weight_variance: float,
        bias_variance: float,
        *,
        mix: Callable[[Tensor], Tensor],
        spatial: tuple[int, ...] | None = None,
    ) -> Covariance:
        r"""Fresh weights: :math:`K' = \sigma_w^2 A(K) + \sigma_b^2`, :math:`\Theta' = K' + \sigma_w^2 A(\Theta)`."""

        def step(k: Tensor) -> Tensor:
            return weight_variance * mix(k) + bias_variance

        cross = step(self.cross)
        ntk = None if self.ntk is None else cross + weight_variance * mix(self.ntk)
        return self.moved(cross, ntk, lambda c: step(c.cross), spatial=spatial, gaussian=True, channels=1.0)

    def reduced(self, kind: Need) -> Covariance:
        """Drop unequal pixels when only DIAGONAL is wanted."""
        if self.kind is Need.FULL and kind is not Need.FULL:
            return self.linear(lambda k: pixel_diagonal(k, self.n_space), kind=Need.DIAGONAL)
        return self

    def require_gaussian(self, who: str) -> None:
        """Refuse a step whose formula holds only for Gaussian channels."""
        if not self.gaussian:
            raise ValueError(
                f"{who} has a closed-form kernel only on Gaussian channels, that is after Dense, Conv or LocallyConnected "
                f"(with pooling, LayerNorm or sums between); here its input is not. Put a Dense or Conv layer before {who}."
            )


def batch_diagonal(k: Tensor) -> Tensor:
    """Entries (i, i) of the first two axes, as the first axis."""
    return k.diagonal(dim1=0, dim2=1).movedim(-1, 0)


ALIKE = 1e-12  # a squared cosine this close to one may be that of equal pixels


def with_equal_pixels(
    cross: Tensor, x1: Tensor, x2: Tensor, self1: Tensor, self2: Tensor, n_space: int, kind: Need
) -> Tensor:
    """``cross`` with exact variances wherever two different inputs or pixels hold equal numbers.

    Products of matrices sum in another order than a single product does. At large variances, and in networks that enlarge
    differences, that of the roundings would count as one of the inputs. Values only; derivatives stay those of the product.
    """
    if x1.shape[1] == 1:  # one product, no sum: equal numbers have equal products
        return cross
    with torch.no_grad():
        if kind is Need.FULL:
            self1, self2 = pixel_diagonal(self1, n_space), pixel_diagonal(self2, n_space)
        ones = (1,) * n_space if kind is Need.FULL else ()
        first, second = x1.movedim(1, -1), x2.movedim(1, -1)
        b = self2.reshape(len(x2), *ones, *self2.shape[1:])
        change = torch.zeros_like(cross)
        step = 1 if n_space else len(x1)  # images one by one, since many of their pixels may be alike
        for start in range(0, len(x1), step):
            rows = slice(start, start + step)
            a = self1[rows].reshape(-1, 1, *self1.shape[1:], *ones)
            near = cross[rows] * cross[rows] > (1 - ALIKE) * a * b
            at = near.nonzero()  # (n, 2 + pixels)
            left, right = at[:, 2 : 2 + n_space], at[:, 2 + n_space :] if kind is Need.FULL else at[:, 2 : 2 + n_space]
            u, v = first[rows][(at[:, 0], *left.T)], second[(at[:, 1], *right.T)]
            value, now = a.expand(near.shape)[near], cross[rows][near]
            change[rows][near] = torch.where(
                (u == v).all(-1), value - now, torch.where((u == -v).all(-1), -value - now, 0.0)
            )
    return cross + change
