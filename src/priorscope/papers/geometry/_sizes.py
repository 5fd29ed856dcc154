"""Source and sizes that the papers on input geometry share; no torch, so that claims are listed fast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from priorscope.lab import Metrics, NotMeasured

if TYPE_CHECKING:
    import pandas as pd

__all__: list[str] = []

SOURCE = "Geometric inductive biases of deep networks: the role of data and architecture"
WIDTHS = {
    "mlp": 100,
    "lenet": 6,
    "resnet": 4,
    "residual": 8,
    "normalised": 16,
}  # published: 100, 6 and, for ResNet18, 64
REDUCED = (
    "Reduced: 1×8×8 inputs, 640 samples (10 per dimension, as published), a residual network of three convolutions with "
    "global pooling in place of ResNet18"
)

NARROW = (
    "Reduced: 1×8×8 inputs, 640 samples (10 per dimension, as published), ResNet18 of width 4 without normalisation"
)


def sizes(scale: str) -> Metrics:
    """What all points of a scale share; ``n_train`` keeps the published ten samples per dimension."""
    return {
        "tiny": {"size": 8, "n_train": 64, "batch": 32, "n_models": 20},
        "small": {"size": 8, "n_train": 640, "batch": 32, "n_models": 1000},
        "paper": {"size": 32, "n_train": 10_000, "batch": 128, "n_models": 10_000},
    }[scale]


def models_of(scale: str) -> tuple[str, ...]:
    """The dense net, LeNet and, at the scale ``paper``, ResNet18; a small residual network stands in for it below."""
    return ("mlp", "lenet", "resnet" if scale == "paper" else "residual")


def width_of(name: str, scale: str) -> int:
    """Width of a model: the published one at the scale ``paper``, a ResNet18 of width 4 below."""
    return 64 if name in ("resnet", "normalised") and scale == "paper" else WIDTHS[name]


def rows_of(table: pd.DataFrame, part: str | None, model: str) -> pd.DataFrame:
    """The runs of a model (and part); "residual" is ResNet18 itself where that was run in its place."""
    names = ("residual", "resnet") if model == "residual" else (model,)
    rows = table[table["model"].isin(names)]
    if part is not None:
        rows = rows[rows["part"] == part]
    if rows.empty:
        raise NotMeasured(f"this scale has no {model}")
    if rows["model"].nunique() > 1:
        raise ValueError(
            f"{part or 'these'} runs have both {' and '.join(sorted(set(rows['model'])))}: name one of them."
        )
    return rows
