"""The claims J.11 and J.11b on structured data."""

from __future__ import annotations

from priorscope.lab import Check, Claim, below, between, claimed, falling
from priorscope.papers.jamming import _data_measures as measure
from priorscope.papers.jamming._claims import SOURCE

SCALING = "Scaling description of generalization with number of parameters in deep learning (2020)"

CLAIMS = (
    Claim(
        "J.11",
        SOURCE,
        "on MNIST's principal components N* is smaller and the jump is to half",
        checks=(
            Check("N_Δ/N close to the transition", measure.jump, between(0.4, 0.65)),
            Check(f"N* over that of random labels, P from {measure.LARGE} on", measure.star_ratio, below(1)),
        ),
        reach=("widths", "n_train"),
    ),
    Claim(
        "J.11b",
        SOURCE,
        "on MNIST's principal components N* grows more slowly with P than on random data",
        measure=measure.slope_difference,
        expect=falling(),
    ),
    Claim(
        "J.14",
        f"{SCALING}, Sec. 4",
        "on MNIST's principal components N* grows like P to the power 0.75",
        measure=measure.star_exponent,
        expect=claimed(0.75, within=0.15),
    ),
)
