"""What a run says about the bias: projections against their ideal decay, deviations beside the bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priorscope.printing import printed
from priorscope.probes.spectra.bias._budget import ModeBudget, mode_budget

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["SpectralBias"]

Array = NDArray[np.float64]


@printed
@dataclass(frozen=True)
class SpectralBias:
    r"""Residuals :math:`r_t = f_t - f^*` on held-out points along gradient flow, in the eigenbasis of the kernel.

    ``projections`` are :math:`\langle r_t, \phi_i\rangle`, ``ideal`` :math:`e^{-\sigma_i t}\langle r_0, \phi_i\rangle`;
    ``deviations`` column k is :math:`\|P_k(r_t - e^{-T_K t} r_0)\|^2`, ``bounds`` Theorem 1's right side with
    :math:`\epsilon = 0`; ``total_deviation`` and ``total_bound`` are the same without the projector. ``epsilon`` is the
    smallest :math:`\epsilon` with which no bound is broken at any recorded time. ``kernel_distance`` is
    :math:`\|K - K_0\|_{L^2(\rho\otimes\rho)}`, ``kernel_change`` :math:`\|K_t - K_0\|/\|K_0\|`.

    Example:
        >>> import priorscope as ps
        >>> sample = lambda n, seed: ps.data.sphere(n, 2, seed=seed)
        >>> data = ps.data.from_function(sample, lambda x: x[:, 0], n_train=16, n_test=20)
        >>> system = ps.System(data, ps.models.fcn(1, "erf"), ps.inference.GradientFlow(), width=16)
        >>> result = ps.probes.spectral_bias(system, k=3, n_times=3)
        >>> result.projections.shape, result.epsilon >= 0
        ((4, 3), True)
    """

    times: Array  # (s,)
    eigenvalues: Array  # (k,)
    projections: Array  # (s, k)
    ideal: Array  # (s, k)
    deviations: Array  # (s, k)
    bounds: Array  # (s, k)
    total_deviation: Array  # (s,)
    total_bound: Array  # (s,)
    test_error: Array  # (s,)
    kernel_change: Array  # (s,)
    kernel_distance: float
    target_bound: float

    @property
    def epsilon(self) -> float:
        """Smallest epsilon of Theorem 1 that all recorded deviations obey (0: the bound holds without it)."""
        later = self.times > 0
        free = 4 * self.target_bound**2 * self.kernel_distance**2
        factors = -np.expm1(-self.eigenvalues * self.times[later, None]) / self.eigenvalues
        needed = np.concatenate(
            [(self.deviations[later] / factors**2).ravel(), self.total_deviation[later] / self.times[later] ** 2]
        )
        return float(max(0.0, needed.max() - free))

    @property
    def rates(self) -> Array:
        """Decay rate of each projection, fitted through the origin over times up to 1/eigenvalue; NaN if it starts at 0."""
        found = np.full(len(self.eigenvalues), np.nan)
        scale = np.abs(self.projections[0]).max()
        for i, sigma in enumerate(self.eigenvalues):
            early = (self.times > 0) & (self.times <= 1.0 / sigma)
            share = self.projections[early, i] / self.projections[0, i] if scale else np.array([])
            if abs(self.projections[0, i]) > 1e-3 * scale and early.any() and (share > 0).all():
                t = self.times[early]
                found[i] = -(t @ np.log(share)) / (t @ t)
        return found

    def budget(self, k: int, epsilon: float) -> ModeBudget:
        """Time, width and samples to learn the top ``k`` modes to ``epsilon``."""
        return mode_budget(float(self.eigenvalues[k - 1]), epsilon, self.target_bound)

    def table(self) -> pd.DataFrame:
        """One row per time and mode."""
        import pandas as pd

        s, k = self.projections.shape
        rank = np.tile(np.arange(1, k + 1), s)
        columns = {name: getattr(self, name).ravel() for name in ("projections", "ideal", "deviations", "bounds")}
        return pd.DataFrame(
            {"time": np.repeat(self.times, k), "mode": rank, "eigenvalue": np.tile(self.eigenvalues, s), **columns}
        )

    def chart(self) -> alt.HConcatChart:
        """Left: share of each projection left over (points) and its ideal decay (lines). Right: deviation and bound."""
        import altair as alt

        table = self.table()
        start = np.tile(self.projections[0], len(self.times))
        table["measured"], table["theory"] = table["projections"] / start, table["ideal"] / start
        table = table[np.abs(start) > 1e-3 * np.abs(start).max()]
        later = table[(table["time"] > 0) & (table["deviations"] > 0)]
        time = alt.X("time:Q", title="time t")
        log_time = alt.X("time:Q", title="time t", scale=alt.Scale(type="log"))
        colour = alt.Color("mode:O", title="mode i", scale=alt.Scale(scheme="viridis"))
        left = alt.Chart(table).mark_line().encode(time, alt.Y("theory:Q", title="share of ⟨r_t, φ_i⟩ left"), colour)
        left += alt.Chart(table).mark_point(filled=True).encode(time, alt.Y("measured:Q"), colour)
        log = alt.Scale(type="log")
        right = (
            alt.Chart(later)
            .mark_line(strokeDash=[6, 4])
            .encode(log_time, alt.Y("bounds:Q", scale=log, title="‖P_k(r_t − e^{−Tt} r_0)‖² and its bound"), colour)
        )
        right += alt.Chart(later).mark_point(filled=True).encode(log_time, alt.Y("deviations:Q", scale=log), colour)
        return alt.hconcat(left, right)
