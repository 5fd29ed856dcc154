"""The problems of the race: those a profile is judged on (``priorscope.validation.profile_validity``)."""

from __future__ import annotations

from priorscope.validation.profile_validity._problems import Entry, Task, entries, load

__all__ = ["Entry", "Task", "entries", "load"]
