"""The claims L.14 and L.14b on the stripe."""

from __future__ import annotations

from priorscope.lab import Check, Claim, at_most, claimed, rising
from priorscope.papers.training_regimes import _stripe_measures as measure

__all__ = ["CLAIMS", "SOURCE"]

SOURCE = "Landscape and training regimes in deep learning (2021)"

CLAIMS = (
    Claim(
        "L.14",
        SOURCE,
        "on the stripe, feature training beats lazy; compression grows like the root of P",
        checks=(
            Check("exponent of the compression", measure.compression_exponent, claimed(0.5, within=0.15)),
            Check(f"lazy minus feature error, every P from {measure.FROM} on", measure.feature_gain, rising()),
        ),
    ),
    Claim(
        "L.14b",
        SOURCE,
        "lazy training on inputs squeezed by the compression performs like feature training",
        measure=measure.way_left,
        expect=at_most(0.5),
    ),
)
