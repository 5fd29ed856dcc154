"""Fourier transforms of signals on the sphere and on SO(3), sampled on the SOFT grid."""

from __future__ import annotations

import torch
from torch import Tensor

from priorscope.checks import checked, optional, whole
from priorscope.models.equivariant.spheres._grid import bandwidth_of
from priorscope.models.equivariant.spheres._tables import orders, table

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
    return _whole(signal, _at_most(degrees, bandwidth_of(signal, 3)), sphere=False)


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
    return _whole(signal, _at_most(degrees, bandwidth_of(signal, 2)), sphere=True)


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


def _whole(signal: Tensor, degrees: int, *, sphere: bool) -> list[Tensor]:
    """All blocks of a signal; of a real one those with m < 0 follow from the others by f̂(-m, -n) = (-1)^(m-n) conj f̂(m, n)."""
    if signal.is_complex():
        return analyse(signal, degrees, sphere=sphere)
    found = []
    for l, block in enumerate(analyse(signal, degrees, sphere=sphere, half=True)):
        m = torch.arange(-l, 0, device=signal.device)
        if sphere:
            signs = 1 - 2 * (m % 2)
            found.append(torch.cat([block[..., 1:].flip(-1).conj() * signs, block], -1))
        else:
            n = torch.arange(-l, l + 1, device=signal.device)
            signs = 1 - 2 * ((m[:, None] - n) % 2)
            found.append(torch.cat([block[..., 1:, :].flip(-2, -1).conj() * signs, block], -2))
    return found


def analyse(signal: Tensor, degrees: int, *, sphere: bool, half: bool = False) -> list[Tensor]:
    """The blocks of a signal; with ``half`` the rows m >= 0 alone, which say all of a real signal."""
    if signal.dtype not in (torch.float32, torch.float64, torch.complex64, torch.complex128):
        raise ValueError(f"wanted a signal in float32, float64 or their complex types; got {signal.dtype}.")
    b = signal.shape[-1] // 2
    lead = signal.shape[: -2 if sphere else -3]
    flat = signal.reshape(-1, *signal.shape[len(lead) :])
    m, n = orders(degrees, half), orders(degrees, False)
    size = 2 * b
    if sphere:
        F = torch.fft.ifft(flat, dim=2) if not half else torch.fft.rfft(flat, dim=2, norm="forward").conj()
        F = F[:, :, [i % size for i in m], None]  # (B, 2b, m, 1)
    else:
        F = torch.fft.ifft2(flat) if not half else torch.fft.rfftn(flat, dim=(3, 2), norm="forward").conj()
        F = F[:, :, [i % size for i in m]][:, :, :, [i % size for i in n]]  # (B, 2b, m, n)
    columns = 1 if sphere else len(n)
    pairs = torch.view_as_real(F.permute(2, 3, 1, 0).resolve_conj()).reshape(len(m) * columns, size, -1)  # 2B columns
    found = table(b, degrees, half, sphere, True, pairs.dtype).to(pairs.device) @ pairs
    dense = torch.view_as_complex(found.reshape(len(m), columns, degrees, -1, 2))  # (m, n, l, B)
    dense = dense.permute(2, 3, 0, 1)
    low = 0 if half else degrees - 1
    blocks = []
    for l in range(degrees):
        rows = slice(low if half else low - l, low + l + 1)
        middle = 0 if sphere else degrees - 1
        block = dense[l][:, rows, 0] if sphere else dense[l][:, rows, middle - l : middle + l + 1]
        blocks.append(block.reshape(*lead, *block.shape[1:]))
    return blocks


def synthesise(blocks: list[Tensor], bandwidth: int, *, sphere: bool, half: bool) -> Tensor:
    """The signal of these blocks on the grid of a bandwidth; real where ``half`` (rows m >= 0 alone)."""
    degrees, size = len(blocks), 2 * bandwidth
    signal: Tensor
    lead = blocks[0].shape[: -1 if sphere else -2]
    m, n = orders(degrees, half), orders(degrees, False)
    columns = 1 if sphere else len(n)
    first = blocks[0]
    count = first.numel()
    dense = first.new_zeros(degrees, len(m), columns, count)
    low = 0 if half else degrees - 1
    for l, block in enumerate(blocks):
        rows = slice(low if half else low - l, low + l + 1)
        cols = slice(0, 1) if sphere else slice(degrees - 1 - l, degrees + l)
        full = block.reshape(count, -1, 1 if sphere else 2 * l + 1)
        dense[l, rows, cols] = full.permute(1, 2, 0)
    pairs = torch.view_as_real(dense.permute(1, 2, 0, 3).contiguous()).reshape(len(m) * columns, degrees, -1)
    found = table(bandwidth, degrees, half, sphere, False, pairs.dtype).to(pairs.device) @ pairs  # (pairs, 2b, 2B)
    F = torch.view_as_complex(found.reshape(len(m), columns, size, count, 2)).permute(3, 2, 0, 1)  # (B, 2b, m, n)
    places = [i % size for i in m]
    if sphere:
        spread = F.new_zeros(count, size, bandwidth + 1 if half else size)
        spread[:, :, places] = F[..., 0]
        signal = torch.fft.irfft(spread.conj(), size, dim=2, norm="forward") if half else torch.fft.fft(spread, dim=2)
        return signal.reshape(*lead, size, size)
    spread = F.new_zeros(count, size, bandwidth + 1 if half else size, size)
    spread[:, :, torch.tensor(places)[:, None], torch.tensor([i % size for i in n])] = F
    if half:
        signal = torch.fft.irfftn(spread.conj(), (size, size), dim=(3, 2), norm="forward")
    else:
        signal = torch.fft.fft2(spread)
    return signal.reshape(*lead, size, size, size)


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
