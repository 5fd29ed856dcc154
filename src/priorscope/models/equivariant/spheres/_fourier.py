"""Fourier transforms of signals on the sphere and on SO(3), sampled on the SOFT grid."""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor

from priorscope.checks import checked, optional, whole
from priorscope.models.equivariant.spheres._compiled import analysed, maps, synthesised
from priorscope.models.equivariant.spheres._grid import bandwidth_of
from priorscope.models.equivariant.spheres._tables import plan

__all__ = ["analyse", "s2_fft", "s2_ifft", "so3_fft", "so3_ifft", "synthesise"]

_DEGREES = optional(whole(advice="It counts the degrees l = 0 … degrees-1 that are kept."))


@checked(degrees=_DEGREES)
def so3_fft(signal: Tensor, degrees: int | None = None) -> list[Tensor]:
    r"""Coefficients of signals (…, 2b, 2b, 2b) on SO(3), axes β, α, γ: one matrix (…, 2l+1, 2l+1) per degree l.

    .. math:: \hat f^l_{mn} = \int_{SO(3)} f(R)\,\overline{D^l_{mn}(R)}\,dR

    with the Haar measure of mass 1 (Cohen et al. 2018, eq. 6; fast form of Kostelec & Rockmore 2008: Fourier transforms over α
    and γ, then one small matrix product per pair of orders). ``degrees`` keeps the first degrees alone, at most b.

    Holds: exact for signals of bandwidth b, whose :func:`so3_ifft` gives them back; differentiable; real and complex, single and
    double precision.

    Example:
        >>> blocks = so3_fft(torch.ones(8, 8, 8))
        >>> len(blocks), round(float(blocks[0].real), 6), blocks[3].shape
        (4, 1.0, torch.Size([7, 7]))
    """
    return analyse(signal, _at_most(degrees, bandwidth_of(signal, 3)), sphere=False)


@checked(bandwidth=optional(whole()))
def so3_ifft(spectrum: list[Tensor], bandwidth: int | None = None, *, real: bool = False) -> Tensor:
    r"""The signal (…, 2b, 2b, 2b) on SO(3) that has these coefficients, on the grid of ``bandwidth`` (at least, and by default,
    the number of degrees).

    .. math:: f(R) = \sum_{l} (2l+1) \sum_{mn} \hat f^l_{mn} D^l_{mn}(R)

    (Cohen et al. 2018, eq. 7, the sum over l < b.) With ``real`` the coefficients are taken to be those of a real signal, and
    m < 0 is not looked at.

    Example:
        >>> f = so3_ifft(so3_fft(torch.randn(4, 4, 4, generator=torch.Generator().manual_seed(0)).double()), real=True)
        >>> bool(torch.allclose(so3_ifft(so3_fft(f), real=True), f))  # of bandwidth 2 now
        True
    """
    _check(spectrum, matrices=True)
    blocks = [block[..., l:, :] for l, block in enumerate(spectrum)] if real else spectrum
    return synthesise(blocks, _at_least(bandwidth, len(spectrum)), sphere=False, half=real)


@checked(degrees=_DEGREES)
def s2_fft(signal: Tensor, degrees: int | None = None) -> list[Tensor]:
    r"""Coefficients of signals (…, 2b, 2b) on the sphere, axes β, α: one vector (…, 2l+1) per degree l.

    .. math:: \hat f^l_m = \int_{S^2} f(x)\,\overline{D^l_{m0}(x)}\,dx

    (Cohen et al. 2018, eq. 6: harmonics of squared norm 1/(2l+1), not orthonormal.) The column n = 0 of :func:`so3_fft` of the
    signal that does not depend on γ.

    Example:
        >>> [block.shape for block in s2_fft(torch.ones(5, 6, 6), degrees=2)]
        [torch.Size([5, 1]), torch.Size([5, 3])]
    """
    return analyse(signal, _at_most(degrees, bandwidth_of(signal, 2)), sphere=True)


@checked(bandwidth=optional(whole()))
def s2_ifft(spectrum: list[Tensor], bandwidth: int | None = None, *, real: bool = False) -> Tensor:
    r"""The signal (…, 2b, 2b) on the sphere: :math:`f(x) = \sum_l (2l+1) \sum_m \hat f^l_m D^l_{m0}(x)` (Cohen et al. 2018).

    Example:
        >>> s2_ifft([torch.ones(1, dtype=torch.complex64)], bandwidth=3, real=True).unique()
        tensor([1.])
    """
    _check(spectrum, matrices=False)
    blocks = [block[..., l:] for l, block in enumerate(spectrum)] if real else spectrum
    return synthesise(blocks, _at_least(bandwidth, len(spectrum)), sphere=True, half=real)


def analyse(signal: Tensor, degrees: int, *, sphere: bool, half: bool = False, compiled: bool = True) -> list[Tensor]:
    """The blocks of a signal; with ``half`` the rows m >= 0 alone, which say all of a real signal.

    A Fourier transform over the angles, then a sum over β per degree and pair of orders: in compiled loops for real signals on a
    CPU, else (and where not ``compiled``) by products of matrices.
    """
    if signal.dtype not in (torch.float32, torch.float64, torch.complex64, torch.complex128):
        raise ValueError(f"wanted a signal in float32, float64 or their complex types; got {signal.dtype}.")
    b, axes = signal.shape[-1] // 2, 2 if sphere else 3
    lead = signal.shape[:-axes]
    flat = signal.reshape(-1, *signal.shape[-axes:])
    if compiled and not signal.is_complex() and signal.device.type == "cpu":
        found = analysed(flat, maps(b, degrees, signal.dtype, sphere=sphere, half=half, analysis=True))
    else:
        found = _analysed(flat, degrees, sphere=sphere, half=half)
    shapes = [(l + 1 if half else 2 * l + 1, *(() if sphere else (2 * l + 1,))) for l in range(degrees)]
    parts = found.split([prod(shape) for shape in shapes], 1)
    return [part.reshape(*lead, *shape) for part, shape in zip(parts, shapes)]


def synthesise(blocks: list[Tensor], bandwidth: int, *, sphere: bool, half: bool, compiled: bool = True) -> Tensor:
    """The signal of these blocks on the grid of a bandwidth; real where ``half`` (rows m >= 0 alone)."""
    first, lead, degrees = blocks[0], blocks[0].shape[: -1 if sphere else -2], len(blocks)
    known = torch.cat([block.reshape(first.numel(), -1) for block in blocks], 1)  # (B, coefficients)
    if compiled and half and first.device.type == "cpu":
        how = maps(bandwidth, degrees, _part(first), sphere=sphere, half=True, analysis=False)
        signal = synthesised(known, how)
    else:
        signal = _synthesised(known, bandwidth, degrees, sphere=sphere, half=half)
    return signal.reshape(*lead, *signal.shape[1:])


def _analysed(flat: Tensor, degrees: int, *, sphere: bool, half: bool) -> Tensor:
    """Coefficients (B, count): the batch stands innermost between the steps, so that all of it moves in whole rows."""
    count, size = flat.shape[:2]
    real = not flat.is_complex()
    how = plan(size // 2, degrees, _part(flat), flat.device, sphere=sphere, real=real, half=half, analysis=True)
    F = _frequencies(flat.transpose(0, 1).contiguous(), degrees, sphere=sphere)  # (2b, B, pairs)
    pairs = torch.view_as_real(F.reshape(size * count, -1).t().contiguous()).reshape(-1, size, 2 * count)
    found = torch.bmm(how.table, pairs).reshape(-1, 2 * count).index_select(0, how.take).reshape(-1, count, 2)
    return torch.view_as_complex(found if how.signs is None else found * how.signs).t().contiguous()


def _synthesised(known: Tensor, bandwidth: int, degrees: int, *, sphere: bool, half: bool) -> Tensor:
    """Signals (B, 2b, 2b[, 2b]) of coefficients (B, count)."""
    count, size = len(known), 2 * bandwidth
    how = plan(bandwidth, degrees, _part(known), known.device, sphere=sphere, real=half, half=half, analysis=False)
    parts = torch.view_as_real(known.t().resolve_conj().contiguous())
    taken = parts.reshape(-1, 2 * count).index_select(0, how.take).reshape(-1, count, 2)
    pairs = (taken if how.signs is None else taken * how.signs).reshape(-1, degrees, 2 * count)
    found = torch.bmm(how.table, pairs).reshape(-1, size * count, 2)  # (pairs, 2b B)
    F = torch.view_as_complex(found).t().contiguous().reshape(size, count, len(how.rows), len(how.columns))
    return _samples(F[..., 0] if sphere else F, bandwidth, degrees, real=half).transpose(0, 1)


def _part(values: Tensor) -> torch.dtype:
    """The type of the real and imaginary parts."""
    return torch.float32 if values.dtype in (torch.float32, torch.complex64) else torch.float64


def _frequencies(flat: Tensor, degrees: int, *, sphere: bool) -> Tensor:
    """Samples (2b, B, α[, γ]) to the pairs of orders that the plan names, (2b, B, m[, n]); of real signals the conjugate."""
    kept = 2 * degrees == flat.shape[-1]  # nothing is cut off
    F: Tensor
    if flat.is_complex():
        F = torch.fft.ifft(flat, dim=2) if sphere else torch.fft.ifft2(flat)
        return F if kept else _ends(F, degrees, 2) if sphere else _ends(_ends(F, degrees, 2), degrees, 3)
    if sphere:
        F = torch.fft.rfft(flat, dim=2, norm="forward")
        return F if kept else F[..., :degrees]
    if kept:
        F = torch.fft.rfft2(flat, norm="forward")
        return F
    F = torch.fft.rfft(flat, norm="forward")[..., :degrees]
    return _ends(torch.fft.fft(F, dim=2, norm="forward"), degrees, 2)


def _samples(F: Tensor, b: int, degrees: int, *, real: bool) -> Tensor:
    """Pairs of orders (2b, B, m[, n]) to samples (2b, B, α[, γ])."""
    size, sphere = 2 * b, F.ndim == 3
    if degrees < b:
        for axis in range(2, F.ndim - real):  # the last axis of a real signal is filled up with zeros below
            F = _spread(F, degrees, axis, size)
    signal: Tensor
    if not real:
        signal = torch.fft.fft(F, dim=2) if sphere else torch.fft.fft2(F)
    elif sphere:
        signal = torch.fft.irfft(F, size, dim=2, norm="forward")
    else:
        signal = torch.fft.irfft2(F, (size, size), norm="forward")
    return signal


def _ends(F: Tensor, L: int, axis: int) -> Tensor:
    """The orders 0 … L-1 and -(L-1) … -1 of an axis in the order of a Fourier transform."""
    size = F.shape[axis]
    return torch.cat([F.narrow(axis, 0, L), F.narrow(axis, size - L + 1, L - 1)], axis)


def _spread(F: Tensor, L: int, axis: int, size: int) -> Tensor:
    """Zeros between the orders 0 … L-1 and -(L-1) … -1 of an axis."""
    shape = [*F.shape[:axis], size - 2 * L + 1, *F.shape[axis + 1 :]]
    return torch.cat([F.narrow(axis, 0, L), F.new_zeros(shape), F.narrow(axis, L, L - 1)], axis)


def _at_most(degrees: int | None, bandwidth: int) -> int:
    if degrees is not None and degrees > bandwidth:
        raise ValueError(
            f"a grid of bandwidth {bandwidth} holds the degrees 0 … {bandwidth - 1}; got degrees={degrees}. Sample finer."
        )
    return bandwidth if degrees is None else degrees


def _at_least(bandwidth: int | None, degrees: int) -> int:
    if bandwidth is not None and bandwidth < degrees:
        raise ValueError(
            f"{degrees} degrees need a grid of bandwidth {degrees} or more; got {bandwidth}. Cut the list of coefficients first."
        )
    return degrees if bandwidth is None else bandwidth


def _check(spectrum: list[Tensor], *, matrices: bool) -> None:
    """A list of complex blocks, the l-th of side 2l+1."""
    lead = tuple(spectrum[0].shape[: -2 if matrices else -1]) if spectrum else ()
    for l, block in enumerate(spectrum):
        side = (2 * l + 1,) * (2 if matrices else 1)
        if not block.is_complex() or tuple(block.shape) != (*lead, *side):
            raise ValueError(
                f"wanted one complex block per degree l, of shape (…, {', '.join(map(str, side))}) at l = {l}; got "
                f"{block.dtype} of shape {tuple(block.shape)}."
            )
    if not spectrum:
        raise ValueError("wanted the coefficients of at least degree 0; got an empty list.")
    if spectrum[0].numel() == 0:
        raise ValueError(f"wanted the coefficients of at least one signal; got none, shape {tuple(spectrum[0].shape)}.")
