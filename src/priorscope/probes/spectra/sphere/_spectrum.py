"""The exact eigensystem of one-hidden-layer kernels on products of spheres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq

from priorscope.checks import optional, whole
from priorscope.contracts import guarded
from priorscope.models import Architecture
from priorscope.printing import printed
from priorscope.probes.spectra.sphere._block import BlockEigenvalues
from priorscope.probes.spectra.sphere._gap_trace import gap_trace
from priorscope.probes.spectra.sphere._modes import Family, families
from priorscope.probes.spectra.sphere._reader import read_architecture
from priorscope.probes.spectra.sphere._series import KernelSeries

if TYPE_CHECKING:
    import altair as alt

__all__ = ["SphereSpectrum", "sphere_spectrum"]


@printed
@dataclass(frozen=True)
class SphereSpectrum:
    """Eigenvalues with their multiplicities, up to an order; what lies beyond is known by its trace.

    ``trace`` is E K(ξ, ξ): k(1) for "fcn" and "vec", see :func:`gap_trace` for "gap"; ``truncation`` bounds the error of
    each λ_q from cutting the power series of k.

    Example:
        >>> import priorscope as ps
        >>> spectrum = ps.probes.sphere_spectrum(ps.models.fcn(depth=1), d0=3, p=4, order=2)
        >>> spectrum.multiplicities.tolist(), round(spectrum.trace, 6)
        ([1, 12, 20, 54], 4.0)
    """

    readout: str
    d0: int
    p: int
    s: int | None
    order: int
    families: tuple[Family, ...]
    eigenvalues: NDArray[np.float64]
    trace: float
    truncation: float

    @property
    def multiplicities(self) -> NDArray[np.object_]:
        """Dimension of each family's eigenspace (exact integers)."""
        return np.array([f.multiplicity for f in self.families], dtype=object)

    @property
    def orders(self) -> NDArray[np.int64]:
        """Order r = Σ r_i of each family."""
        return np.array([f.order for f in self.families])

    @property
    def remainder(self) -> float:
        """Trace of everything beyond the computed order."""
        return self.trace - float(self.eigenvalues @ self.multiplicities.astype(float))

    def expanded(self, n: int) -> NDArray[np.float64]:
        """The n largest of the computed eigenvalues, each as often as its multiplicity says."""
        order = np.argsort(-self.eigenvalues)
        counts = np.array([min(int(m), n) for m in self.multiplicities[order]])
        return np.repeat(self.eigenvalues[order], counts)[:n]

    def dimension(self, order: int) -> int:
        """Dimension of the order-r eigenspace, over all its families."""
        return int(self.multiplicities[self.orders == order].sum())

    def mean_eigenvalue(self, order: int) -> float:
        """Mean of the order-r eigenvalues, weighted by multiplicity."""
        pick = self.orders == order
        return float(self.eigenvalues[pick] @ self.multiplicities[pick].astype(float)) / self.dimension(order)

    def resolution(self, n_train: float) -> float:
        r"""The κ with :math:`\sum_i λ_i/(λ_i + κ) = n`: modes above it are learned from n samples, modes below are not.

        What lies beyond the computed order enters as remainder/κ, its upper bound: κ errs towards "not yet learned".
        """
        low, high = 1e-300, self.trace / n_train
        return float(np.exp(brentq(lambda x: self._samples(np.exp(x)) - n_train, np.log(low), np.log(high) + 1e-9)))

    def samples_needed(self) -> dict[int, float]:
        """For each order, the samples at which half of its eigenspace is learned (mean λ/(λ + κ) = 1/2).

        Example:
            >>> import priorscope as ps
            >>> n = [ps.probes.sphere_spectrum(a, d0=3, p=32, order=2).samples_needed()[2]
            ...      for a in (ps.models.fcn(depth=1), ps.models.vec(depth=1), ps.models.gap(depth=1))]
            >>> n[0] > 5 * n[1] > 25 * n[2]
            True
        """
        needed: dict[int, float] = {}
        for r in range(self.order + 1):
            pick = (self.orders == r) & (self.eigenvalues > 1e-14 * self.trace)
            if not pick.any():
                needed[r] = float("inf")
                continue
            lam, m = self.eigenvalues[pick], self.multiplicities[pick].astype(float)
            excess = lambda x, lam=lam, m=m: m @ (lam / (lam + np.exp(x))) / m.sum() - 0.5  # noqa: E731
            kappa = np.exp(brentq(excess, np.log(lam.min()) - 1, np.log(lam.max()) + 1))
            needed[r] = self._samples(float(kappa))
        return needed

    def learning_curve(self, power: Mapping[int, float], n_train: Sequence[float]) -> NDArray[np.float64]:
        r"""Forecast of the test error of ridgeless regression on a target with the given power per order.

        .. math:: E(n) = \frac{\sum_i (1 - L_i)^2 v_i}{1 - n^{-1} \sum_i L_i^2}, \qquad L_i = \frac{λ_i}{λ_i + κ(n)},

        the power of an order spread evenly over its eigenspace; Simon et al. (2023), Bordelon et al. (2020). Orders that were
        not computed count as not learned.

        Example:
            >>> import priorscope as ps
            >>> spectrum = ps.probes.sphere_spectrum(ps.models.vec(depth=1), d0=3, p=16, order=2)
            >>> early, late = spectrum.learning_curve({1: 1.0}, [10, 1000])
            >>> bool(early > 10 * late)
            True
        """
        m = self.multiplicities.astype(float)
        share = np.array([power.get(f.order, 0.0) / self.dimension(f.order) for f in self.families])
        beyond = sum(v for r, v in power.items() if r > self.order)
        errors = []
        for n in n_train:
            learned = self.eigenvalues / (self.eigenvalues + self.resolution(n))
            left = float((m * share) @ (1 - learned) ** 2) + beyond
            errors.append(left / (1 - float(m @ learned**2) / n))
        return np.array(errors)

    def _samples(self, kappa: float) -> float:
        return float(self.multiplicities.astype(float) @ (self.eigenvalues / (self.eigenvalues + kappa))) + (
            max(self.remainder, 0.0) / kappa
        )

    def table(self) -> pd.DataFrame:
        """One row per family: order, degrees, windows, eigenvalue, multiplicity, number of degree vectors."""
        rows = [
            {
                "order": f.order,
                "degrees": ",".join(map(str, f.degrees)) or "0",
                "windows": f.windows,
                "eigenvalue": lam,
                "multiplicity": f.multiplicity,
                "vectors": f.vectors,
            }
            for f, lam in zip(self.families, self.eigenvalues)
        ]
        return pd.DataFrame(rows)

    def chart(self) -> alt.TopLevelMixin:
        """Eigenvalue against rank on log axes, coloured by order: each family is a step."""
        import altair as alt

        table = self.table().sort_values("eigenvalue", ascending=False)
        table = table[table.eigenvalue > 0]
        last = table.multiplicity.astype(float).cumsum()
        table = table.assign(first=last - table.multiplicity.astype(float) + 1, last=last + 0.5)
        table = table.drop(columns="multiplicity").assign(multiplicity=table.multiplicity.astype(str))
        chart: alt.TopLevelMixin = (
            alt.Chart(table, title=f"{self.readout.upper()} on {self.p} spheres in R^{self.d0}")
            .mark_rule(strokeWidth=3)
            .encode(
                x=alt.X("first:Q", scale=alt.Scale(type="log"), title="rank k"),
                x2="last:Q",
                y=alt.Y("eigenvalue:Q", scale=alt.Scale(type="log"), title="eigenvalue λ"),
                color=alt.Color("order:O", title="order r"),
                tooltip=["order", "degrees", "windows", "eigenvalue", "multiplicity"],
            )
        )
        return chart


@guarded(d0=whole(), p=whole(), s=optional(whole()), order=whole(0), terms=whole())
def sphere_spectrum(
    arch: Architecture | tuple[str, KernelSeries],
    d0: int,
    p: int,
    s: int | None = None,
    order: int = 4,
    *,
    kind: str = "ntk",
    terms: int = 512,
) -> SphereSpectrum:
    r"""Exact eigenvalues of the kernel of a one-hidden-layer FCN, LCN/VEC or GAP on p spheres of radius √d0 in R^d0.

    With λ_q of :class:`BlockEigenvalues`: FCN has λ_p(r⃗); VEC sees only r⃗ that fit in a patch of s mini-patches, with
    λ = (windows that hold r⃗)/p · λ_s(r⃗); GAP has the eigenvalues of VEC, once per orbit of shifts. Theorem 4.1 of "What
    breaks the curse of dimensionality in deep learning?", with exact constants.

    Differs from the paper: when patches overlap around the circle (p < 2s − 1) windows and orbits are counted one by one.

    Args:
        arch: an architecture of depth 1, or a pair of "fcn", "vec" or "gap" and a :class:`KernelSeries`.
        d0, p: dimension and number of the spheres.
        s: patch size; taken from the architecture's kernel size when not given.
        order: highest order r = Σ r_i.
        kind: "ntk" or "nngp".
        terms: degree at which the series of k is cut. Default 512: truncation below 1e-8 for ReLU with s·d0 ≥ 9.

    Holds: Σ λ·multiplicity ≤ trace, with equality as the order grows; the same eigenvalues as the integral operator.

    Example:
        >>> import priorscope as ps
        >>> spectrum = ps.probes.sphere_spectrum(ps.models.gap(depth=1), d0=3, p=10, s=3, order=2)
        >>> spectrum.table()[["order", "degrees", "windows", "multiplicity"]].values.tolist()[:3]
        [[0, '0', 10, 1], [1, '1', 3, 3], [2, '2', 3, 5]]
    """
    if isinstance(arch, tuple):
        readout, series = arch
        if readout not in ("fcn", "vec", "gap"):
            raise ValueError(f"the readout must be 'fcn', 'vec' or 'gap'; got {readout!r}.")
        size = s
    else:
        readout, size, series = read_architecture(arch, kind, terms)
        if s is not None and size is not None and s != size:
            raise ValueError(f"s = {s} but the architecture has kernel_size = {size}; give one of them, or the same.")
    if readout != "fcn" and (size is None or not 1 <= size <= p):
        raise ValueError(f"the patch must hold between 1 and p = {p} mini-patches; got s = {size}.")
    block = BlockEigenvalues(series, d0)
    q = p if readout == "fcn" else int(size or 1)
    found = families(readout, d0, p, q, order)
    scale = [1.0 if readout == "fcn" else f.windows / p for f in found]
    values = np.array([w * block(f.degrees, q) for f, w in zip(found, scale)])
    trace = series.total if readout != "gap" else gap_trace(block, p, q)
    return SphereSpectrum(
        readout, d0, p, None if readout == "fcn" else q, order, tuple(found), values, trace, block.truncation(q)
    )
