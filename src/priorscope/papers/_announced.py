"""Claims this library means to decide. Each leaves this list by itself when a registered paper takes its id."""

from __future__ import annotations

from priorscope.lab import Record
from priorscope.papers._announced_regimes import REGIMES

__all__ = ["ANNOUNCED"]

_SYMMETRY = "What breaks the curse of dimensionality in deep learning?"
_SPECTRAL = "Spectral bias outside the training set"
_GEOMETRY = "Geometric invariance hypothesis"

_LINES: tuple[tuple[str, str, str, str], ...] = (
    (
        "S0.1",
        _SYMMETRY,
        "infinite-width kernels have the invariance groups of the table, and no larger ones",
        "kernel change at most 1e-5 inside the group, at least 1e-2 outside",
    ),
    (
        "S0.2",
        _SYMMETRY,
        "finite networks have the invariance groups of the table, by exact coupling",
        "prediction change at most 1e-4 after 100 training steps or more",
    ),
    (
        "S0.3",
        _SYMMETRY,
        "GAP is contained in VEC, VEC in LCN, and LCN in a wider VEC",
        "largest difference at most 1e-5 for the three embeddings, depth 2 or more",
    ),
    (
        "S0.4",
        f"{_SYMMETRY}, Fig. 1",
        "a group inside a system's symmetry leaves its accuracy; a larger one brings it down to "
        "the system that has that symmetry",
        "VEC under O(c)^d like LCN, anything under O(cd) like FCN",
    ),
    (
        "S0.5",
        f"{_SYMMETRY}, Fig. 1",
        "large learning rates and L2 separate VEC under O(c) from VEC under O(c)^d; MixUp closes VEC to GAP",
        "ordering of means with error bars",
    ),
    (
        "S0.6",
        f"{_SYMMETRY}, Fig. 2",
        "with growing width VEC loses accuracy, leaves the mean of GAP and approaches infinite width",
        "monotone over 4 widths and 4 path lengths",
    ),
    (
        "S0.7",
        f"{_SYMMETRY}, eq. 8",
        "the empirical tangent kernel approaches its limit like one over the root of the width",
        "-0.5 ± 0.1",
    ),
    (
        "S0.8",
        f"{_SYMMETRY}, Fig. 3",
        "the local exponent of the learning curve rises with the data for finite VEC only",
        "exponent at large m above that at small m for VEC alone",
    ),
    (
        "S0.9",
        f"{_SYMMETRY}, Thm 4.1 and Fig. 5",
        "spectra of FCN, VEC and GAP on products of spheres follow the theorem",
        "eigenvalues and multiplicities match; scaling exponents within 10 %",
    ),
    (
        "S0.10",
        f"{_SYMMETRY}, Fig. 4",
        "strong models lose little under a rotation per pixel and catch up with data",
        "small gap, closing with data",
    ),
    (
        "S2.1",
        _SPECTRAL,
        "the residual obeys its evolution equation on training and test points",
        "to integrator tolerance",
    ),
    (
        "S2.2",
        _SPECTRAL,
        "projections of the test residual decay at the rates of the eigenvalues",
        "rate ratio 1 within 10 %",
    ),
    ("S2.3", f"{_SPECTRAL}, Thm 1", "the deviation from the ideal dynamics stays under the bound", "never violated"),
    ("S2.4", _SPECTRAL, "the bias is stronger along the top eigenfunctions", "deviation grows with the index"),
    (
        "S2.5",
        _SPECTRAL,
        "the kernel at initialisation approaches its limit like one over the root of the width, for dense, "
        "convolutional and residual networks",
        "-0.5 ± 0.1",
    ),
    (
        "S2.6",
        _SPECTRAL,
        "a width in proportion to the samples is enough at early times",
        "deviation falls as both grow together",
    ),
    (
        "S2.7",
        f"{_SPECTRAL}, Fig. 2",
        "the spectrum of the tangent kernel on images is heavily skewed",
        "a handful of outliers, then a power-law tail",
    ),
    (
        "S2.8",
        _SPECTRAL,
        "the ideal residual falls like 1/t for targets in the kernel's space, like a power of t otherwise",
        "fitted exponents for chosen smoothness",
    ),
    ("S2.9", _SPECTRAL, "antisymmetric initialisation gives zero output and leaves the kernel", "to round-off"),
    (
        "S4.1",
        _GEOMETRY,
        "linear model and one-hidden-layer ReLU network: the geometry moves along -S",
        "|correlation| to 1",
    ),
    ("S4.2", _GEOMETRY, "linear convolution with pooling: the geometry moves along G S G", "|correlation| to 1"),
    (
        "S4.3",
        _GEOMETRY,
        "the first movement of the geometry does not depend on the labels",
        "equal within sampling error",
    ),
    (
        "S4.4",
        _GEOMETRY,
        "G is a multiple of the identity for dense nets and circular convolutions without pooling",
        "off-diagonal over diagonal falls at the sampling rate",
    ),
    (
        "S4.5",
        _GEOMETRY,
        "G is strongly structured for LeNet, ResNet and ViT",
        "spread of eigenvalues far above the dense net's",
    ),
    (
        "S4.6",
        _GEOMETRY,
        "the correlation of G with G S G rises early in training and lies above that with S",
        "sign and ordering of curves",
    ),
    (
        "S4.7",
        _GEOMETRY,
        "training is far slower on data with the flipped geometry, but not for the dense net",
        "ordering",
    ),
    (
        "S4.8",
        _GEOMETRY,
        "ResNet learns circles only in planes of the top eigenspace of G; the dense net in any",
        "accuracy about 1 against chance",
    ),
    (
        "S4.9",
        _GEOMETRY,
        "accuracy falls with the eigen-index of the direction, faster for curved targets",
        "rank correlation, p < 0.01",
    ),
    (
        "S4.10",
        _GEOMETRY,
        "simplicity bias holds only when both features are equally aligned with G",
        "the two accuracies cross",
    ),
    (
        "S4.11",
        _GEOMETRY,
        "removing features by (G, S) hurts less than removing random directions of equal variance",
        "gap above error bars",
    ),
    ("S4.12", _GEOMETRY, "pruning samples of low score beats random pruning", "positive mean gap"),
    ("S4.13", _GEOMETRY, "the effect is not one of over-parametrisation, data size or learning rate", "same ordering"),
)

ANNOUNCED = tuple(
    Record(id=id_, source=source, says=says, expected=expected) for id_, source, says, expected in (*_LINES, *REGIMES)
)
"""The announced claims, as ``not run`` records.

Example:
    >>> len(ANNOUNCED)
    61
"""
