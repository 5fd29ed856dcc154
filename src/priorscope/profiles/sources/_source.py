"""Where candidates beyond the default ones come from: each source looks at what was measured and offers more rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sklearn.base import BaseEstimator

from priorscope.profiles._candidates import Candidate
from priorscope.profiles._kind import Kind
from priorscope.profiles._scene import Scene

__all__ = ["EstimatorOffer", "Offer", "Source"]


@dataclass(frozen=True)
class EstimatorOffer:
    """A row whose predictor is an estimator of scikit-learn's kind, fitted anew on every part of the pilot.

    For predictors whose kernel depends on the labels they are trained on, or that have no kernel. ``settings`` are tried at
    every size and the best is kept; ``like`` names the kernel machine whose curve guides the forecast and whose architecture
    the row shows (None: the best one guides); ``native``: it takes inputs at their own size, not as kernels see them.
    ``scaled``: what is built standardises inputs first, as the pilot's are.

    Example:
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> EstimatorOffer("neighbours", "the label of near samples", (KNeighborsClassifier(),), Kind.CLASSICAL).like is None
        True
    """

    name: str
    words: str
    settings: tuple[BaseEstimator, ...] = field(repr=False)
    kind: Kind = Kind.KERNEL
    of: str = ""
    like: str | None = None
    native: bool = False
    scaled: bool = True


Offer: TypeAlias = Candidate | EstimatorOffer


@dataclass(frozen=True)
class Source:
    """A name and a function from what was measured so far to more candidates: those with a kernel, or estimators.

    Sources are asked one after another once the default candidates are measured, each with the rows of those before it; an
    empty list is a fine answer. They are not asked where the user names the candidates.

    Example:
        >>> Source("none", lambda scene: []).name
        'none'
    """

    name: str
    offer: Callable[[Scene], Sequence[Offer]] = field(repr=False)
