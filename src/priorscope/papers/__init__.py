"""Published results, one folder per publication: grids, runs, claims with what is expected, charts."""

from __future__ import annotations

import importlib
from dataclasses import replace

from priorscope.lab import Paper
from priorscope.loading import load_object

__all__ = ["REGISTRY", "load", "load_all"]

REGISTRY: dict[str, str] = {
    # name on the command line: module with the constant PAPER (imported on first use)
    "sphere-spectrum": "priorscope.papers.curse_of_dimensionality._sphere_spectrum",
    "forecast": "priorscope.validation.forecasts._forecast",
    "profile-validity": "priorscope.validation.profile_validity._profile_validity",
    "small-data": "priorscope.validation.small_data._small_data",
    "curve-bank": "priorscope.validation.curves._curve_bank",
    "curve-forecasts": "priorscope.validation.curves._curve_forecasts",
    "label-noise": "priorscope.validation.label_noise._label_noise",
    "spectral-bias": "priorscope.papers.spectral_bias._spectral_bias",
    "ntk-spectra": "priorscope.papers.spectral_bias._ntk_spectra",
    "symmetry": "priorscope.papers.curse_of_dimensionality._symmetry",
    "symmetry-accuracy": "priorscope.papers.curse_of_dimensionality._symmetry_accuracy",
    "symmetry-interventions": "priorscope.papers.curse_of_dimensionality._interventions",
    "symmetry-width": "priorscope.papers.curse_of_dimensionality._width",
    "symmetry-path": "priorscope.papers.curse_of_dimensionality._path",
    "dide": "priorscope.papers.curse_of_dimensionality._dide",
    "rotated-sota": "priorscope.papers.curse_of_dimensionality._rotated_sota",
    "geometry-theory": "priorscope.papers.geometry._theory",
    "circles": "priorscope.papers.geometry._circles",
    "directions": "priorscope.papers.geometry._directions",
    "simplicity": "priorscope.papers.geometry._simplicity",
    "geometry-alignment": "priorscope.papers.geometry._alignment",
    "geometry-training": "priorscope.papers.geometry._training",
    "geometry-variations": "priorscope.papers.geometry._variations",
    "feature-removal": "priorscope.papers.geometry._feature_removal",
    "pruning": "priorscope.papers.geometry._pruning",
    "jamming": "priorscope.papers.jamming._jamming",
    "jamming-data": "priorscope.papers.jamming._data",
    "double-descent": "priorscope.papers.scaling._double_descent",
    "norm-divergence": "priorscope.papers.scaling._norm",
    "fluctuations": "priorscope.papers.scaling._fluctuations",
    "stripe": "priorscope.papers.training_regimes._stripe",
    "lazy-feature": "priorscope.papers.lazy_feature._lazy_feature",
    "lazy-feature-data": "priorscope.papers.lazy_feature._data",
    "phase-diagram": "priorscope.papers.training_regimes._phase_diagram",
    "parity": "priorscope.papers.universality._parity",
    "sgd-universality": "priorscope.papers.universality._sgd",
    "early-stopping": "priorscope.papers.early_stopping._stopping",
    "early-stopping-steps": "priorscope.papers.early_stopping._steps",
    "jacobian-alignment": "priorscope.papers.early_stopping._alignment",
    "implicit-bias": "priorscope.papers.implicit_bias._geometry",
    "rich-kernel": "priorscope.papers.implicit_bias._rich_kernel",
    "matrix-completion": "priorscope.papers.implicit_bias._completion",
    "diffeo-phase": "priorscope.papers.diffeomorphisms._phase",
    "diffeo-start": "priorscope.papers.diffeomorphisms._start",
    "diffeo-stability": "priorscope.papers.diffeomorphisms._stability",
    "diffeo-performance": "priorscope.papers.diffeomorphisms._performance",
    "stripe-invariants": "priorscope.papers.diffeomorphisms._stripe_invariants",
    "memory-exact": "priorscope.papers.finite_memory._exact",
    "memory-learning": "priorscope.papers.finite_memory._learning",
    "necklace-conjecture": "priorscope.papers.finite_memory._conjecture",
    "teacher-student": "priorscope.papers.kernel_curves._teacher_student",
    "kernel-exponents": "priorscope.papers.kernel_curves._kernel_exponents",
    "effective-dimension": "priorscope.papers.kernel_curves._effective_dimension",
    "random-features": "priorscope.papers.width_limits._random_features",
    "parametrisations": "priorscope.papers.width_limits._parametrisations",
    "feature-ansatz": "priorscope.papers.features._ansatz",
    "feature-machines": "priorscope.papers.features._machines",
    "sgd-flow": "priorscope.papers.width_limits._sgd_flow",
    "equivariance-error": "priorscope.papers.equivariance._error",
    "spherical-mnist": "priorscope.papers.equivariance._spherical_mnist",
    "tetris": "priorscope.papers.equivariance._tetris",
    "shapes": "priorscope.papers.equivariance._shapes",
    "molecules": "priorscope.papers.equivariance._molecules",
    "folds": "priorscope.papers.equivariance._folds",
    "homogeneous": "priorscope.papers.equivariance._homogeneous",
    "invariant-kernels": "priorscope.papers.equivariance._invariant_kernels",
}
"""Every paper by its name; the module is imported on first use.

Example:
    >>> REGISTRY["circles"]
    'priorscope.papers.geometry._circles'
"""


def load(name: str) -> Paper:
    """The paper of a name, or one of your own: ``package.module:PAPER`` or ``folder/file.py:PAPER``.

    Example:
        >>> load("no-such-paper")
        Traceback (most recent call last):
        ...
        ValueError: there is no paper 'no-such-paper'; ...
    """
    if ":" in name:
        own = load_object(name)
        if not isinstance(own, Paper):
            raise ValueError(f"{name!r} is a {type(own).__name__}; a paper is a priorscope.lab.Paper.")
        if own.name in REGISTRY:
            raise ValueError(f"{name!r} has the name {own.name!r}, which a paper of the library has; choose another.")
        return replace(own, place=name)
    if name not in REGISTRY:
        raise ValueError(
            f"there is no paper {name!r}; there are: {', '.join(sorted(REGISTRY))}. One of your own is named "
            "package.module:PAPER or file.py:PAPER."
        )
    paper: Paper = importlib.import_module(REGISTRY[name]).PAPER
    return paper


def load_all() -> list[Paper]:
    """All papers, in the order of the registry.

    Example:
        >>> len(load_all()) == len(REGISTRY)
        True
    """
    return [load(name) for name in REGISTRY]
