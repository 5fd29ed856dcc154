"""What is said when a module cannot be read with certainty."""

from __future__ import annotations

__all__ = ["Refusal", "refused"]


class Refusal(NotImplementedError):
    """A module, or a part of it, that has no closed-form kernel here."""


def refused(what: str) -> Refusal:
    """The error that names what has no kernel and says what can be done instead."""
    return Refusal(
        f"from_module has no closed-form kernel for {what}. Change the module, or build the Architecture from layers; "
        "docs/models.md lists what converts."
    )
