"""What the papers of this folder come from."""

from __future__ import annotations

SPHERES = "seed 001, chapter 5: Cohen, Geiger, Köhler, Welling, Spherical CNNs (2018)"
STEERABLE = "seed 001, chapter 5: Weiler, Geiger, Welling, Boomsma, Cohen, 3D steerable CNNs (2018)"
