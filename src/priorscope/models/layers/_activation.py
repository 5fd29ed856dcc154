"""Pointwise nonlinearity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn

from priorscope.contracts import own
from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.kernels._program import NotFused, Program, Space
from priorscope.models.layers._layer import FiniteLayer, Layer, Shape
from priorscope.models.networks._build import Build
from priorscope.models.nonlinearities import Nonlinearity, nonlinearity

__all__ = ["Activation"]


@dataclass(frozen=True)
class Activation(Layer):
    r"""A nonlinearity at every channel and pixel.

    .. math:: K' = E[\phi(u)\phi(v)], \qquad \Theta' = \Theta \odot E[\phi'(u)\phi'(v)], \qquad
        (u,v) \sim N\!\left(0, \begin{pmatrix} K_{11} & K_{12} \\ K_{12} & K_{22}\end{pmatrix}\right)

    Lee et al. (2018), "Deep neural networks as Gaussian processes"; Jacot et al. (2018), "Neural tangent kernel", Theorem 1.

    ``fn`` is a name (``"relu"``), a :class:`Nonlinearity`, or any elementwise torch function (then by quadrature).

    Example:
        >>> Activation("relu").fn
        ReLU()
    """

    fn: str | Nonlinearity | Callable[[Tensor], Tensor] = "relu"

    def __post_init__(self) -> None:
        object.__setattr__(self, "fn", nonlinearity(self.fn))

    @property
    def phi(self) -> Nonlinearity:
        """The nonlinearity itself."""
        assert isinstance(self.fn, Nonlinearity)
        return self.fn

    @property
    def centres(self) -> bool | None:
        return None if self.phi.odd else False

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        return shape

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        return ActivationModule(self.phi)

    def need(self, after: Need) -> Need:
        return after

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        cov = cov.reduced(need)
        cov.require_gaussian(f"Activation({type(self.phi).__name__})")
        phi = self.phi
        a, b = cov.variances()
        cross = phi.covariance(cov.cross, a, b)
        ntk = None if cov.ntk is None else cov.ntk * phi.derivative_covariance(cov.cross, a, b)
        return cov.moved(cross, ntk, lambda c: phi.covariance(c.cross, *c.variances()), gaussian=False)

    def lower(self, program: Program, register: int, space: Space) -> None:
        phi = self.phi
        if not own(phi, "fused"):  # a subclass may have another formula
            raise NotFused(type(phi).__name__)
        kind, numbers = phi.fused()
        program.expect(register, space, kind, numbers, "a nonlinearity")


class ActivationModule(FiniteLayer):
    """The finite layer."""

    def __init__(self, phi: Nonlinearity) -> None:
        super().__init__()
        self.phi = phi

    def as_layer(self) -> Activation:
        return Activation(self.phi)

    def forward(self, x: Tensor) -> Tensor:
        return self.phi(x)

    def pointwise(self) -> Nonlinearity:
        """The function at every entry, for those who write the derivatives of dense networks by hand."""
        return self.phi
