"""Which models a profile compares, and what is known of each before any measurement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Candidate", "default_candidates", "variations"]

_BIAS = (
    0.1  # variance of biases: networks have them, and without them a shallow ReLU kernel lacks odd degrees above one
)
_OTHERS = {
    "erf": "bounded and odd",
    "gelu": "smooth",
}  # nonlinearities tried where ReLU does best, and what is new in them

_WORDS = {
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
    model: Any
    family: str
    words: str
    options: dict[str, Any] = field(default_factory=dict, compare=False)  # what a named architecture was called with

    @property
    def closed_form(self) -> bool:
        """Whether the model has an infinite-width kernel."""
        return hasattr(self.model, "kernel")


def _named(family: str, depth: int, **options: Any) -> Candidate:
    from priorscope import models

    options = {"depth": depth, "bias_variance": _BIAS, **options}
    return Candidate(f"{family}-{depth}", getattr(models, family)(**options), family, _WORDS[family], options)


def default_candidates(input_shape: tuple[int, ...]) -> tuple[list[Candidate], list[str]]:
    """FCN and, where inputs have positions, VEC, LAP and GAP, shallow and deep, with ReLU; and notes on what was left out."""
    found = [_named("fcn", depth) for depth in (1, 3)]
    if len(input_shape) < 2:
        return found, ["inputs are flat features without positions: convolutional candidates were left out"]
    side = min(input_shape[1:])
    if side < 3:
        return found, [f"inputs have only {side} positions along a side: convolutional candidates were left out"]
    found += [_named("vec", depth) for depth in (1, 3)]
    window = next((w for w in (4, 3, 2) if all(s % w == 0 for s in input_shape[1:])), None)
    if window is not None and window < side:
        found.append(_named("lap", 3, window=window))
    found += [_named("gap", depth) for depth in (1, 3)]
    return found, []


def variations(candidate: Candidate) -> list[Candidate]:
    """The same architecture with other nonlinearities; none for a user's model.

    Example:
        >>> [c.name for c in variations(default_candidates((5,))[0][0])]
        ['fcn-1-erf', 'fcn-1-gelu']
    """
    from priorscope import models

    if not candidate.options or "activation" in candidate.options:
        return []
    build = getattr(models, candidate.family)
    return [
        Candidate(
            f"{candidate.name}-{phi}",
            build(**candidate.options, activation=phi),
            candidate.family,
            f"{candidate.words}; {phi} instead of ReLU: {what}",
            {**candidate.options, "activation": phi},
        )
        for phi, what in _OTHERS.items()
    ]
