"""Claims about training regimes (jamming, double descent, lazy and feature learning) this library means to decide."""

from __future__ import annotations

__all__ = ["REGIMES"]

JAMMING = "Jamming transition as a paradigm to understand the loss landscape of deep networks (2019)"
UNDER = "A jamming transition from under- to over-parametrization affects generalization in deep learning (2019)"
SCALING = "Scaling description of generalization with number of parameters in deep learning (2020)"
LAZY = "Disentangling feature and lazy training in deep neural networks (2020)"
DIAGRAM = "Landscape and training regimes in deep learning (2021)"

REGIMES: tuple[tuple[str, str, str, str], ...] = (
    ("J.1", JAMMING, "N* grows in proportion to P on random data, the same at every depth", "slope 1 ± 0.15"),
    ("J.2", JAMMING, "the transition lies at P/N between 2.8 and 2.9, and N* is at most 4 P", "2.85 ± 0.3"),
    ("J.3", JAMMING, "unsatisfied patterns per weight jump from 0 to 0.7 or more, never below 0.25", "0.7 to 0.85"),
    ("J.4", JAMMING, "H_p has as many negative as positive modes for ReLU, fewer for tanh", "N₋/N 0.5, tanh 0.43"),
    ("J.5", JAMMING, "H₀ is a delta at zero of weight N − N_Δ, a gap, and a bulk", "rank N_Δ, clear gap"),
    ("J.6", JAMMING, "spectra of H_p collapse in λ over the root of the loss", "rescaled spread below the raw one"),
    ("J.7", JAMMING, "overlaps and gaps follow power laws", "θ 0.3, γ 0.2"),
    ("J.8", JAMMING, "effective parameters are all parameters minus one per hidden ReLU neuron", "exact"),
    ("J.9", JAMMING, "patterns sit on cusps of ReLU in number proportional to N", "N_c/N 0.2 to 0.25"),
    (
        "J.10",
        JAMMING,
        "a tenth of the Hessian's modes stays negative for ReLU, vanishing with time for tanh",
        "10 % of N",
    ),
    ("J.11", JAMMING, "on MNIST's principal components N* is smaller and the jump is to half", "N_Δ/N 0.5"),
    (
        "J.12",
        UNDER,
        "the test error peaks at N*, and early stopping erases the peak",
        "above both neighbours by 2 errors",
    ),
    ("J.13", SCALING, "the norm of the predictor diverges towards the transition", "exponent -1 of N − N*"),
    (
        "L.1",
        LAZY,
        "the variance of the predictor over initialisations falls like one over the width in both regimes",
        "-1",
    ),
    ("L.2", SCALING, "the error of an ensemble approaches its limit like one over its size, flat beyond N*", "-1"),
    ("L.3", SCALING, "the excess error of one network falls like the root of its parameters", "-0.5"),
    ("L.4", SCALING, "the initial kernel fluctuates like h^-1/2; at unit scale it changes like 1/h", "-0.5 and -1"),
    ("L.5", LAZY, "lazy and feature training cross at an output scale like one over the root of the width", "-0.5"),
    (
        "L.6",
        LAZY,
        "the kernel's change has exponent 2L/(L+1) in the feature regime and 1 in the lazy one",
        "2L/(L+1), 1",
    ),
    ("L.7", LAZY, "the weights' change has exponent 1/(L+1) in the feature regime", "1/(L+1)"),
    ("L.8", LAZY, "the loss falls by half at a time in proportion to the rescaled output scale", "constant ratio"),
    ("L.9", LAZY, "initial velocities of outer weights, inner weights and pre-activations", "-0.5, -1, -0.5"),
    ("L.10", LAZY, "a lazy network is the flow of its frozen initial kernel", "distance below 1e-3"),
    ("L.11", LAZY, "regression with the final kernel performs like the network of the feature regime", "equal errors"),
    ("L.12", LAZY, "dense networks do better in the lazy regime, convolutional ones in the feature regime", "ordering"),
    (
        "L.13",
        LAZY,
        "without subtracting the initial output, training fails at large output scales",
        "worse by 5 points",
    ),
    ("L.14", DIAGRAM, "on the stripe, feature training beats lazy; compression grows like the root of P", "0.5"),
    ("L.15", DIAGRAM, "the jamming width depends on the rescaled output scale, larger in the lazy regime", "ordering"),
    ("L.16", DIAGRAM, "the kernel's top eigenvectors align with the labels in the feature regime", "growth"),
)
