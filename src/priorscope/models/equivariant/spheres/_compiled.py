"""Transforms of real signals on a CPU: Fourier transforms over the angles and the compiled loops, with their gradients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from priorscope.models.equivariant.spheres._loops import Numbers, Places, collect, spread
from priorscope.models.equivariant.spheres._tables import coefficients, values

__all__ = ["Maps", "analysed", "maps", "synthesised"]


@dataclass(frozen=True, eq=False)
class Maps:
    """How the pairs of orders of a real signal and its coefficients belong together."""

    bandwidth: int
    degrees: int
    sphere: bool
    count: int  # of coefficients
    table: Numbers  # (pairs, L, 2b)
    places: tuple[Places, ...]  # as the loops want them
    weights: Numbers  # (pairs, 2): of the conjugate and of the mirror
    once: Numbers  # (pairs, 2): the same, halved or doubled where a frequency stands for two

    @property
    def cut(self) -> bool:
        """Whether the orders in play are fewer than the grid holds."""
        return not self.sphere and self.degrees < self.bandwidth


@lru_cache(maxsize=64)
def maps(bandwidth: int, degrees: int, dtype: torch.dtype, *, sphere: bool, half: bool, analysis: bool) -> Maps:
    """The maps of an analysis, to all coefficients or (``half``) those with m ≥ 0, or of a synthesis, from those with m ≥ 0."""
    around = range(1 - degrees, degrees)
    pairs = [(m, 0) for m in range(degrees)] if sphere else [(m, n) for m in around for n in range(degrees)]
    rows, columns = (range(degrees), range(1)) if sphere else (around, range(degrees))
    index = {which: i for i, which in enumerate(coefficients(degrees, sphere=sphere, half=half or not analysis))}
    width = degrees if degrees < bandwidth else bandwidth + 1
    where = [m if sphere else m % (2 * bandwidth) * width + n for m, n in pairs]
    direct, mirror = (np.full((len(pairs), degrees), -1) for _ in range(2))
    for p, (m, n) in enumerate(pairs):
        both = (m if sphere else n) != 0  # the pair stands for (-m, -n) too
        for l in range(max(abs(m), n), degrees):
            direct[p, l] = index.get((l, m, n), -1)
            if both if analysis else direct[p, l] < 0:
                mirror[p, l] = index.get((l, -m, -n), -1)
    signs = np.array([[1.0, 1 - 2 * ((m - n) % 2)] for m, n in pairs])
    twice = np.array([[2.0 if (m if sphere else n) else 1.0] for m, n in pairs])
    kind = np.float32 if dtype == torch.float32 else np.float64
    table: Numbers = np.asarray(values(bandwidth, degrees, tuple(rows), tuple(columns), analysis=analysis), kind)
    return Maps(
        bandwidth,
        degrees,
        sphere,
        len(index),
        table,
        (np.array(where), np.array([max(abs(m), n) for m, n in pairs]), direct, mirror),
        signs.astype(kind),
        (signs / twice if analysis else signs * twice).astype(kind),
    )


def analysed(signal: Tensor, how: Maps) -> Tensor:
    """Coefficients (B, count) of real signals (B, 2b, 2b[, 2b])."""
    return torch.view_as_complex(_apply(_Collect, signal, how, "forward"))


def synthesised(blocks: Tensor, how: Maps) -> Tensor:
    """Real signals (B, 2b, 2b[, 2b]) of coefficients (B, count) with m ≥ 0."""
    return _apply(_Spread, torch.view_as_real(blocks.resolve_conj()), how, "forward")


class _Collect(torch.autograd.Function):
    """Signals to coefficients (B, count, 2): linear, with :class:`_Spread` as its transpose, so that a derivative is one of both.

    ``norm`` is that of the Fourier transform: "forward" in an analysis, "backward" in the transpose of a synthesis.
    """

    @staticmethod
    def forward(signal: Tensor, how: Maps, norm: str) -> Tensor:
        F = _frequencies(signal.detach(), how, norm)
        out = signal.new_zeros(len(signal), how.count, 2)
        weights = how.weights if norm == "forward" else how.once
        collect(torch.view_as_real(F).numpy(), how.table, how.places, weights, out.numpy())
        return out

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, ctx.how, ctx.norm = inputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return _apply(_Spread, grads[0], ctx.how, _OTHER[ctx.norm]), None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        return _apply(_Collect, tangents[0], ctx.how, ctx.norm)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int, ...], signal: Tensor, how: Maps, norm: str) -> tuple[Tensor, int]:
        return _over_both(_Collect, in_dims[0], signal, how, norm)


class _Spread(torch.autograd.Function):
    """Coefficients (B, count, 2) to signals: "forward" in a synthesis, "backward" in the transpose of an analysis."""

    @staticmethod
    def forward(parts: Tensor, how: Maps, norm: str) -> Tensor:
        size, kept = 2 * how.bandwidth, how.bandwidth + 1
        shape = (kept,) if how.sphere else (size, how.degrees if how.cut else kept)
        F = parts.new_zeros(len(parts), size, *shape, 2)
        weights = how.weights if norm == "forward" else how.once
        spread(parts.detach().contiguous().numpy(), how.table, how.places, weights, F.flatten(2, -2).numpy())
        return _signals(torch.view_as_complex(F), size, norm)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, ctx.how, ctx.norm = inputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return _apply(_Collect, grads[0], ctx.how, _OTHER[ctx.norm]), None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        return _apply(_Spread, tangents[0], ctx.how, ctx.norm)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int, ...], parts: Tensor, how: Maps, norm: str) -> tuple[Tensor, int]:
        return _over_both(_Spread, in_dims[0], parts, how, norm)


_OTHER = {"forward": "backward", "backward": "forward"}


def _apply(function: type[torch.autograd.Function], x: Tensor, how: Maps, norm: str) -> Tensor:
    found: Tensor = function.apply(x, how, norm)
    return found


def _over_both(
    function: type[torch.autograd.Function], along: int, x: Tensor, how: Maps, norm: str
) -> tuple[Tensor, int]:
    """A batch of batches is one longer batch."""
    rows = x.movedim(along, 0)
    return _apply(function, rows.flatten(0, 1), how, norm).unflatten(0, rows.shape[:2]), 0


def _frequencies(signal: Tensor, how: Maps, norm: str) -> Tensor:
    """The orders of signals, in the places that the maps name: (B, 2b, places)."""
    F: Tensor
    if how.sphere:
        F = torch.fft.rfft(signal, norm=norm)
    elif how.cut:
        F = torch.fft.fft(torch.fft.rfft(signal, norm=norm)[..., : how.degrees], dim=2, norm=norm)
    else:
        F = torch.fft.rfft2(signal, norm=norm)
    return F.flatten(2).contiguous()


def _signals(F: Tensor, size: int, norm: str) -> Tensor:
    """Samples (B, 2b, 2b[, 2b]) of the orders (B, 2b, m[, n])."""
    found: Tensor
    found = torch.fft.irfft(F, size, norm=norm) if F.ndim == 3 else torch.fft.irfft2(F, (size, size), norm=norm)
    return found
