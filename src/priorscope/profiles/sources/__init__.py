"""Sources of candidates: one file each, in the order in which they are asked."""

from __future__ import annotations

from collections.abc import Callable

from priorscope.profiles.sources._features import FEATURES
from priorscope.profiles.sources._invariants import INVARIANTS
from priorscope.profiles.sources._nonlinearities import NONLINEARITIES
from priorscope.profiles.sources._source import EstimatorOffer, Offer, Source

__all__ = ["SOURCES", "EstimatorOffer", "Offer", "Source", "register_source"]

SOURCES: dict[str, Source] = {source.name: source for source in (NONLINEARITIES, INVARIANTS, FEATURES)}


def register_source(source: Source) -> Callable[[], None]:
    """Ask this source in every profile from now on; the function that is given back takes it out again.

    Example:
        >>> forget = register_source(Source("none", lambda scene: []))
        >>> "none" in SOURCES, forget(), "none" in SOURCES
        (True, None, False)
    """
    if source.name in SOURCES:
        raise ValueError(f"there is a source named {source.name!r} already; give yours another name.")
    SOURCES[source.name] = source

    def forget() -> None:
        SOURCES.pop(source.name, None)

    return forget
