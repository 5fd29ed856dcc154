"""Which models a profile compares, and what is known of each before any measurement."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeGuard

from torch import nn

from priorscope.contracts import KernelModel, Shape, is_kernel_model, missing
from priorscope.models import NAMED, Architecture, gaussian, laplace
from priorscope.probes.curves.forecast import lap_window, standard_settings

if TYPE_CHECKING:
    from priorscope.models import UserNetwork

__all__ = [
    "Candidate",
    "CandidateModel",
    "KernelFamily",
    "default_candidates",
    "is_kernel_family",
    "named_candidate",
    "variations",
]

CandidateModel: TypeAlias = "KernelModel | UserNetwork"
Options: TypeAlias = dict[str, int | float | str]


class KernelFamily(KernelModel, Protocol):
    """A model with a kernel and with networks of any width: what an Architecture is."""

    def network(self, input_shape: Shape, *, width: int = ..., outputs: int = ..., seed: int = ...) -> nn.Module:
        """The network of this seed."""
        ...


def is_kernel_family(model: object) -> TypeGuard[KernelFamily]:
    """Whether the model has both a kernel and networks.

    Example:
        >>> import priorscope as ps
        >>> is_kernel_family(ps.models.fcn(1)), is_kernel_family(ps.models.lenet())
        (True, False)
    """
    return not missing(model, KernelFamily)


_OTHERS = {
    "erf": "bounded and odd",
    "gelu": "smooth",
}  # nonlinearities tried where ReLU does best, and what is new in them

_RADIAL = {"laplace": laplace, "gaussian": gaussian}
_NAME = re.compile(r"([a-z]+)-([1-9]\d?)(?:-([a-z]+))?")

_WORDS = {
    "laplace": "rough functions of the distance between inputs",
    "gaussian": "smooth functions of the distance between inputs",
    "fcn": "treats all directions of the input alike: no position is next to another",
    "vec": "local patches, position kept (LCN has the same kernel at infinite width)",
    "lap": "local patches, position blurred by pooling windows",
    "gap": "local patches anywhere: the sum over positions forgets where",
}


@dataclass(frozen=True)
class Candidate:
    """A model to profile: its name, the model, what kind it is and the words that describe its prior.

    Example:
        >>> import priorscope as ps
        >>> Candidate("fcn-1", ps.models.fcn(1), "fcn", "no locality").closed_form
        True
    """

    name: str
    model: CandidateModel
    family: str
    words: str
    options: dict[str, int | float | str] = field(
        default_factory=dict, compare=False
    )  # what a named architecture was called with
    code: str = field(default="", compare=False)  # the call that makes the model, where its name does not

    @property
    def closed_form(self) -> bool:
        """Whether the model has an infinite-width kernel."""
        return is_kernel_model(self.model)


def _built(family: str, options: Options) -> Architecture:
    made = NAMED[family](**options)
    assert isinstance(made, Architecture)
    return made


def _named(family: str, depth: int, shape: tuple[int, ...]) -> Candidate:
    options: Options = {"depth": depth, **standard_settings(family, shape)}
    return Candidate(f"{family}-{depth}", _built(family, options), family, _WORDS[family], options)


def default_candidates(input_shape: tuple[int, ...]) -> tuple[list[Candidate], list[str]]:
    """Which candidates by kind of data, and notes on what was left out.

    FCN shallow and deep with ReLU and, as kernels without networks, Laplace and Gaussian; where inputs have positions also
    VEC, LAP and GAP.
    """
    found = [_named("fcn", depth, input_shape) for depth in (1, 3)]
    found += [Candidate(name, make(), name, _WORDS[name]) for name, make in _RADIAL.items()]
    if len(input_shape) < 2:
        return found, ["inputs are flat features without positions: convolutional candidates were left out"]
    side = min(input_shape[1:])
    if side < 3:
        return found, [f"inputs have only {side} positions along a side: convolutional candidates were left out"]
    found += [_named("vec", depth, input_shape) for depth in (1, 3)]
    window = lap_window(input_shape)
    if window is not None and window < side:
        found.append(_named("lap", 3, input_shape))
    found += [_named("gap", depth, input_shape) for depth in (1, 3)]
    return found, []


def named_candidate(name: str, input_shape: tuple[int, ...]) -> Candidate | None:
    """The candidate of a name of the tables, as ``fcn-3``, ``gap-2-erf`` or ``laplace``; None where it is no such name.

    Example:
        >>> named_candidate("vec-2-erf", (1, 8, 8)).options["depth"], named_candidate("mine:factory", (4,))
        (2, None)
    """
    if name in _RADIAL:
        return Candidate(name, _RADIAL[name](), name, _WORDS[name])
    found = _NAME.fullmatch(name)
    if found is None or found[1] not in ("fcn", "vec", "lap", "gap") or (found[3] or "relu") not in ("relu", *_OTHERS):
        return None
    if len(input_shape) < 2 and found[1] != "fcn":
        raise ValueError(
            f"{name} needs inputs with positions; these are flat features. Use fcn, or reshape the inputs."
        )
    plain = _named(found[1], int(found[2]), input_shape)
    return next((c for c in variations(plain) if c.name == name), plain)  # "fcn-3-relu" is fcn-3


def variations(candidate: Candidate) -> list[Candidate]:
    """The same architecture with other nonlinearities; none for a user's model.

    Example:
        >>> [c.name for c in variations(default_candidates((5,))[0][0])]
        ['fcn-1-erf', 'fcn-1-gelu']
    """
    if not candidate.options or {"activation", "group"} & set(candidate.options):
        return []
    return [
        Candidate(
            f"{candidate.name}-{phi}",
            _built(candidate.family, {**candidate.options, "activation": phi}),
            candidate.family,
            f"{candidate.words}; {phi} instead of ReLU: {what}",
            {**candidate.options, "activation": phi},
        )
        for phi, what in _OTHERS.items()
    ]
