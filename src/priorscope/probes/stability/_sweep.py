"""Stability against the size and smoothness of deformations, and against the size of noise."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from torch import Tensor

from priorscope.checks import POSITIVE, SEED, each, number, whole
from priorscope.contracts import LabelledData, guarded
from priorscope.data import Deform
from priorscope.data.deformations import FoldWarning, Interpolation
from priorscope.printing import printed
from priorscope.probes.stability._family import Family
from priorscope.probes.stability._response import Average, respond, sphere_noise
from priorscope.probes.stability._result import Stability, log_interval
from priorscope.probes.stability._stability import network_dtype, stability
from priorscope.probes.stability._subject import Subject, images_of, networks_of

if TYPE_CHECKING:
    import altair as alt

__all__ = ["StabilitySweep", "noise_sweep", "one_row", "stability_sweep"]


@printed
@dataclass(frozen=True)
class StabilitySweep:
    """Stability along one setting: a tidy frame with D, G, R and their intervals, the column ``along``, and lines by ``by``.

    Example:
        >>> frame = pd.DataFrame({"delta": [0.5, 1.0], "R": [1.0, 0.9], "R_low": [0.8, 0.8], "R_high": [1.2, 1.0]})
        >>> StabilitySweep(frame, "delta", "displacement δ in pixels").table().shape
        (2, 4)
    """

    frame: pd.DataFrame
    along: str
    title: str
    by: str | None = None
    of: str = "R"
    words: str = "relative stability R"

    def table(self) -> pd.DataFrame:
        """One row per setting."""
        return self.frame

    def chart(self) -> alt.TopLevelMixin:
        """The number with its interval along the setting, on log axes."""
        import altair as alt

        frame = self.frame[(self.frame[self.along] > 0) & (self.frame[self.of] > 0)]
        low, high = frame[f"{self.of}_low"], frame[f"{self.of}_high"]
        known = np.isfinite(low) & np.isfinite(high) & (low > 0)
        frame = frame.assign(low=low.where(known, frame[self.of]), high=high.where(known, frame[self.of]))
        log = alt.Scale(type="log", nice=False)
        x = alt.X(f"{self.along}:Q", title=self.title, scale=log)
        y = alt.Y(f"{self.of}:Q", title=self.words, scale=alt.Scale(type="log"))
        base = alt.Chart(frame)
        ends = base.mark_rule().encode(x, alt.Y("low:Q", scale=alt.Scale(type="log")), alt.Y2("high:Q"))
        drawn = base.mark_line(point=True).encode(x, y, tooltip=list(self.frame.columns))
        if self.by is not None:
            ends, drawn = ends.encode(color=f"{self.by}:N"), drawn.encode(color=alt.Color(f"{self.by}:N"))
        one = alt.Chart(pd.DataFrame({self.of: [1.0]})).mark_rule(strokeDash=[4, 4]).encode(y=f"{self.of}:Q")
        layers = (one + ends + drawn) if self.of == "R" else ends + drawn
        picture: alt.TopLevelMixin = layers.properties(width=400, height=260)
        return picture


def one_row(found: Stability) -> dict[str, object]:
    """D, G and R of the output with their intervals, as columns."""
    row = found.table().iloc[-1]
    return {str(name): row[name] for name in found.table().columns if name not in ("layer", "depth")}


@guarded(deltas=each(POSITIVE), cutoffs=each(number(least=1)))
def stability_sweep(
    model: Subject,
    data: LabelledData | Tensor,
    deltas: Sequence[float] = (0.1, 0.3, 1.0, 3.0),
    cutoffs: Sequence[float] = (3,),
    interpolations: Sequence[Interpolation] = ("bilinear",),
    **settings: Any,
) -> StabilitySweep:
    """Stability to deformations of several sizes, cutoffs and ways of reading between pixels, on the same images.

    ``settings`` are those of :func:`stability`. The column ``admissible`` says whether the fields are deformations:
    pixels move by half a pixel or more, and few images fold. Petrini et al. (2021), Fig. 3, left: R does not depend on the
    reading from δ ≈ 1 on.

    Example:
        >>> import priorscope as ps
        >>> found = stability_sweep(ps.models.fcn(1), ps.data.digits(), [0.4, 0.7], [2], n_images=50, n_seeds=2, width=16)
        >>> found.table()[["delta", "cutoff", "admissible"]].to_numpy().tolist()
        [[0.4, 2, False], [0.7, 2, True]]
    """
    rows = []
    for c in cutoffs:
        for reading in interpolations:
            for delta in deltas:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", FoldWarning)  # the column says so
                    found = stability(model, data, Deform(delta, c, interpolation=reading), **settings)
                given = {"delta": delta, "cutoff": c, "interpolation": reading, "admissible": not found.notes}
                rows.append({**given, **one_row(found)})
    frame = pd.DataFrame(rows)
    by = "cutoff" if len(set(cutoffs)) > 1 else "interpolation" if len(set(interpolations)) > 1 else None
    if len(set(cutoffs)) > 1 and len(set(interpolations)) > 1:
        frame["fields"] = [f"cutoff {c:g}, {reading}" for c, reading in zip(frame.cutoff, frame.interpolation)]
        by = "fields"
    return StabilitySweep(frame, "delta", "displacement δ in pixels", by)


@guarded(radii=each(POSITIVE), n_images=whole(2), n_seeds=whole(), seed=SEED)
def noise_sweep(
    model: Subject,
    data: LabelledData | Tensor,
    radii: Sequence[float],
    *,
    average: Average = "median",
    n_images: int = 500,
    n_seeds: int = 3,
    seed: int = 0,
    **network: Any,
) -> StabilitySweep:
    r"""Stability G to noise uniform on spheres of several radii; :math:`G\propto r^2` where the network is linear at that size.

    The column ``slope`` is that of log G against log r from the radius before. Petrini et al. (2021), Appendix D.

    Example:
        >>> import priorscope as ps
        >>> found = noise_sweep(ps.models.fcn(1), ps.data.digits(), [1e-3, 1e-2], n_images=50, n_seeds=2, width=16)
        >>> round(float(found.table().slope.iloc[1]), 2)
        2.0
    """
    images, outputs = images_of(data, n_images, seed)
    _, networks = networks_of(model, tuple(images.shape[1:]), outputs, n_seeds, seed, **network)
    rows: list[dict[str, object]] = []
    for r in radii:
        # a family of noise: moves and noise have the same law, so that D and G do too
        noise = Family("noise", lambda x, s, r=r: x + sphere_noise(x, r, s), lambda x: x)  # type: ignore[misc]
        values = []
        for k, one in enumerate(networks):
            x = images.to(network_dtype(one, images))
            values.append(respond(one, x, noise, average=average, seed=seed + 7919 * k).move_stability[-1])
        found = log_interval(np.array(values))
        rows.append({"radius": float(r), "G": found.value, "G_low": found.low, "G_high": found.high})
    frame = pd.DataFrame(rows)
    frame["slope"] = np.log(frame.G).diff() / np.log(frame.radius).diff()
    return StabilitySweep(frame, "radius", "size of the noise r", None, "G", "stability to noise G")
