"""What learning features gains here, which directions of the input count, and what that says of networks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from priorscope.probes import GradientOuterProduct, gradient_outer_product
from priorscope.profiles._feature_trials import FeatureTrial, feature_trials
from priorscope.profiles._kind import Kind
from priorscope.profiles._metric import Metric
from priorscope.profiles._scene import Scene
from priorscope.profiles.sections._section import Finding, Section
from priorscope.profiles.sources._features import row_name

if TYPE_CHECKING:
    import altair as alt

    from priorscope.profiles._page_folded import Folded
    from priorscope.profiles._page_sections import Figures
    from priorscope.profiles._row import Row

__all__ = ["FEATURES", "Features"]

SHOWN = 5  # columns named in a sentence


@dataclass(frozen=True)
class Features(Finding):
    """The gain of a kernel on left-out rows of the pilot, M of the predictor, and networks beside their kernels.

    ``kernel`` is the best one whose features pay; ``tried`` has every kernel that was tried with its gain.
    """

    kernel: str
    gain: float
    samples: int
    helps: bool
    product: GradientOuterProduct = field(repr=False)
    columns: tuple[str, ...] = field(repr=False)
    held_out: tuple[int, float, float] | None = None  # rows, error without and with features
    trained: bool = False  # whether those rows were trained on (a row of the table), or are left-out ones
    networks: tuple[int, int] = (0, 0)  # trained ones that beat their kernel, of how many
    metric: Metric = Metric.SQUARED_ERROR
    fits_better: bool = False  # whether the squared error falls
    tried: tuple[tuple[str, float], ...] = ()

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
        better, every = self.networks
        if self.helps and every and not better:
            said.append(
                "A network in the feature regime could gain over its kernel here, yet none of the "
                f"{every} trained on the pilot did better than its kernel machine."
            )
            return said
        said.append(
            "A network in the feature regime should be expected to beat its kernel here."
            if self.helps
            else "A network has little to gain over its kernel by learning features here."
        )
        if every:
            said[-1] += f" Of {every} networks trained on the pilot {better} did better than their kernel machines."
        return said

    def _gain(self) -> str:
        """What features gain, and along which directions; or what they do not."""
        left_out = f"left-out rows of {self.samples} samples"
        if not self.helps and not self.fits_better:
            return f"Learning features does not lower the error here ({', '.join(name for name, _ in self.tried)}; {left_out})."
        said = f"Learning features lowers the squared error of {_called(self.kernel)} by {100 * self.gain:.0f} % here"
        others = [f"of {name} by {100 * gain:.0f} %" for name, gain in self.tried if name != self.kernel and gain > 0]
        said += f" ({'; '.join([left_out, *others])})"
        if not self.helps and self.held_out is not None:
            n, *values = self.held_out
            shown = [self.metric.number(v) for v in values]
            where = f" when trained on {n}" if self.trained else ""
            return f"{said}, but not its {self.metric.words}{where} ({shown[0]} without, {shown[1]} with)."
        if len(self.product.input_shape) > 1:
            return f"{said}; the relevant directions are in the pictures below."
        named = ", ".join(f"{name} ({100 * share:.0f} %)" for name, share in self.importances()[:SHOWN])
        return f"{said}; the relevant directions are these: {named}."

    def plain(self) -> dict[str, object]:
        """Gain, importances, spectrum of M, networks beside kernels, sentences."""
        size = {} if self.held_out is None else dict(zip(("n", "without", "with"), self.held_out, strict=True))
        return {
            "helps": self.helps,
            "kernel": self.kernel,
            "tried": dict(self.tried),
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
            "Leading directions of the average gradient outer product M = E[∇f ∇fᵀ] of "
            + _called(self.kernel)
            + (" with learnt features" if self.fits_better else " without features"),
        )
        return Folded("features", "Which directions count", self.sentences(), [picture])


def _called(kernel: str) -> str:
    """A kernel in a sentence.

    Example:
        >>> _called("laplace"), _called("fcn-3")
        ('the Laplace kernel', 'fcn-3')
    """
    return f"the {kernel.capitalize()} kernel" if kernel in ("laplace", "gaussian") else kernel


def _measure(scene: Scene) -> Features | None:
    """The best trial whose features pay, else the best; None where there are too many inputs or too few samples."""
    trials = feature_trials(scene)
    if not trials:
        return None
    best = min(trials, key=lambda trial: (not trial.pays, not trial.fit.rounds, trial.losses[1]))
    x = scene.view.draw(0)
    found = gradient_outer_product(best.fit, x.double().flatten(1))
    product = GradientOuterProduct(found.rows, tuple(x.shape[1:]), "the pilot's predictor", found.unit)
    named = scene.view.small.columns
    names = named if len(named) == product.dim else tuple(f"x{j}" for j in range(product.dim))
    held, trained = _held_out(scene, best)
    return Features(
        best.name,
        best.gain,
        len(x),
        best.pays and held[2] < held[1],
        product,
        names,
        held,
        trained,
        _networks(scene.rows),
        scene.metric,
        best.fit.rounds > 0,
        tuple((trial.name, trial.gain if trial.fit.rounds else 0.0) for trial in trials),
    )


def _held_out(scene: Scene, trial: FeatureTrial) -> tuple[tuple[int, float, float], bool]:
    """Errors of both rows at the largest size at which both were measured; without a row, those of the trial's left-out rows."""
    by_name = {row.name: row for row in scene.rows}
    pair = [by_name.get(name) for name in (trial.name, row_name(trial.name))]
    curves = [dict(zip(row.curve.sizes.tolist(), row.curve.measured.tolist())) for row in pair if row is not None]
    shared = sorted(set(curves[0]) & set(curves[1])) if len(curves) == 2 else []
    if shared:
        return (int(shared[-1]), float(curves[0][shared[-1]]), float(curves[1][shared[-1]])), True
    unit = {Metric.RMSE: scene.view.truth.unit, Metric.R2: scene.view.truth.variance**-0.5}.get(scene.metric, 1.0)
    left = [loss * unit**2 for loss in trial.losses]
    left = [loss**0.5 for loss in left] if scene.metric is Metric.RMSE else left
    return (len(scene.view.draw(0)), left[0], left[1]), False


def _networks(rows: tuple[Row, ...]) -> tuple[int, int]:
    """How many trained networks have a lower estimate than the kernel machine of their architecture, and how many there are."""
    kernels = {row.architecture: row for row in rows if row.kind is Kind.KERNEL and row.name == row.architecture}
    pairs = [
        (row, kernels[row.architecture]) for row in rows if row.kind is Kind.NETWORK and row.architecture in kernels
    ]
    return sum(net.estimate.value < kernel.estimate.value for net, kernel in pairs), len(pairs)


FEATURES = Section("features", _measure, work=2.0)
