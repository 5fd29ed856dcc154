"""The publication whose claims these papers check."""

from __future__ import annotations

SOURCE = "Relative stability toward diffeomorphisms indicates performance in deep nets (2021)"
