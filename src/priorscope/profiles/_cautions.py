"""What to be careful about."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from priorscope.profiles._result import Profile

__all__ = ["cautions"]


def cautions(result: Profile) -> list[str]:
    return []
