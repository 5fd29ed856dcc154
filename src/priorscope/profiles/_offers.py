"""Contenders that enter when something is known: other nonlinearities of the leading kernel, features learnt, groups kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from priorscope.profiles._candidates import variations
from priorscope.profiles._contender import Contender
from priorscope.profiles._defaults import kernel_contender
from priorscope.profiles._invariants import invariants
from priorscope.profiles._kind import Kind

if TYPE_CHECKING:
    from priorscope.profiles._race import Race

__all__ = ["Offer", "offers", "register_offer"]

Offer = Callable[["Race"], Sequence[Contender]]


def _leading(race: Race) -> Contender | None:
    """The kernel machine that leads among architectures with nonlinearities."""
    for name in race.standings().order:
        contender = race.records[name].contender
        if contender.kind is Kind.KERNEL and contender.candidate is not None and variations(contender.candidate):
            return contender
    return None


def _dear(race: Race, contender: Contender) -> bool:
    """Whether all rows would take it more than a twentieth of the budget, so that variations of it are not worth a try."""
    return race.records[contender.name].cost(race.ladder.top, race.ladder) > 0.05 * race.seconds


def _nonlinearities(race: Race) -> list[Contender]:
    """The leading architecture with erf and GELU in place of ReLU."""
    best = _leading(race)
    if best is None or best.candidate is None or _dear(race, best):
        return []
    return [kernel_contender(c, race.problem) for c in variations(best.candidate)]


def _features(race: Race) -> list[Contender]:
    """The leading dense kernel with features learnt, for tables."""
    best = _leading(race)
    if best is None or best.candidate is None or race.problem.positions:
        return []
    return [kernel_contender(best.candidate, race.problem, features=True)]


_OFFERS: dict[str, Offer] = {"nonlinearities": _nonlinearities, "features": _features, "invariants": invariants}


def offers() -> list[Offer]:
    """All offers, in the order in which they were registered."""
    return list(_OFFERS.values())


def register_offer(name: str, offer: Offer) -> Callable[[], None]:
    """Let a function offer more contenders to every race, once its second rung is measured; what is given back takes it out.

    Example:
        >>> from priorscope.profiles import register_offer
        >>> forget = register_offer("nobody", lambda race: [])
        >>> forget()
    """
    if name in _OFFERS:
        raise ValueError(f"there is an offer named {name!r} already; give yours another name.")
    _OFFERS[name] = offer

    def forget() -> None:
        _OFFERS.pop(name, None)

    return forget
