"""Correlation on the sphere and on SO(3) with learned filters, computed in the space of coefficients."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from priorscope.checks import checked, whole
from priorscope.models.equivariant.spheres._filters import local_filter
from priorscope.models.equivariant.spheres._fourier import analyse, synthesise
from priorscope.models.equivariant.spheres._grid import bandwidth_of
from priorscope.models.equivariant.spheres._wigner import wigner_D

__all__ = ["S2Correlation", "SO3Correlation"]

_RULES = {"inputs": whole(), "outputs": whole(), "bandwidth_in": whole(), "bandwidth_out": whole()}


class _Correlation(nn.Module):
    """What both share: weights (inputs, outputs, points), a bias per output, and the spectrum of the filter."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        bandwidths: tuple[int, int],
        points: Tensor,
        ratio: float,
        bias: bool,
        sphere: bool,
    ) -> None:
        """Draw the weights and store the harmonics at the points of the filter."""
        super().__init__()
        b_in, b_out = bandwidths
        if b_out > b_in:
            raise ValueError(
                f"a correlation keeps or cuts the bandwidth; got {b_in} in and {b_out} out. Samples beyond what the input "
                "holds say nothing new."
            )
        if points.ndim != 2 or points.shape[1] != 3 or len(points) == 0:
            raise ValueError(
                f"points must hold angles (points, 3); got {tuple(points.shape)}. See local_filter and ring_filter."
            )
        self.inputs, self.outputs, self.bandwidth_in, self.bandwidth_out, self.sphere = (
            inputs,
            outputs,
            b_in,
            b_out,
            sphere,
        )
        blocks = [wigner_D(l, *points.double().T).conj() for l in range(b_out)]
        columns = [
            block[..., l] if sphere else block.flatten(1) for l, block in enumerate(blocks)
        ]  # on the sphere n = 0
        self.harmonics = torch.view_as_real(torch.cat(columns, 1)).flatten(
            1
        )  # (points, 2 coefficients), kept in float64
        self.weight = nn.Parameter(torch.empty(inputs, outputs, len(points)).uniform_(-1, 1))
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None
        self.scale = (len(points) * inputs * ratio) ** -0.5

    def filter_spectrum(self) -> list[Tensor]:
        r"""Blocks :math:`\hat\psi^l = \sum_p \psi_p \overline{D^l(R_p)}`: (inputs, outputs, 2l+1), on SO(3) (…, 2l+1, 2l+1)."""
        flat = (self.scale * self.weight) @ self.harmonics.to(self.weight)  # (inputs, outputs, 2 coefficients)
        complex_ = torch.view_as_complex(flat.unflatten(-1, (-1, 2)))
        sides = [2 * l + 1 for l in range(self.bandwidth_out)]
        if self.sphere:
            return list(complex_.split(sides, -1))
        return [part.unflatten(-1, (s, s)) for part, s in zip(complex_.split([s * s for s in sides], -1), sides)]

    def check(self, signal: Tensor) -> None:
        """Refuse signals of another bandwidth or number of channels."""
        angles = 2 if self.sphere else 3
        b = bandwidth_of(signal, angles)
        if signal.ndim != angles + 2 or signal.shape[1] != self.inputs or b != self.bandwidth_in:
            wanted = ", ".join([str(2 * self.bandwidth_in)] * angles)
            raise ValueError(f"wanted signals (n, {self.inputs}, {wanted}); got {tuple(signal.shape)}.")

    def finish(self, blocks: list[Tensor]) -> Tensor:
        """Samples of the result, with the bias."""
        signal = synthesise(blocks, self.bandwidth_out, sphere=False, half=True)
        return signal if self.bias is None else signal + self.bias[:, None, None, None]

    def extra_repr(self) -> str:
        points = self.weight.shape[2]
        return f"{self.inputs}, {self.outputs}, bandwidth {self.bandwidth_in} -> {self.bandwidth_out}, points={points}"


@checked(**_RULES)
class S2Correlation(_Correlation):
    r"""Signals on the sphere (n, inputs, 2b, 2b) to signals on SO(3) (n, outputs, 2b', 2b', 2b'), real.

    .. math:: [\psi \star f](R) = \int_{S^2} \sum_k \psi_k(R^{-1}x) f_k(x)\,dx,
        \qquad \widehat{\psi \star f}^l = \hat f^l\,(\hat\psi^l)^\dagger

    (Cohen et al. 2018, eqs. 4 and 8: an outer product of two vectors per degree.) The filter has learned values at ``points``
    (angles, :func:`local_filter` by default), drawn from U(-1, 1); the factor (P · inputs · b'⁴/b²)^(-1/2) stands outside the
    weights, as in the authors' code. The output keeps the degrees below ``bandwidth_out``.

    Holds: turning the input turns the output, to rounding.

    Example:
        >>> layer = S2Correlation(1, 4, bandwidth_in=8, bandwidth_out=5)
        >>> layer(torch.zeros(2, 1, 16, 16)).shape
        torch.Size([2, 4, 10, 10, 10])
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        bandwidth_in: int,
        bandwidth_out: int,
        *,
        points: Tensor | None = None,
        bias: bool = True,
    ) -> None:
        at = local_filter(turns=1) if points is None else points
        ratio = bandwidth_out**4 / bandwidth_in**2
        super().__init__(inputs, outputs, (bandwidth_in, bandwidth_out), at, ratio, bias, sphere=True)

    def forward(self, signal: Tensor) -> Tensor:
        self.check(signal)
        spectrum = analyse(signal, self.bandwidth_out, sphere=True, half=True)  # (n, inputs, l+1)
        pairs = zip(spectrum, self.filter_spectrum(), strict=True)
        return self.finish([torch.einsum("zim,ion->zomn", f, psi.conj()) for f, psi in pairs])


@checked(**_RULES)
class SO3Correlation(_Correlation):
    r"""Signals on SO(3) (n, inputs, 2b, 2b, 2b) to signals on SO(3) (n, outputs, 2b', 2b', 2b'), real.

    .. math:: [\psi \star f](R) = \int_{SO(3)} \sum_k \psi_k(R^{-1}Q) f_k(Q)\,dQ,
        \qquad \widehat{\psi \star f}^l = \hat f^l\,(\hat\psi^l)^\dagger

    (Cohen et al. 2018, eqs. 5 and 8: a product of matrices per degree.) Filters as in :class:`S2Correlation`; the factor outside
    the weights is (P · inputs · b'³/b³)^(-1/2).

    Holds: turning the input turns the output, to rounding.

    Example:
        >>> layer = SO3Correlation(4, 3, bandwidth_in=5, bandwidth_out=3, points=local_filter(rings=1))
        >>> layer(torch.zeros(2, 4, 10, 10, 10)).shape
        torch.Size([2, 3, 6, 6, 6])
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        bandwidth_in: int,
        bandwidth_out: int,
        *,
        points: Tensor | None = None,
        bias: bool = True,
    ) -> None:
        at = local_filter() if points is None else points
        ratio = (bandwidth_out / bandwidth_in) ** 3
        super().__init__(inputs, outputs, (bandwidth_in, bandwidth_out), at, ratio, bias, sphere=False)

    def forward(self, signal: Tensor) -> Tensor:
        self.check(signal)
        spectrum = analyse(signal, self.bandwidth_out, sphere=False, half=True)  # (n, inputs, l+1, 2l+1)
        return self.finish([_product(f, psi) for f, psi in zip(spectrum, self.filter_spectrum(), strict=True)])


def _product(f: Tensor, psi: Tensor) -> Tensor:
    """sum over i and p of f[z,i,m,p] conj(psi[i,o,n,p]), as one product of matrices."""
    n, inputs, m, p = f.shape
    outputs = psi.shape[1]
    left = f.permute(0, 2, 1, 3).reshape(n * m, inputs * p)
    right = psi.conj().permute(0, 3, 1, 2).reshape(inputs * p, outputs * p)
    return (left @ right).view(n, m, outputs, p).permute(0, 2, 1, 3)
