"""The plane of temperature and cutoff: where fields move pixels, and where they fold."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from priorscope.checks import NOT_NEGATIVE, SEED, checked, each, whole
from priorscope.data.deformations._admissible import is_admissible
from priorscope.data.deformations._amplitude import mean_displacement
from priorscope.data.deformations._folding import fold_temperatures
from priorscope.data.deformations._modes import CUTOFF, ModeRule

__all__ = ["phase_grid"]


@checked(temperatures=each(NOT_NEGATIVE), cutoffs=each(CUTOFF), size=whole(3), n_fields=whole(), seed=SEED)
def phase_grid(
    temperatures: Sequence[float],
    cutoffs: Sequence[float],
    size: int,
    *,
    n_fields: int = 200,
    rule: ModeRule = "padded",
    seed: int = 0,
) -> pd.DataFrame:
    """One row per temperature and cutoff: displacements, the share of fields that do not fold, and whether both bounds are kept.

    ``image`` and ``centre`` are exact root mean square displacements in pixels; ``bijective`` is the share with Ξ < 1 and
    ``one_to_one`` that with a positive determinant, of the same ``n_fields`` fields at all temperatures; ``admissible``
    compares with the asymptotic bounds. Petrini et al. (2021), Fig. 1.

    Example:
        >>> found = phase_grid([1e-4, 1e-3, 1e-1], [3], size=32, n_fields=20)
        >>> found[["temperature", "admissible"]].to_numpy().tolist()
        [[0.0001, False], [0.001, True], [0.1, False]]
    """
    rows = []
    for c in cutoffs:
        folds = fold_temperatures(c, n_fields=n_fields, rule=rule, seed=seed)
        for T in temperatures:
            rows.append(
                {
                    "temperature": float(T),
                    "cutoff": c,
                    "image": mean_displacement(T, c, size, kind="image", rule=rule),
                    "centre": mean_displacement(T, c, size, kind="centre", rule=rule),
                    "stretch": folds.median_stretch(T) if T > 0 else 0.0,
                    "bijective": folds.share(T),
                    "one_to_one": folds.share(T, by="jacobian"),
                    "admissible": is_admissible(T, c, size),
                }
            )
    return pd.DataFrame(rows)
