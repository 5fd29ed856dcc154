"""The claims L.1, L.4 to L.11, L.13 and L.16."""

from __future__ import annotations

from functools import partial

from priorscope.lab import Check, Claim, Expectation, above, below, between, claimed, falling, near, rising
from priorscope.papers.lazy_feature import _measures as measure

SOURCE = "Disentangling feature and lazy training in deep neural networks (2020)"
SCALING = "Scaling description of generalization with number of parameters in deep learning (2020)"
DIAGRAM = "Landscape and training regimes in deep learning (2021)"
ENDS = ("lowest", "highest")
DEPTHS = (1, 2, 3)


def _by_depth(name: str, exponents: dict[int, float], within: float) -> tuple[Check, ...]:
    """Checks that the exponent in the feature regime, lowest and highest of all widths, is near the prediction at every depth."""
    return tuple(
        Check(
            f"depth {depth}, {end}",
            partial(measure.scale_exponent, name=name, side="feature", end=end, depth=depth),
            claimed(exponents[depth], within=within * exponents[depth]),
        )
        for depth in DEPTHS
        for end in ENDS
    )


def _speeds(of: str, words: str, expect: Expectation) -> tuple[Check, ...]:
    return tuple(Check(f"{words}, {end}", partial(measure.speed_exponent, of=of, end=end), expect) for end in ENDS)


CLAIMS = (
    Claim(
        "L.1",
        SOURCE,
        "the variance of the predictor over initialisations falls like one over the width in both regimes",
        checks=(
            Check("exponent, feature", partial(measure.variance_exponent, side="feature"), claimed(-1.0, within=0.2)),
            Check("exponent, lazy", partial(measure.variance_exponent, side="lazy"), claimed(-1.0, within=0.2)),
        ),
        reach=("width",),
    ),
    Claim(
        "L.4",
        SCALING,
        "the initial kernel fluctuates like h^-1/2; at unit scale it changes like 1/h",
        checks=(
            Check("exponent of the fluctuation", measure.kernel_noise_exponent, claimed(-0.5, within=0.1)),
            Check("exponent of the change", measure.kernel_change_exponent, claimed(-1.0, within=0.2)),
        ),
    ),
    Claim(
        "L.5",
        SOURCE,
        "lazy and feature training cross at an output scale like one over the root of the width",
        checks=(
            Check("exponent of α*", measure.crossover_exponent, claimed(-0.5, within=0.1)),
            *(Check(f"√h α*, {end}", partial(measure.crossover_scale, end=end), between(0.1, 10)) for end in ENDS),
        ),
        reach=("width",),
    ),
    Claim(
        "L.6",
        SOURCE,
        "the kernel's change has exponent 2L/(L+1) in the feature regime and 1 in the lazy one",
        checks=(
            *_by_depth("kernel_change", {L: 2 * L / (L + 1) for L in DEPTHS}, 0.1),
            *(
                Check(
                    f"lazy, {end}",
                    partial(measure.scale_exponent, name="kernel_change", side="lazy", end=end),
                    claimed(1.0, within=0.05),
                )
                for end in ENDS
            ),
        ),
    ),
    Claim(
        "L.7",
        SOURCE,
        "the weights' change has exponent 1/(L+1) in the feature regime",
        checks=_by_depth("weight_change", {L: 1 / (L + 1) for L in DEPTHS}, 0.2),
    ),
    Claim(
        "L.8",
        SOURCE,
        "the loss falls by half at a time in proportion to the rescaled output scale in the feature regime, at depth 2 and 3",
        checks=tuple(
            Check(
                f"exponent, depth {depth}, {end}",
                partial(measure.half_time_exponent, depth=depth, end=end),
                claimed(1.0, within=0.1),
            )
            for depth in (2, 3)
            for end in ENDS
        ),
    ),
    Claim(
        "L.9",
        SOURCE,
        "initial velocities of outer weights, inner weights and pre-activations",
        checks=(
            *_speeds("outer", "outer weights", claimed(-0.5, within=0.1)),
            *_speeds("inner", "inner weights", claimed(-1.0, within=0.1)),
            *_speeds("units", "pre-activations", claimed(-0.5, within=0.1)),
        ),
    ),
    Claim(
        "L.10",
        SOURCE,
        "a lazy network is the flow of its frozen initial kernel",
        measure=measure.lazy_distance,
        expect=below(1e-3),
    ),
    Claim(
        "L.11",
        SOURCE,
        "regression with the final kernel performs like the network of the feature regime",
        checks=(
            Check("error minus the network's", measure.final_kernel_error, near(0.0, within=0.01)),
            Check("distance of outputs minus that of the initial kernel", measure.final_kernel_nearer, falling()),
        ),
    ),
    Claim(
        "L.13",
        SOURCE,
        "without subtracting the initial output, training fails at large output scales",
        measure=measure.excess_without_offset,
        expect=above(0.05),
    ),
    Claim(
        "L.16",
        DIAGRAM,
        "the kernel's top eigenvectors align with the labels in the feature regime",
        checks=(
            Check("gain of the labels' part", measure.label_share_growth, rising()),
            Check("largest change when lazy over that gain", measure.label_share_lazy, below(0.1)),
        ),
    ),
)
