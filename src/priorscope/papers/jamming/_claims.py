"""The claims J.1 to J.10 on networks that memorise random labels."""

from __future__ import annotations

from functools import partial

from priorscope.lab import Check, Claim, above, at_least, at_most, below, between, claimed, falling, rising
from priorscope.papers.jamming import _measures as measure

SOURCE = "Jamming transition as a paradigm to understand the loss landscape of deep networks (2019)"

CLAIMS = (
    Claim(
        "J.1",
        SOURCE,
        "N* grows in proportion to P on random data, the same at every depth",
        checks=(
            Check("slope of log N* over log P", measure.growth, claimed(1.0, within=0.15)),
            Check("P/N* at depth 3 over depth 2", measure.depth_ratio, claimed(1.0, within=0.25)),
        ),
        reach=("width", "n_train"),
    ),
    Claim(
        "J.2",
        SOURCE,
        "the transition lies at P/N between 2.8 and 2.9, and so N* is at most 4 P",
        measure=measure.position,
        expect=claimed(2.8, 2.9, within=0.3),
    ),
    Claim(
        "J.3",
        SOURCE,
        "unsatisfied patterns per weight jump from 0 to 0.7 or more, never below 0.25",
        checks=(
            Check("N_Δ/N close to the transition", measure.jump, between(0.65, 0.9)),
            Check("smallest N_Δ/N of a jammed run", measure.lowest_jammed, at_least(0.25)),
            Check("runs between the two sides", measure.between_the_sides, at_most(0)),
        ),
    ),
    Claim(
        "J.4",
        SOURCE,
        "H_p has as many negative as positive modes for ReLU, fewer for tanh",
        checks=(
            Check("N₋/N, ReLU", measure.negative_modes, claimed(0.5, within=0.05)),
            Check("largest N₋/N₊, tanh", measure.tanh_lopsided, below(1)),
        ),
        changes="of tanh it is asked that N₋ is below N₊, not that N₋/N is 0.43",
    ),
    Claim(
        "J.5",
        SOURCE,
        "H₀ is a delta at zero of weight N − N_Δ, a gap, and a bulk",
        checks=(
            Check("smallest over median eigenvalue, over that without a gap", measure.gap_over_bulk, above(1)),
            Check("smallest rank over N_Δ", partial(measure.rank, largest=False), at_least(0.9)),
            Check("largest rank over N_Δ", partial(measure.rank, largest=True), at_most(1.1)),
        ),
    ),
    Claim(
        "J.6",
        SOURCE,
        "spectra of H_p collapse in λ over the root of the loss",
        measure=measure.collapse,
        expect=below(1),
    ),
    Claim(
        "J.7",
        SOURCE,
        "overlaps and gaps follow power laws",
        checks=(
            Check("θ", partial(measure.exponent, name="theta"), claimed(0.3, within=0.1)),
            Check("γ", partial(measure.exponent, name="gamma"), claimed(0.2, within=0.1)),
        ),
        reach=("width", "n_train"),
    ),
    Claim(
        "J.8",
        SOURCE,
        "effective parameters are all parameters minus one per hidden ReLU neuron",
        measure=measure.unexplained,
        expect=at_most(0),
        changes="parameters that no pattern reaches are left out of the count too",
    ),
    Claim(
        "J.9",
        SOURCE,
        "patterns sit on cusps of ReLU in number proportional to N",
        measure=measure.cusps,
        expect=claimed(0.21, 0.25, within=0.06),
        reach=("width", "n_train"),
    ),
    Claim(
        "J.10",
        SOURCE,
        "a tenth of the Hessian's modes stays negative for ReLU, vanishing with time for tanh",
        checks=(
            Check("negative modes over N, ReLU", measure.negative_share, between(0.04, 0.16)),
            Check("tanh over ReLU", measure.tanh_over_relu, below(0.5)),
            Check("number with tanh, end minus early", partial(measure.tanh_later, what="number"), falling()),
            Check("lowest eigenvalue with tanh, end minus early", partial(measure.tanh_later, what="lowest"), rising()),
        ),
    ),
)
