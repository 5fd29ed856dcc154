"""What is said when a module cannot be read with certainty."""

from __future__ import annotations

__all__ = ["NoLaw", "NoShape", "Refusal", "RelatedWeights", "refused"]


class Refusal(NotImplementedError):
    """A module, or a part of it, that has no closed-form kernel here."""


class NoLaw(Refusal):
    """A module whose weights tell no law by which it could be drawn again."""


class RelatedWeights(NoLaw):
    """A module whose weights are not independent of one another: copies, or what training has left."""


class NoShape(ValueError):
    """An input shape is needed, was not given and is not found."""


def refused(what: str) -> Refusal:
    """The error that names what has no kernel and says what can be done instead."""
    return Refusal(
        f"from_module has no closed-form kernel for {what}. Change the module, build the Architecture from layers, or ask for "
        'the kernel of redrawn networks with from_module(..., fallback="sampled"); docs/models.md lists what converts.'
    )
