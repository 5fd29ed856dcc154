"""The claims L.2 (ensembles) and L.3 (single networks)."""

from __future__ import annotations

from priorscope.lab import Check, Claim, above, at_most, claimed, rising
from priorscope.papers.scaling import _fluctuations_measures as measure

SOURCE = "Scaling description of generalization with number of parameters in deep learning (2020)"

CLAIMS = (
    Claim(
        "L.2",
        SOURCE,
        "the error of an ensemble approaches its limit like one over its size, flat beyond N*",
        checks=(
            Check("exponent in the number of members", measure.ensemble_exponent, claimed(-1.0, within=0.25)),
            Check("error of one network, just beyond N* minus widest", measure.single_fall, rising()),
            Check("what ensembles keep of that fall", measure.kept_by_ensembles, at_most(1 / 3)),
        ),
    ),
    Claim(
        "L.2b",
        SOURCE,
        "the decision boundary of an ensemble approaches its limit like one over the root of its size",
        measure=measure.boundary_exponent,
        expect=claimed(-0.5, within=0.1),
    ),
    Claim(
        "L.3",
        SOURCE,
        "the excess error of one network falls like the root of its parameters",
        checks=(
            Check("exponent in N", measure.excess_exponent, claimed(-0.5, within=0.15)),
            Check("B of ε_∞ + B N^-1/2", measure.excess_slope, rising()),
        ),
    ),
    Claim(
        "L.3b",
        SOURCE,
        "regression with the initial kernel of networks fluctuates like one over the width; what is left of the initial output "
        "does not fall",
        checks=(
            Check("exponent of what is learnt", measure.learnt_exponent, claimed(-1.0, within=0.2)),
            Check("exponent of what is left of the start", measure.start_exponent, above(-0.2)),
        ),
    ),
)
