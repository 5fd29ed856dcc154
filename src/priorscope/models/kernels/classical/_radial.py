"""Kernels of the distance as models: what stands beside the kernels of networks, with the same interface."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from priorscope.checks import POSITIVE, checked, number, word_or
from priorscope.models.kernels._expansion_gradients import check_expansion
from priorscope.models.kernels._kernel import Kernel, check_kinds
from priorscope.models.kernels._mapped_inputs import MappedInputs
from priorscope.models.kernels.classical._distances import distance_blocks, median_distance
from priorscope.models.kernels.classical._matern import SMOOTHEST, matern_of, matern_slope_of

__all__ = ["RadialKernel", "gaussian", "laplace", "matern"]

_SMOOTHNESS = number(above=0, infinite=True, advice="Laplace is 0.5, a Gaussian is infinity.")
_BANDWIDTH = word_or(POSITIVE, "median")
NEAR = 1e-10  # bandwidths apart below which inputs are equal but for rounding: a kink would turn that into a slope


@checked(smoothness=_SMOOTHNESS, bandwidth=_BANDWIDTH)
@dataclass(frozen=True)
class RadialKernel:
    r"""A Matérn kernel of the distance between inputs, :math:`k(x, x') = k_\nu(\|x - x'\|/\sigma)` with :math:`k(0) = 1`.

    .. math:: k_\nu(r) = \frac{2^{1-\nu}}{\Gamma(\nu)}\,z^\nu K_\nu(z), \qquad z = \sqrt{2\nu}\,r

    Rasmussen & Williams (2006), eq. 4.14. ``smoothness`` ν is 1/2 for Laplace, infinite for the Gaussian. ``bandwidth`` σ is a
    number or "median", the median distance between the training inputs: inference fixes it by :meth:`settled`; ``kernel`` alone
    takes it from the second batch, or the first where there is one only.

    Holds: symmetric to the last bit, exactly 1 on the diagonal and for equal inputs; float64 whatever the inputs' precision. It
    is one function, so ``nngp`` and ``ntk`` are the same matrix.

    Example:
        >>> x = torch.tensor([[0.0], [1.0], [3.0]])
        >>> RadialKernel("mine", smoothness=0.5, bandwidth=1.0).kernel(x).ntk[0].log().tolist()
        [0.0, -1.0, -3.0]
    """

    name: str
    smoothness: float
    bandwidth: float | str = "median"

    def __post_init__(self) -> None:
        if SMOOTHEST < self.smoothness < math.inf:
            raise ValueError(
                f"a Matérn kernel needs smoothness <= {SMOOTHEST:g}, or infinity; got {self.smoothness:g}. Use gaussian(), from "
                "which it hardly differs."
            )

    def settled(self, inputs: Tensor) -> RadialKernel:
        """The kernel with its bandwidth as a number, taken from these inputs where it was "median".

        Example:
            >>> laplace().settled(torch.tensor([[0.0], [1.0], [5.0]])).bandwidth
            4.0
        """
        if self.bandwidth != "median":
            return self
        return replace(self, bandwidth=median_distance(_rows(inputs, "inputs")))

    def spectral_exponent(self, dim: int) -> float:
        r"""How fast the Fourier transform falls: :math:`\tilde k(\omega) \sim |\omega|^{-\alpha}` with :math:`\alpha = d + 2\nu`.

        Rasmussen & Williams (2006), eq. 4.15; infinite for the Gaussian.

        Example:
            >>> laplace().spectral_exponent(3), gaussian().spectral_exponent(3)
            (4.0, inf)
        """
        return dim + 2 * self.smoothness

    def kernel(
        self,
        x1: Tensor,
        x2: Tensor | None = None,
        *,
        kinds: tuple[str, ...] | str = ("nngp", "ntk"),
        dtype: torch.dtype | None = None,
    ) -> Kernel:
        """The kernel between two batches, inputs flattened; of ``x1`` with itself where ``x2`` is None, each pair once.

        Example:
            >>> gaussian(bandwidth=1.0).kernel(torch.zeros(2, 1, 4, 4), torch.ones(3, 1, 4, 4)).ntk.shape
            torch.Size([2, 3])
        """
        kinds = check_kinds(kinds)
        a, b = _rows(x1, "x1"), None if x2 is None else _rows(x2, "x2")
        if b is not None and a.shape[1] != b.shape[1]:
            raise ValueError(
                f"kernel needs inputs of one size; got {a.shape[1]} numbers in an input of x1 and {b.shape[1]} of x2."
            )
        sigma = self.settled(a if b is None else b).bandwidth
        assert not isinstance(sigma, str)
        matrix = (self._square(a / sigma) if b is None else self._of(a / sigma, b / sigma)).to(
            x1.device, dtype or torch.float64
        )
        return Kernel(**dict.fromkeys(kinds, matrix))

    def kernel_diagonal(self, x: Tensor, *, kinds: tuple[str, ...] | str = ("nngp", "ntk")) -> Kernel:
        """The kernel of each input with itself: ones.

        Example:
            >>> laplace().kernel_diagonal(torch.eye(3)).ntk.tolist()
            [1.0, 1.0, 1.0]
        """
        ones = torch.ones(len(x), dtype=torch.float64, device=x.device)
        return Kernel(**dict.fromkeys(check_kinds(kinds), ones))

    def expansion_gradients(self, x: Tensor, anchors: Tensor, coefficients: Tensor, *, kind: str = "ntk") -> Tensor:
        r"""Gradients (n, outputs, *input_shape) of :math:`\sum_j k(x, z_j)\,c_j`, in closed form and float64.

        .. math:: \nabla f(x) = \sum_j \frac{k'(r_j)}{r_j}\,(x - z_j)\,c_j, \qquad r_j = \|x - z_j\|

        (derived by the chain rule). Kernels with a kink are flat up to 1e-10 bandwidths: rows that are equal before a map may
        differ by rounding after it.

        Example:
            >>> at = torch.tensor([[1.0]])
            >>> gaussian(1.0).expansion_gradients(at, 0 * at, at).item() == -math.exp(-0.5)
            True
        """
        check_kinds(kind)
        check_expansion(x, anchors, coefficients)
        a, b, c = _rows(x, "x"), _rows(anchors, "anchors"), coefficients.double()
        sigma = self.settled(b).bandwidth
        assert not isinstance(sigma, str)
        d, outputs = b.shape[1], c.shape[1]
        weighted = (c[:, :, None] * b[:, None, :]).reshape(len(b), outputs * d)
        both = torch.cat([c, weighted], 1) / sigma**2
        found = torch.zeros(len(a), both.shape[1], dtype=torch.float64)
        square = torch.equal(a, b)  # then each pair counts for two rows
        for rows, squared in distance_blocks(a / sigma, None if square else b / sigma):
            if self.smoothness <= 1:
                squared.masked_fill_(squared < NEAR**2, 0.0)
            slope = matern_slope_of(squared, self.smoothness)
            found[rows] += slope @ both[: slope.shape[1]]
            if square:
                found[: rows.start] += slope[:, : rows.start].mT @ both[rows]
        out = found[:, :outputs, None] * a[:, None, :] - found[:, outputs:].reshape(len(a), outputs, d)
        return out.reshape(len(a), outputs, *x.shape[1:]).to(x.device)

    def feature_moment(self, x: Tensor, anchors: Tensor, coefficients: Tensor, *, kind: str = "ntk") -> Tensor:
        """Mean over rows and outputs of gradient times gradient (D, D), inputs flattened.

        Example:
            >>> at = torch.eye(3)
            >>> gaussian(1.0).feature_moment(at, at, at).shape
            torch.Size([3, 3])
        """
        return self.mapped(torch.ones(x[0].numel())).feature_moment(x, anchors, coefficients, kind=kind)

    def mapped(self, matrix: Tensor) -> MappedInputs:
        """The kernel of inputs behind a linear map (D, D) or its diagonal (D,): another metric.

        Example:
            >>> laplace(1.0).mapped(torch.tensor([2.0])).kernel(torch.tensor([[0.0], [1.0]])).ntk[0, 1].log().item()
            -2.0
        """
        return MappedInputs(self, matrix)

    def _of(self, a: Tensor, b: Tensor) -> Tensor:
        out = torch.empty(len(a), len(b), dtype=torch.float64)
        for rows, squared in distance_blocks(a, b):
            out[rows] = matern_of(squared, self.smoothness)
        return out

    def _square(self, a: Tensor) -> Tensor:
        """One batch with itself in blocks of rows, below the diagonal, the rest by symmetry."""
        out = torch.empty(len(a), len(a), dtype=torch.float64)
        for rows, squared in distance_blocks(a):
            block = matern_of(squared, self.smoothness)
            corner = block[:, rows]
            corner.copy_(corner.tril() + corner.tril(-1).mT)
            out[rows, : rows.stop] = block
            out[: rows.start, rows] = block[:, : rows.start].mT
        return out


def _rows(x: Tensor, name: str) -> Tensor:
    """Inputs as rows of numbers in float64 on the CPU."""
    if not isinstance(x, Tensor) or x.ndim == 0 or not len(x):
        raise ValueError(
            f"kernel needs {name} as a tensor (n, ...) with n >= 1; got {getattr(x, 'shape', type(x).__name__)}."
        )
    rows = x.detach().to("cpu", torch.float64).reshape(len(x), -1)
    if not bool(rows.isfinite().all()):
        raise ValueError(f"kernel needs {name} without NaN or infinite values. Remove or impute those samples first.")
    return rows


def laplace(bandwidth: float | str = "median") -> RadialKernel:
    r"""The Laplace kernel :math:`e^{-\|x - x'\|/\sigma}`, rough as the kernel of a ReLU network: Matérn with ν = 1/2.

    Rasmussen & Williams (2006), eq. 4.18 with γ = 1.

    Example:
        >>> laplace(bandwidth=2.0).kernel(torch.tensor([[0.0], [2.0]])).ntk[0, 1].log().item()
        -1.0
    """
    return RadialKernel("laplace", 0.5, bandwidth)


def gaussian(bandwidth: float | str = "median") -> RadialKernel:
    r"""The Gaussian kernel :math:`e^{-\|x - x'\|^2/2\sigma^2}`, smooth to every order.

    Rasmussen & Williams (2006), eq. 4.9.

    Example:
        >>> gaussian(bandwidth=1.0).kernel(torch.tensor([[0.0], [2.0]])).ntk[0, 1].log().item()
        -2.0
    """
    return RadialKernel("gaussian", math.inf, bandwidth)


@checked(nu=number(above=0, infinite=True))
def matern(nu: float = 1.5, bandwidth: float | str = "median") -> RadialKernel:
    r"""The Matérn kernel of smoothness ν.

    .. math:: \frac{2^{1-\nu}}{\Gamma(\nu)}z^\nu K_\nu(z), \qquad z = \sqrt{2\nu}\,\|x - x'\|/\sigma

    Rasmussen & Williams (2006), eq. 4.14. A field with this covariance is differentiable as often as the integer below ν says.

    Example:
        >>> x = torch.tensor([[0.0], [1.0]])
        >>> bool((matern(0.5, 1.0).kernel(x).ntk == laplace(1.0).kernel(x).ntk).all())
        True
    """
    return RadialKernel(f"matern-{nu:g}", nu, bandwidth)
