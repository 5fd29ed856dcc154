"""Published results, one module each: a grid, one run, claims with expected values, a chart."""

from __future__ import annotations

import importlib

from priorscope.lab import Paper, Record
from priorscope.papers._announced import ANNOUNCED

__all__ = ["REGISTRY", "load", "load_all", "unclaimed"]

REGISTRY: dict[str, str] = {
    # name on the command line: module with the constant PAPER (imported on first use)
    "sphere-spectrum": "priorscope.papers.curse_of_dimensionality._sphere_spectrum",
    "forecast": "priorscope.validation._forecast",
    "profile-validity": "priorscope.validation._profile_validity",
    "spectral-bias": "priorscope.papers.spectral_bias._spectral_bias",
    "ntk-spectra": "priorscope.papers.spectral_bias._ntk_spectra",
    "symmetry": "priorscope.papers.curse_of_dimensionality._symmetry",
    "symmetry-width": "priorscope.papers.curse_of_dimensionality._width",
    "dide": "priorscope.papers.curse_of_dimensionality._dide",
    "rotated-sota": "priorscope.papers.curse_of_dimensionality._rotated_sota",
    "geometry-theory": "priorscope.papers.geometry._theory",
    "circles": "priorscope.papers.geometry._circles",
    "directions": "priorscope.papers.geometry._directions",
    "simplicity": "priorscope.papers.geometry._simplicity",
    "geometry-training": "priorscope.papers.geometry._training",
    "feature-removal": "priorscope.papers.geometry._feature_removal",
    "pruning": "priorscope.papers.geometry._pruning",
    "jamming": "priorscope.papers.jamming._jamming",
    "jamming-data": "priorscope.papers.jamming._data",
    "double-descent": "priorscope.papers.scaling._double_descent",
    "fluctuations": "priorscope.papers.scaling._fluctuations",
    "stripe": "priorscope.papers.training_regimes._stripe",
    "lazy-feature": "priorscope.papers.lazy_feature._lazy_feature",
    "lazy-feature-data": "priorscope.papers.lazy_feature._data",
    "phase-diagram": "priorscope.papers.training_regimes._phase_diagram",
}
"""Every paper by its name; the module is imported on first use.

Example:
    >>> all(module.startswith("priorscope.papers.") for module in REGISTRY.values())
    True
"""


def load(name: str) -> Paper:
    """The paper of a name.

    Example:
        >>> load("no-such-paper")
        Traceback (most recent call last):
        ...
        ValueError: there is no paper 'no-such-paper'; ...
    """
    if name not in REGISTRY:
        raise ValueError(f"there is no paper {name!r}; there are: {', '.join(sorted(REGISTRY)) or 'none yet'}.")
    paper: Paper = importlib.import_module(REGISTRY[name]).PAPER
    return paper


def load_all() -> list[Paper]:
    """All papers, in the order of the registry.

    Example:
        >>> len(load_all()) == len(REGISTRY)
        True
    """
    return [load(name) for name in REGISTRY]


def unclaimed(papers: list[Paper]) -> list[Record]:
    """Claims on our list that none of these papers reproduces yet, as ``not run``.

    A paper's ``S0.4`` or ``S0.4a`` stands for the announced ``S0.4``.

    Example:
        >>> unclaimed([])[0].id, unclaimed([])[0].verdict
        ('S0.1', 'not run')
    """
    claimed = {claim.id.rstrip("abcdefghijklmnopqrstuvwxyz") for paper in papers for claim in paper.claims}
    return [record for record in ANNOUNCED if record.id not in claimed]
