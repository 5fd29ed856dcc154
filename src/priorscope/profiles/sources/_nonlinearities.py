"""Other nonlinearities for the architecture that does best with ReLU."""

from __future__ import annotations

from priorscope.profiles._candidates import Candidate, variations
from priorscope.profiles._scene import Scene
from priorscope.profiles.sources._source import Source

__all__ = ["NONLINEARITIES"]


def _offer(scene: Scene) -> list[Candidate]:
    best = scene.leading
    return [] if best is None else variations(best.candidate)


NONLINEARITIES = Source("nonlinearities", _offer)
