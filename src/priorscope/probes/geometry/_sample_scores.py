"""Scores of training samples by the average geometry, and pruning by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import pandas as pd
import torch
from torch import Tensor

from priorscope.checks import SEED, number, whole
from priorscope.contracts import NetworkOptions, guarded
from priorscope.data import Dataset
from priorscope.printing import printed
from priorscope.probes.geometry import AverageGeometry, average_geometry
from priorscope.probes.geometry._draws import Drawn

if TYPE_CHECKING:
    import altair as alt

__all__ = ["SampleScores", "prune", "sample_scores"]


@printed
@dataclass(frozen=True)
class SampleScores:
    """Score (x/‖x‖)ᵀ G (x/‖x‖) of each training sample; a low score is a sample the model hardly sees.

    Example:
        >>> scores = SampleScores(torch.tensor([0.5, 2.0, 1.0]), "tiny")
        >>> scores.order().tolist()
        [0, 2, 1]
    """

    scores: Tensor
    name: str
    labels: Tensor | None = None

    def order(self) -> Tensor:
        """Row numbers, lowest score first."""
        return self.scores.argsort()

    def table(self) -> pd.DataFrame:
        """One row per training sample: its number, score and label."""
        labels = None if self.labels is None else self.labels.tolist()
        return pd.DataFrame({"sample": range(len(self.scores)), "score": self.scores.tolist(), "label": labels})

    def chart(self) -> alt.TopLevelMixin:
        """Histogram of the scores, by label where there are labels; of 5,000 random samples where there are more."""
        import altair as alt

        encoding: dict[str, alt.SchemaBase] = {
            "x": alt.X("score:Q").bin(maxbins=40),
            "y": alt.Y("count()", title="samples"),
        }
        if self.labels is not None:
            encoding["color"] = alt.Color("label:N")
        table = self.table()
        shown = table if len(table) <= 5000 else table.sample(5000, random_state=0)
        title = f"Scores of {self.name}" + ("" if len(shown) == len(table) else f" (5,000 of {len(table):,} samples)")
        base = alt.Chart(shown, title=title).mark_bar().encode(**encoding)
        chart: alt.TopLevelMixin = base.properties(width=420, height=240)
        return chart


@guarded(n_models=whole(2), seed=SEED)
def sample_scores(
    data: Dataset,
    model: Drawn | None,
    *,
    geometry: AverageGeometry | None = None,
    n_models: int = 500,
    seed: int = 0,
    **network: Unpack[NetworkOptions],
) -> SampleScores:
    r"""Score every training sample by :math:`(x/\|x\|)^T G\,(x/\|x\|)`, with G the average geometry of ``model``.

    G is measured with Gaussian probes unless ``geometry`` is given. Source: geometric invariance hypothesis paper, Sec. 5.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits("parity").subset(50)
        >>> len(sample_scores(data, ps.models.gap(depth=1), n_models=20, width=8).scores)
        50
    """
    if geometry is None:
        if model is None:
            raise ValueError("sample_scores needs a model or a geometry.")
        geometry = average_geometry(model, data.input_shape, n_models=n_models, seed=seed, **network)
    return SampleScores(geometry.score(data.inputs), data.name, data.train_labels)


@guarded(fraction=number(least=0, below=1), seed=SEED, n_models=whole())
def prune(
    data: Dataset,
    fraction: float,
    scores: SampleScores | Tensor | None = None,
    *,
    model: Drawn | None = None,
    by_class: bool = False,
    seed: int = 0,
    n_models: int = 500,
    **network: Unpack[NetworkOptions],
) -> Dataset:
    """The data set without the ``fraction`` of its training samples of lowest score.

    Scores are given, or those of ``model`` (of ``n_models`` networks with the options ``network``). With neither, random
    samples go: the control. ``by_class`` takes the same fraction from every class, so that the classes keep their shares;
    otherwise a class whose samples all score low can vanish.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits("parity").subset(50)
        >>> len(prune(data, 0.2, scores=data.inputs.flatten(1).norm(dim=1)).train)
        40
    """
    n = len(data.train)
    if n - round(n * fraction) < 2:
        raise ValueError(f"prune must leave 2 samples of {n}; got fraction = {fraction}.")
    if scores is None and model is not None:
        scores = sample_scores(data, model, n_models=n_models, seed=seed, **network)
    if scores is None:
        values = torch.rand(n, generator=torch.Generator().manual_seed(seed))
    else:
        values = scores.scores if isinstance(scores, SampleScores) else scores
        if values.shape != (n,):
            raise ValueError(f"prune needs one score per training sample ({n}); got shape {tuple(values.shape)}.")
    groups = [torch.arange(n)]
    if by_class:
        if data.train_labels is None:
            raise ValueError(f"prune by class needs labels, and {data.name} has none; leave by_class=False.")
        groups = [torch.nonzero(data.train_labels == c)[:, 0] for c in data.train_labels.unique()]
    kept = [rows[values[rows].argsort()[round(len(rows) * fraction) :]] for rows in groups]
    return data.take(torch.cat(kept).sort().values)
