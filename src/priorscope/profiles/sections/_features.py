"""What learning features gains here, which directions of the input count, and what that says of networks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

from priorscope.data import Split
from priorscope.inference import FeatureMachine
from priorscope.models import laplace
from priorscope.probes import GradientOuterProduct, gradient_outer_product
from priorscope.profiles._kind import Kind
from priorscope.profiles._metric import Metric
from priorscope.profiles._scene import Scene
from priorscope.profiles.sections._section import Finding, Section
from priorscope.profiles.sources._features import MOST_INPUTS, NAME

if TYPE_CHECKING:
    import altair as alt

    from priorscope.profiles._page_folded import Folded
    from priorscope.profiles._page_sections import Figures
    from priorscope.profiles._row import Row

__all__ = ["FEATURES", "Features"]

FEWEST = 40  # samples of the pilot below which directions are not told
SHOWN = 5  # columns named in a sentence


@dataclass(frozen=True)
class Features(Finding):
    """The gain of the Laplace kernel on left-out rows of the pilot, M of the predictor, and networks beside their kernels."""

    gain: float
    samples: int
    helps: bool
    product: GradientOuterProduct = field(repr=False)
    columns: tuple[str, ...] = field(repr=False)
    held_out: tuple[int, float, float] | None = None  # size, error without and with features
    networks: tuple[int, int] = (0, 0)  # trained ones that beat their kernel, of how many
    metric: Metric = Metric.SQUARED_ERROR
    fits_better: bool = False  # whether the squared error falls

    def importances(self) -> list[tuple[str, float]]:
        """Columns with their share of the squared slope, largest first."""
        shares = self.product.importances.tolist()
        return sorted(zip(self.columns, shares, strict=True), key=lambda pair: -pair[1])

    def spoken(self) -> list[str]:
        """The first sentence, where features help."""
        return self.sentences()[:1] if self.helps else []

    def sentences(self) -> list[str]:
        """The gain with the directions, then what networks may expect, then what those trained here did."""
        said = [self._gain()]
        rank = (
            f"The fitted function varies along about {self.product.effective_rank:.1f} of {self.product.dim} directions"
        )
        said.append(f"{rank} (participation ratio of its average gradient outer product, {self.samples} samples).")
        said.append(
            "A network in the feature regime should be expected to beat its kernel here."
            if self.helps
            else "A network has little to gain over its kernel by learning features here."
        )
        better, every = self.networks
        if every:
            said[-1] += f" Of {every} networks trained on the pilot {better} did better than their kernel machines."
        return said

    def _gain(self) -> str:
        if not self.helps and not self.fits_better:
            return f"Learning features does not lower the error here (Laplace kernel, left-out rows of {self.samples} samples)."
        said = f"Learning features lowers the squared error of the Laplace kernel by {100 * self.gain:.0f} % here"
        said += f" (left-out rows of {self.samples} samples)"
        if not self.helps and self.held_out is not None:
            n, *values = self.held_out
            shown = [self.metric.number(v) for v in values]
            return f"{said}, but not its {self.metric.words} when trained on {n} ({shown[0]} without, {shown[1]} with)."
        if len(self.product.input_shape) > 1:
            return f"{said}; the relevant directions are in the pictures below."
        named = ", ".join(f"{name} ({100 * share:.0f} %)" for name, share in self.importances()[:SHOWN])
        return f"{said}; the relevant directions are these: {named}."

    def plain(self) -> dict[str, object]:
        """Gain, importances, spectrum of M, networks beside kernels, sentences."""
        size = {} if self.held_out is None else dict(zip(("n", "without", "with"), self.held_out, strict=True))
        return {
            "helps": self.helps,
            "gain": self.gain,
            "samples": self.samples,
            "held_out": size,
            "effective_rank": self.product.effective_rank,
            "eigenvalues": self.product.eigenvalues[:20].tolist(),
            "importances": dict(self.importances()[:100]),
            "networks_ahead": list(self.networks),
            "sentences": self.sentences(),
        }

    def chart(self) -> alt.TopLevelMixin:
        """Leading directions as pictures, or the importances of the first columns as bars."""
        import altair as alt
        import pandas as pd

        if len(self.product.input_shape) == 3:
            return self.product.modes_picture(4)
        table = pd.DataFrame(self.importances()[:15], columns=["input", "importance"])
        bars = alt.Chart(table).mark_bar()
        encoded = bars.encode(
            x=alt.X("importance:Q", title="share of the squared slope", axis=alt.Axis(format="%")),
            y=alt.Y("input:N", sort=None, title=None),
        )
        chart: alt.TopLevelMixin = encoded.properties(width=360)
        return chart

    def page(self, figure: Figures) -> Folded:
        """The sentences, and the directions as pictures or bars."""
        from priorscope.profiles._page_folded import Folded

        picture = figure(
            "features",
            self.chart(),
            "Directions of the input that the fitted function uses",
            "Leading directions of the average gradient outer product M = E[∇f ∇fᵀ] of the Laplace kernel "
            + ("with learnt features" if self.helps else "without features"),
        )
        return Folded("features", "Which directions count", self.sentences(), [picture])


def _measure(scene: Scene) -> Features | None:
    """Features learnt on the first draw; None where there are too many inputs or too few samples."""
    view = scene.view
    x = view.draw(0)
    if len(x) < FEWEST or x[0].numel() > MOST_INPUTS:
        return None
    targets = torch.as_tensor(np.asarray(view.truth.targets[: len(x)]), dtype=torch.float64)
    fit = FeatureMachine().fit(laplace(), Split(x.double().flatten(1), targets), scene.seed)
    assert fit.plan is not None
    found = gradient_outer_product(fit, x.double().flatten(1))
    product = GradientOuterProduct(found.rows, tuple(x.shape[1:]), "the pilot's predictor", found.unit)
    named = view.small.columns
    names = named if len(named) == product.dim else tuple(f"x{j}" for j in range(product.dim))
    gain = 1 - fit.plan.loss / max(fit.plan.losses[0], 1e-300)
    held = _held_out(scene.rows)
    helps = fit.rounds > 0 and (held is None or held[2] < held[1])
    said = (held, _networks(scene.rows), scene.metric, fit.rounds > 0)
    return Features(gain, len(x), helps, product, names, *said)


def _held_out(rows: tuple[Row, ...]) -> tuple[int, float, float] | None:
    """Errors of both rows at the largest size at which both were measured."""
    by_name = {row.name: row for row in rows}
    if NAME not in by_name or "laplace" not in by_name:
        return None
    curves = [dict(zip(by_name[n].curve.sizes.tolist(), by_name[n].curve.measured.tolist())) for n in ("laplace", NAME)]
    shared = sorted(set(curves[0]) & set(curves[1]))
    return None if not shared else (int(shared[-1]), float(curves[0][shared[-1]]), float(curves[1][shared[-1]]))


def _networks(rows: tuple[Row, ...]) -> tuple[int, int]:
    """How many trained networks have a lower estimate than the kernel machine of their architecture, and how many there are."""
    kernels = {row.architecture: row for row in rows if row.kind is Kind.KERNEL and row.name == row.architecture}
    pairs = [
        (row, kernels[row.architecture]) for row in rows if row.kind is Kind.NETWORK and row.architecture in kernels
    ]
    return sum(net.estimate.value < kernel.estimate.value for net, kernel in pairs), len(pairs)


FEATURES = Section("features", _measure, work=2.0)
