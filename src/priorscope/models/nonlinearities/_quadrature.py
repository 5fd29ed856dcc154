"""Any elementwise function, by quadrature and Hermite expansion."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from priorscope.checks import POSITIVE, checked, whole
from priorscope.models.nonlinearities._nonlinearity import Nonlinearity, cosine, safe_sqrt

__all__ = ["Quadrature"]

FEW_TERMS = 64  # tried first
REFUSED = 0.05  # a share of the variance beyond the last term from which the answer is none
NEGLIGIBLE = 1e-16  # a share of the variance that is left out
EXACT = 1e-14  # a share of the variance that is rounding
FARTHEST = 13.0  # a Gaussian exceeds this many deviations with probability 1e-38
FINE, FINEST = 5, 24  # how often the panel next to zero is halved, for variances up to FLAT and beyond
FLAT = 10.0


def _panels(edges: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss–Legendre nodes and weights, n in each interval between the edges."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    half = np.diff(edges) / 2
    return (edges[:-1, None] + half[:, None] * (nodes + 1)).ravel(), (half[:, None] * weights).ravel()


@lru_cache(maxsize=16)
def _rule(n_terms: int, halvings: int) -> tuple[Tensor, Tensor, Tensor]:
    """Nodes, probability weights, and weights times normalised Hermite polynomials ``(nodes, terms)``.

    Gauss–Legendre panels on both sides of zero, where kinks and jumps are, halved towards it, so that functions
    which change within a small part of a deviation are met; elsewhere short enough for the last polynomial's waves.
    """
    length = min(0.5, 12 / n_terms**0.5)  # the polynomials have a wave number of up to sqrt(n_terms)
    small = np.concatenate([[0.0], 2.0 ** np.arange(-halvings, 1) * length])
    nodes, weights = (
        np.concatenate(parts)
        for parts in zip(
            _panels(small, 12), _panels(np.arange(1, FARTHEST / length + 1) * length, 16 if length == 0.5 else 24)
        )
    )
    z, w = nodes, weights * np.exp(-nodes * nodes / 2)
    x, p = torch.from_numpy(np.concatenate([-z[::-1], z])), torch.from_numpy(np.concatenate([w[::-1], w]))
    p = p / p.sum()
    polynomials = [torch.ones_like(x), x]
    for j in range(1, n_terms - 1):
        polynomials.append((x * polynomials[j] - j**0.5 * polynomials[j - 1]) / (j + 1) ** 0.5)
    return x, p, torch.stack(polynomials[:n_terms], -1) * p[:, None]


@checked(n_terms=whole(2, most=8192), tolerance=POSITIVE)
@dataclass(frozen=True)
class Quadrature(Nonlinearity):
    r"""A nonlinearity without closed form.

    With :math:`h_j(k) = E[\phi(\sqrt k z)\,\mathrm{he}_j(z)]` by one-dimensional quadrature (he normalised),

    .. math:: E[\phi(u)\phi(v)] = \sum_j c^j\, h_j(k_{11})\, h_j(k_{22})

    (the theorem of Mehler, 1866).
    Truncated after ``n_terms``; what the truncation leaves out of :math:`E[\phi^2]` is put on the next two powers, so
    that c = ±1 stays exact, and :meth:`error_estimate` reports it. Smooth in all arguments, c = ±1 included.
    Computed in float64. Default 1024 terms, ours, of which only those are used that matter: tanh is then right to 1e-10 up
    to variance 20. Functions with a kink converge slowly (elu's derivative map to 1e-7), as do steep ones, that is all at
    large variances. An error above ``tolerance``, relative to :math:`E[\phi^2]`, is told by a warning, and above
    a twentieth refused unless ``tolerance`` allows it.

    Example:
        >>> import torch
        >>> one = torch.ones((), dtype=torch.float64)
        >>> round(float(Quadrature(torch.sin).covariance(0.5 * one, one, one)), 8)  # e^-1 sinh(1/2)
        0.19170025
    """

    fn: Callable[[Tensor], Tensor] = torch.tanh
    n_terms: int = 1024
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        if not callable(self.fn):
            raise TypeError(f"Quadrature needs an elementwise torch function; got {type(self.fn).__name__}.")

    @property
    def odd(self) -> bool:
        x = torch.linspace(0.1, 3, 8, dtype=torch.float64)
        return bool((self.fn(x) + self.fn(-x)).abs().max() < 1e-12)

    def __call__(self, x: Tensor) -> Tensor:
        return self.fn(x)

    def _derivative(self, x: Tensor) -> Tensor:
        found: Tensor = torch.func.jvp(self.fn, (x,), (torch.ones_like(x),))[1]
        return found

    def _coefficients(self, fn: Callable[[Tensor], Tensor], variance: Tensor, n_terms: int) -> tuple[Tensor, Tensor]:
        """h_j(variance), ``(*shape, terms)``, and E[φ²] beyond them, of even and odd terms, ``(*shape, 2)``."""
        flat = variance.numel() == 0 or float(variance.detach().max()) <= FLAT
        z, w, basis = _rule(n_terms, FINE if flat else FINEST)
        values = fn(safe_sqrt(variance.double())[..., None] * z.to(variance.device))
        h, w = values @ basis.to(variance.device), w.to(variance.device)
        mirrored = values.flip(-1)  # the nodes are symmetric
        even, odd = (((values + sign * mirrored) / 2).square() @ w for sign in (1, -1))
        rests = (even - h[..., ::2].square().sum(-1), odd - h[..., 1::2].square().sum(-1))
        return h, torch.stack([torch.where(rest > EXACT * (even + odd), rest, 0.0) for rest in rests], -1)

    def _expansion(self, fn: Callable[[Tensor], Tensor], *variances: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Coefficients and rests: with as few terms as leave nothing, else with all."""
        n_terms = min(FEW_TERMS, self.n_terms)
        while True:
            parts = [self._coefficients(fn, variance, n_terms) for variance in variances]
            if n_terms == self.n_terms or not any(bool((rest > 0).any()) for _, rest in parts):
                return parts
            n_terms = min(2 * n_terms, self.n_terms)

    def _expectation(self, fn: Callable[[Tensor], Tensor], k12: Tensor, k11: Tensor, k22: Tensor, what: str) -> Tensor:
        """Sum the Hermite series of both sides; what lies beyond its end is put on the next two powers."""
        c, _ = cosine(k12.double(), k11.double(), k22.double())
        if _alike(k11, k22):  # of a batch with itself
            ((h1, rest1),) = self._expansion(fn, k11)
            h2, rest2 = h1.reshape(*k22.shape, -1), rest1.reshape(*k22.shape, 2)
        else:
            (h1, rest1), (h2, rest2) = self._expansion(fn, k11, k22)
        largest = torch.stack([(h.detach() ** 2).reshape(-1, h.shape[-1]).amax(0) for h in (h1, h2)]).amax(0)
        tail = largest.flip(0).cumsum(0).flip(0)
        terms = max(int((tail > NEGLIGIBLE * tail[0]).sum()), 1)
        vanish = (largest <= 1e-8 * NEGLIGIBLE * tail[0]).tolist()  # of an odd or even function every other
        self._report(max(_share(h, rest) for h, rest in ((h1, rest1), (h2, rest2))), k11, k22, what)
        rest = safe_sqrt(rest1) * safe_sqrt(rest2)  # on the next two powers, each on one of its kind
        value, square, behind = rest[..., (terms + 1) % 2] * c + rest[..., terms % 2], c * c, 0
        for j in reversed(range(terms)):
            behind += 1
            if not vanish[j] or j == 0 or behind == 2:
                value = torch.addcmul(value * (c if behind == 1 else square), h1[..., j], h2[..., j])
                behind = 0
        return value.to(k12.dtype)

    def _report(self, error: float, k11: Tensor, k22: Tensor, what: str) -> None:
        """Warn of the share of variance that the series leaves out, or refuse where it is too large."""
        if error <= self.tolerance:
            return
        largest = max(float(k.detach().max()) for k in (k11, k22))
        message = (
            f"quadrature of {what} of {self.fn!r} leaves {error:.1e} of the variance beyond {self.n_terms} terms, "
            f"at variances up to {largest:.3g}"
        )
        advice = (
            "standardise the inputs, put LayerNorm before it, or take a nonlinearity with a closed form (erf for tanh)"
        )
        if error > REFUSED:
            raise ValueError(
                f"{message}; {advice}, or accept the error with Quadrature(fn, tolerance={2 * error:.1g})."
            )
        warnings.warn(f"{message}; {advice}, or accept it with tolerance=.", stacklevel=2)

    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return self._expectation(self.fn, k12, k11, k22, "the values")

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        return self._expectation(self._derivative, k12, k11, k22, "the derivative")

    def error_estimate(self, variance: Tensor, derivative: bool = False) -> Tensor:
        r"""Bound on the error of either map at inputs of this variance: :math:`\sum_{j>J} h_j^2`, by Cauchy–Schwarz for every c.

        The one-dimensional quadrature is right to rounding for functions that are smooth but for a kink or jump at zero.
        """
        ((_, rest),) = self._expansion(self._derivative if derivative else self.fn, variance)
        return rest.sum(-1)


def _share(h: Tensor, rest: Tensor) -> float:
    """The largest part of E[φ²] that lies in the rest."""
    if not rest.numel():
        return 0.0
    rest = rest.detach().sum(-1)
    return float((rest / (h.detach().square().sum(-1) + rest).clamp_min(1e-300)).max())


def _alike(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors hold the same numbers in the same order, and no derivative is asked of either."""
    return (
        not (a.requires_grad or b.requires_grad)
        and a.numel() == b.numel()
        and torch.equal(a.reshape(-1), b.reshape(-1))
    )
