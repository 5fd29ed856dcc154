"""The interface of a layer: what it does to a finite network and what it does to a covariance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import nn

from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.kernels._program import NotFused, Program, Space
from priorscope.models.networks._build import Build

__all__ = ["FiniteLayer", "Layer"]

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Layer(ABC):
    """One layer: a finite torch module and a step of the infinite-width kernel.

    A shape is ``(channels, *spatial)`` with no, one or two spatial axes. ``centres`` says what the layer does to the mean of
    its outputs over the weights: True, fresh symmetric weights make it zero; None, it keeps what came; False, it breaks it.

    Example:
        >>> import priorscope as ps
        >>> layer = ps.models.Conv(3, 1, "valid")  # filters of three pixels, without padding
        >>> layer.output_shape((2, 8, 8), width=16), layer.centres
        ((16, 6, 6), True)
    """

    @property
    def centres(self) -> bool | None:
        """True when the outputs have zero mean over this layer's own weights, None when the mean's symmetry is kept."""
        return None

    @abstractmethod
    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        """Shape of one output for one input of ``shape``, in a network whose hidden layers have ``width`` channels."""

    @abstractmethod
    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        """The finite layer for inputs of ``shape``, with ``width`` output channels where the layer has weights."""

    @abstractmethod
    def need(self, after: Need) -> Need:
        """Which pixel covariances this layer must be given so that its output has those of ``after``."""

    @abstractmethod
    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        """Advance the covariances of the infinitely wide network by this layer, keeping those of ``need``."""

    def lower(self, program: Program, register: int, space: Space) -> None:
        """Write this layer's steps for the compiled path. Not inherited: a subclass that does not say goes by the reference."""
        raise NotFused(type(self).__name__)

    def stage_strides(self) -> tuple[int, ...]:
        """Product of the strides in each stage of the compiled path; a pool ends one stage and begins the next."""
        return (1,)


class FiniteLayer(nn.Module):
    """The finite half of a layer that says which layer it is, so that ``from_module`` reads networks made of it.

    A class that derives from a finite layer and does not say it again may compute anything, and is not read.

    Example:
        >>> import priorscope as ps
        >>> network = ps.models.fcn(1).network((3,), width=8)
        >>> network[1].as_layer(), network[1].channels(), network[2].channels()
        (Dense(weight_variance=2.0, bias_variance=0.0), 8, None)
    """

    def as_layer(self) -> Layer:
        """The layer that this module is the finite half of."""
        raise NotImplementedError(f"{type(self).__name__} does not say which layer it is")

    def channels(self) -> int | None:
        """How many channels its weights give; None where it has no weights."""
        return None
