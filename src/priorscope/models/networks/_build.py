"""How finite weights are drawn and scaled: parametrisation and initialisation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import torch
from torch import nn

from priorscope.models.networks._initial_law import InitialLaw

__all__ = ["Build", "INITIALISATIONS", "PARAMETRISATIONS"]

PARAMETRISATIONS = ("ntk", "mean-field", "standard")
INITIALISATIONS = ("gaussian", "orthogonal", "antisymmetric")


@dataclass(frozen=True)
class Build:
    r"""Settings and random stream with which the modules of one network are made.

    A weight with variance :math:`\sigma_w^2` and fan-in :math:`m` acts as :math:`s\,\omega`:
    NTK: :math:`\omega\sim N(0,1)`, :math:`s=\sigma_w/\sqrt m`; mean-field: the same, but the readout has
    :math:`s=\sigma_w/m`; standard: :math:`\omega\sim N(0,\sigma_w^2/m)`, :math:`s=1`.
    Orthogonal draws have orthonormal rows or columns, scaled to entries of unit variance.

    Example:
        >>> weight, scale = Build(torch.Generator().manual_seed(0)).weight((5, 4), fan_in=4, variance=1.0)
        >>> tuple(weight.shape), scale
        ((5, 4), 0.5)
    """

    generator: torch.Generator
    parametrisation: str = "ntk"
    initialisation: str = "gaussian"
    dtype: torch.dtype | None = None
    is_readout: bool = False

    def __post_init__(self) -> None:
        if self.parametrisation not in PARAMETRISATIONS:
            raise ValueError(
                f"parametrisation must be one of {', '.join(PARAMETRISATIONS)}; got {self.parametrisation!r}."
            )
        if self.initialisation not in INITIALISATIONS:
            raise ValueError(
                f"initialisation must be one of {', '.join(INITIALISATIONS)}; got {self.initialisation!r}."
            )

    def readout(self) -> Build:
        """The same stream, for the last layer."""
        return replace(self, is_readout=True)

    def weight(
        self, shape: tuple[int, ...], fan_in: int, variance: float, sites: int = 1
    ) -> tuple[nn.Parameter, float]:
        """A weight tensor ``(fan_out, ...)``, or ``sites`` of them stacked, and its forward scale."""
        law = self.weight_law(fan_in, variance, sites)
        omega = nn.Parameter(law.draw(shape, self.generator, self.dtype or torch.get_default_dtype()))
        if self.parametrisation == "standard":
            return omega, 1.0
        power = 1.0 if self.parametrisation == "mean-field" and self.is_readout else 0.5
        return omega, sqrt(variance) / fan_in**power

    def bias(self, shape: tuple[int, ...], variance: float) -> tuple[nn.Parameter | None, float]:
        """A bias and its forward scale; no parameter at all when the variance is zero."""
        if variance == 0:
            return None, 0.0
        dtype = self.dtype or torch.get_default_dtype()
        beta = nn.Parameter(self.bias_law(variance).draw(shape, self.generator, dtype))
        return beta, 1.0 if self.parametrisation == "standard" else sqrt(variance)

    def weight_law(self, fan_in: int, variance: float, sites: int = 1) -> InitialLaw:
        """The law by which :meth:`weight` draws."""
        size = sqrt(variance / fan_in) if self.parametrisation == "standard" else 1.0
        if self.initialisation == "orthogonal":
            return InitialLaw("orthogonal", size, fan_in, sites)
        return InitialLaw("normal", size)

    def bias_law(self, variance: float) -> InitialLaw:
        """The law by which :meth:`bias` draws."""
        return InitialLaw("normal", sqrt(variance) if self.parametrisation == "standard" else 1.0)
