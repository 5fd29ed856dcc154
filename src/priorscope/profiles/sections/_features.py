"""What learning features gains here, which directions of the input count, and what that says of networks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from priorscope.contracts import FeatureKernel, missing
from priorscope.data import Split
from priorscope.inference import FeatureMachine
from priorscope.judge import METRICS, Metric
from priorscope.probes import GradientOuterProduct, gradient_outer_product
from priorscope.profiles._candidates import Candidate
from priorscope.profiles._kind import Kind
from priorscope.profiles._scene import Paired, Scene
from priorscope.profiles.sections._section import Finding, Section

if TYPE_CHECKING:
    import altair as alt

    from priorscope.profiles._page_folded import Folded
    from priorscope.profiles._page_sections import Figures

__all__ = ["FEATURES", "Features"]

SHOWN = 5  # columns named in a sentence
MOST_INPUTS = 200  # numbers of an input up to which features are learnt
FEWEST = 40  # samples below which a quarter of them teaches nothing about directions


@dataclass(frozen=True)
class Features(Finding):
    """The directions that a kernel machine with features uses, and its error beside the same machine without.

    ``raced`` is the pair of rows of the race, where both took part; ``fall`` is the share of the left-out squared error that
    features take away on the ``samples`` looked at.
    """

    kernel: str
    fall: float
    samples: int
    product: GradientOuterProduct = field(repr=False)
    columns: tuple[str, ...] = field(repr=False)
    raced: Paired | None = None
    network: tuple[str, Paired] | None = None  # the best network, and the kernel machine beside it
    metric: Metric = METRICS["squared-error"]

    @property
    def helps(self) -> bool:
        """Whether features surely lower the error: of the race where both took part, else the left-out squared error."""
        return self.fall > 0 if self.raced is None else self.raced.lower

    def importances(self) -> list[tuple[str, float]]:
        """Columns with their share of the squared slope, largest first."""
        shares = self.product.importances.tolist()
        return sorted(zip(self.columns, shares, strict=True), key=lambda pair: -pair[1])

    def spoken(self) -> list[str]:
        """The first sentence, where features help."""
        return self.sentences()[:1] if self.helps else []

    def sentences(self) -> list[str]:
        """The gain with the directions, how many there are, and the best network beside the kernel machine."""
        p = self.product
        said = [
            f"{self._gain()}{self._directions()}.",
            f"The fitted function varies along about {p.effective_rank:.1f} of {p.dim} directions (participation ratio of its "
            f"average gradient outer product, {self.samples} samples).",
        ]
        if self.network is not None:
            name, both = self.network
            beside = "did better than" if both.lower else "did worse than" if both.higher else "is not told apart from"
            said.append(
                f"Networks learn features too: at {both.n:,} samples {name} {beside} the kernel machine of {self.kernel} "
                f"({self.metric.number(both.after)} and {self.metric.number(both.before)})."
            )
        return said

    def _gain(self) -> str:
        if self.raced is None:
            said = f"by {100 * self.fall:.0f} %" if self.fall > 0 else "not at all"
            kernel = _called(self.kernel)
            return f"Learning features lowers the left-out squared error of {kernel} {said} ({self.samples} samples)"
        r = self.raced
        errors = f"({self.metric.number(r.before)} without, {self.metric.number(r.after)} with, at {r.n:,} samples)"
        if self.helps:
            return f"Learning features lowers the error of {_called(self.kernel)} {errors}"
        if r.higher:
            return f"Learning features raises the error of {_called(self.kernel)} {errors}"
        return f"Learning features does not change the error of {_called(self.kernel)} by what can be told {errors}"

    def _directions(self) -> str:
        if len(self.product.input_shape) > 1:
            return "; the directions that count are in the pictures below"
        return (
            f"; these count: {', '.join(f'{name} ({100 * share:.0f} %)' for name, share in self.importances()[:SHOWN])}"
        )

    def plain(self) -> dict[str, object]:
        """Gain, importances, spectrum of M, the network beside the kernel, sentences."""
        return {
            "helps": self.helps,
            "kernel": self.kernel,
            "fall": self.fall,
            "samples": self.samples,
            "raced": None if self.raced is None else vars(self.raced),
            "effective_rank": self.product.effective_rank,
            "eigenvalues": self.product.eigenvalues[:20].tolist(),
            "importances": dict(self.importances()[:100]),
            "network": None if self.network is None else {"name": self.network[0], **vars(self.network[1])},
            "sentences": self.sentences(),
        }

    def chart(self) -> alt.TopLevelMixin:
        """Leading directions as pictures, or the importances of the first columns as bars."""
        import altair as alt
        import pandas as pd

        if len(self.product.input_shape) == 3:
            return self.product.modes_picture(4)
        table = pd.DataFrame(self.importances()[:15], columns=["input", "importance"])
        encoded = alt.Chart(table).mark_bar().encode(
            x=alt.X("importance:Q", title="share of the squared slope", axis=alt.Axis(format="%")),
            y=alt.Y("input:N", sort=None, title=None),
        )  # fmt: skip
        chart: alt.TopLevelMixin = encoded.properties(width=360)
        return chart

    def page(self, figure: Figures) -> Folded:
        """The sentences, and the directions as pictures or bars."""
        from priorscope.profiles._page_folded import Folded

        picture = figure(
            "features", self.chart(), "Directions of the input that the fitted function uses",
            f"Leading directions of the average gradient outer product M = E[∇f ∇fᵀ] of {_called(self.kernel)}",
        )  # fmt: skip
        return Folded("features", "Which directions count", self.sentences(), [picture])


def _called(kernel: str) -> str:
    """A kernel in a sentence.

    Example:
        >>> _called("laplace"), _called("fcn-3")
        ('the Laplace kernel', 'fcn-3')
    """
    return f"the {kernel.capitalize()} kernel" if kernel in ("laplace", "gaussian") else kernel


def _chosen(scene: Scene) -> Candidate | None:
    """The first kernel in the order of the table that can learn features of flat inputs."""
    for row in scene.rows:
        candidate = scene.records[row.name].contender.candidate
        if (
            candidate is not None
            and candidate.family in ("fcn", "laplace", "gaussian")
            and not missing(candidate.model, FeatureKernel)
        ):
            return candidate
    return None


def _fits(scene: Scene) -> bool:
    """Whether inputs are few enough, and samples enough, to learn features from."""
    return len(scene.index) >= FEWEST and scene.small.inputs[0].numel() <= MOST_INPUTS and _chosen(scene) is not None


def _measure(scene: Scene) -> Features | None:
    """Features learnt on the sample by the leading kernel."""
    candidate, x = _chosen(scene), scene.small.inputs.double()
    if candidate is None:
        return None
    model = candidate.model
    assert not missing(model, FeatureKernel)
    fit = FeatureMachine().fit(model, Split(x.flatten(1), torch.as_tensor(scene.pilot.targets)), scene.seed)  # type: ignore[arg-type]
    assert fit.plan is not None
    found = gradient_outer_product(fit, x.flatten(1))
    product = GradientOuterProduct(found.rows, tuple(x.shape[1:]), "the sample's predictor", found.unit)
    named = scene.small.columns
    columns = named if len(named) == product.dim else tuple(f"x{j}" for j in range(product.dim))
    fall = 1 - float(fit.plan.loss) / max(float(fit.plan.losses[0]), 1e-300) if fit.rounds else 0.0
    raced = scene.paired(candidate.name, f"{candidate.name} + features")
    first = next((row for row in scene.rows if row.kind is Kind.NETWORK), None)
    both = None if first is None else scene.paired(candidate.name, first.name)
    network = None if first is None or both is None else (first.name, both)
    return Features(candidate.name, fall, len(x), product, columns, raced, network, scene.metric)


FEATURES = Section("features", _measure, work=2.0, fits=_fits)
