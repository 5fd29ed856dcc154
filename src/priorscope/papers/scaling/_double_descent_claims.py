"""The claim J.12: the peak, and its cure."""

from __future__ import annotations

from priorscope.lab import Check, Claim, at_most, between, rising
from priorscope.papers.scaling import _double_descent_measures as measure

SOURCE = "A jamming transition from under- to over-parametrization affects generalization in deep learning (2019)"

CLAIMS = (
    Claim(
        "J.12",
        SOURCE,
        "the test error peaks at N*, and early stopping erases the peak",
        checks=(
            Check("error at N* minus that of the widest", measure.fall, rising()),
            Check("error at N* minus that of a smaller network", measure.rise, rising()),
            Check("gain of early stopping at N*", measure.cured, rising()),
            Check("early-stopped error at N* minus that of the smaller network", measure.erased, at_most(0)),
            Check("N of the largest gain of early stopping over N*", measure.place_of_gain, between(0.5, 2)),
            Check("N of the largest norm over N*", measure.place_of_norm, between(0.5, 2)),
        ),
    ),
)
