"""The claims L.14 and L.14b on the stripe."""

from __future__ import annotations

from priorscope.lab import Check, Claim, at_least, at_most, claimed, rising
from priorscope.papers.training_regimes import _stripe_measures as measure

SOURCE = "Landscape and training regimes in deep learning (2021)"

TRAINED = Check(
    "share of networks that met all margins, third best of the sizes", measure.third_best, at_least(measure.DONE)
)
CLAIMS = (
    Claim(
        "L.14",
        SOURCE,
        f"on the stripe, feature training beats lazy, at every P from {measure.FROM} on",
        measure=measure.feature_gain,
        expect=rising(),
    ),
    Claim(
        "L.14c",
        SOURCE,
        "on the stripe the compression grows like the root of P",
        measure=measure.compression_exponent,
        expect=claimed(0.5, within=0.15),
        trained=TRAINED,
    ),
    Claim(
        "L.14b",
        SOURCE,
        "lazy training on inputs squeezed by the compression performs like feature training",
        measure=measure.way_left,
        expect=at_most(0.5),
        trained=TRAINED,
    ),
)
