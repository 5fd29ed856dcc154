"""What probes refuse, each reason by itself, and that the smallest thing they ask for is enough."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope import probes

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(120, 3))
GRAM = np.exp(-np.linalg.norm(ROWS[:, None] - ROWS, axis=-1))
ENTRIES = np.eye(4).reshape(4, 2, 2)[:3]
ONE = torch.ones(1, 1)


def holed(array: np.ndarray) -> np.ndarray:
    found = np.array(array, dtype=float)
    found.flat[0] = np.nan
    return found


REFUSED = {
    "hypercube shape": (lambda: probes.hypercube_modes(lambda t: t[:2], 3, 1), "one finite value"),
    "hypercube nan": (lambda: probes.hypercube_modes(lambda t: t * np.nan, 3, 1), "one finite value"),
    "hypercube degree": (lambda: probes.hypercube_modes(lambda t: t, 3, 4), "degree_max <= dim"),
    "hypercube points": (lambda: probes.hypercube_modes(lambda t: t, 3, 1)(np.ones((2, 4))), "corners"),
    "hypercube corners": (lambda: probes.hypercube_modes(lambda t: t, 3, 1)(np.full((2, 3), 0.5)), "corners"),
    "product dims": (lambda: probes.product_modes(lambda s, t: s * t, (2, 1), 1), "dimensions >= 2"),
    "product nothing": (lambda: probes.product_modes(lambda: 1.0, (), 1), "dims"),
    "product shape": (lambda: probes.product_modes(lambda s, t: s[0] * t[0], (2, 2), 1), "one finite value"),
    "product nan": (lambda: probes.product_modes(lambda s, t: s * np.nan, (2, 2), 1), "one finite value"),
    "product points": (lambda: probes.product_modes(lambda s, t: s * t, (2, 2), 1)(np.ones((2, 3))), "4 coordinates"),
    "nuclear axes": (lambda: probes.minimum_nuclear_norm(np.ones((2, 2)), [1.0, 2.0]), "finite measurements"),
    "nuclear values": (lambda: probes.minimum_nuclear_norm(ENTRIES, [1.0]), "finite measurements"),
    "nuclear nan": (lambda: probes.minimum_nuclear_norm(holed(ENTRIES), [1.0, 2.0, 0.5]), "finite measurements"),
    "nuclear value nan": (lambda: probes.minimum_nuclear_norm(ENTRIES, [1.0, 2.0, np.nan]), "finite values"),
    "convergence square": (lambda: probes.gram_convergence(np.ones((20, 19))), "n >= 16"),
    "convergence few": (lambda: probes.gram_convergence(np.eye(15)), "n >= 16"),
    "convergence sizes": (lambda: probes.gram_convergence(np.eye(20), sizes=(5, 21)), "sizes up to 20"),
    "convergence ranks": (lambda: probes.gram_convergence(np.eye(20), sizes=(5, 20), ranks=(6,)), "got rank 6"),
    "frozen axes": (lambda: probes.frozen_flow(torch.ones(2), torch.ones(2, 1)), "square kernel"),
    "frozen square": (lambda: probes.frozen_flow(torch.ones(2, 3), torch.ones(2, 1)), "square kernel"),
    "frozen targets": (lambda: probes.frozen_flow(torch.eye(2), torch.ones(3, 1)), "square kernel"),
    "geometry readout": (lambda: probes.average_geometry(nn.Linear(2, 1), (2,), readout="x"), "readout is"),
    "geometry engine": (lambda: probes.average_geometry(nn.Linear(2, 1), (2,), engine="x"), "readout is"),
    "energy first": (lambda: probes.energy_test(torch.ones(3, 2), torch.ones(5, 2)), "at least 4"),
    "energy second": (lambda: probes.energy_test(torch.ones(5, 2), torch.ones(3, 2)), "at least 4"),
    "energy length": (lambda: probes.energy_test(torch.ones(5, 2), torch.ones(5, 3)), "at least 4"),
    "budget eigenvalue": (lambda: probes.mode_budget(0.0, 0.1), "eigenvalue > 0"),
    "budget epsilon": (lambda: probes.mode_budget(1.0, 0.0), "epsilon > 0"),
    "budget bound": (lambda: probes.mode_budget(1.0, 1.0), "an epsilon below target_bound"),
    "boundary axes": (lambda: probes.boundary_distance(lambda v: v[:, 0], lambda v: v, ONE), "one output"),
    "boundary outputs": (lambda: probes.boundary_distance(lambda v: v.repeat(1, 2), lambda v: v, ONE), "one output"),
    "pca few": (lambda: probes.kernel_pca_exponent(GRAM[:99, :99], ROWS[:99, 0]), "n >= 100"),
    "pca square": (lambda: probes.kernel_pca_exponent(GRAM[:, :110], ROWS[:, 0]), "n >= 100"),
    "pca targets": (lambda: probes.kernel_pca_exponent(GRAM, ROWS[:110, 0]), "n >= 100"),
    "dimension few": (lambda: probes.effective_dimension(ROWS[:19]), "20 or more"),
    "dimension sizes": (lambda: probes.effective_dimension(ROWS, (10, 20)), "sizes"),
    "dimension large": (lambda: probes.effective_dimension(ROWS, (10, 20, 121)), "sizes"),
    "walsh nothing": (lambda: probes.walsh_hadamard(torch.ones(0)), "power of two"),
    "conv filter": (lambda: probes.linear_conv_geometry(3, 3, 2), "needs at least 4 inputs"),
    "spectrum one": (lambda: probes.spectrum(np.ones((1, 1))), "n >= 2"),
    "spectrum nan": (lambda: probes.spectrum(holed(GRAM)), "finite kernel"),
    "spectrum range": (lambda: probes.spectrum(GRAM, fit_range=(5, 5)), "fit_range"),
    "spectrum targets": (lambda: probes.spectrum(GRAM, np.zeros(120)), "not all zero"),
    "spectrum rows": (lambda: probes.spectrum(GRAM, np.ones(100)), "one target per sample"),
    "nystrom nan": (lambda: probes.nystrom(lambda a, b: torch.full((len(a), len(b)), torch.nan), torch.ones(9, 1), 2), "finite"),
    "nystrom shape": (lambda: probes.nystrom(lambda a, b: torch.ones(2, 2), torch.ones(9, 1), 2), "finite"),
    "nystrom k": (lambda: probes.nystrom(lambda a, b: a @ b.T, torch.ones(9, 1), 3), "k <= n/4 = 2"),
    "exponent sizes": (lambda: probes.learning_curve_exponent([1, 2], [1.0, 0.5]), "three or more"),
    "exponent order": (lambda: probes.learning_curve_exponent([1, 3, 2], [1.0, 0.5, 0.2]), "three or more"),
    "exponent errors": (lambda: probes.learning_curve_exponent([1, 2, 3], [1.0, 0.5]), "three or more"),
    "fluctuations points": (lambda: probes.fluctuations(np.ones((3, 4)), np.ones(5)), "at least two members"),
    "excess sizes": (lambda: probes.excess_error([1.0, 2.0], np.ones((2, 3))), "two sizes or more"),
    "excess axes": (lambda: probes.excess_error([1.0, 2.0], np.ones(2)), "two sizes or more"),
    "fluctuating kernels": (
        lambda: probes.kernel_fluctuations(torch.ones(2, 3, 2), torch.ones(2, 1, 2), torch.ones(2)),
        "kernel_fluctuations needs",
    ),
    "fluctuating crosses": (
        lambda: probes.kernel_fluctuations(torch.ones(2, 3, 3), torch.ones(2, 1, 2), torch.ones(3)),
        "kernel_fluctuations needs",
    ),
    "fluctuating targets": (
        lambda: probes.kernel_fluctuations(torch.ones(2, 3, 3), torch.ones(2, 1, 3), torch.ones(4)),
        "kernel_fluctuations needs",
    ),
    "samples positive": (lambda: probes.small_argument_exponent(np.r_[np.ones(49), -np.ones(9)]), "at least 50"),
    "blind few": (lambda: probes.blind_spots(ps.data.digits().subset(20), ps.models.gap(1), n_models=3), "n_models"),
    "gap": (lambda: probes.gap_dimension([1.0]), "two"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_each_reason_is_reason_enough(name: str) -> None:
    call, words = REFUSED[name]
    with pytest.raises(ValueError, match=words):
        call()


ENOUGH = {
    "convergence": lambda: probes.gram_convergence(GRAM[:16, :16]),
    "energy": lambda: probes.energy_test(torch.from_numpy(ROWS[:4]), torch.from_numpy(ROWS[4:8]), permutations=9),
    "pca": lambda: probes.kernel_pca_exponent(GRAM[:100, :100], ROWS[:100, 0]),
    "dimension": lambda: probes.effective_dimension(ROWS[:20], (5, 10, 20), subsets=2),
    "conv": lambda: probes.linear_conv_geometry(1, 1, 1),
    "spectrum": lambda: probes.spectrum(GRAM[:2, :2]),
    "nystrom": lambda: probes.nystrom(lambda a, b: a @ b.T, torch.from_numpy(ROWS[:12]), 3),
    "exponent": lambda: probes.learning_curve_exponent([10, 20, 40], [1.0, 0.5, 0.2]),
    "fluctuations": lambda: probes.fluctuations(np.ones((2, 3)), np.ones(3)),
    "excess": lambda: probes.excess_error([1.0, 4.0], np.array([[0.2, 0.1], [0.3, 0.1]])),
    "samples": lambda: probes.small_argument_exponent(np.linspace(0.1, 1, 50)),
    "noise": lambda: probes.noise_rate(np.linspace(0.1, 1, 10), np.ones(10), 2),
    "gap": lambda: probes.gap_dimension([2.0, 1.0]),
    "product": lambda: probes.product_modes(lambda t: t, (2,), 1),
    "outer": lambda: probes.gradient_outer_product(nn.Linear(3, 1), torch.ones(2, 3)),
    "hypercube": lambda: probes.hypercube_modes(lambda t: t, 2, 2),
}


@pytest.mark.parametrize("name", ENOUGH)
@pytest.mark.filterwarnings("ignore")
def test_the_smallest_allowed_is_enough(name: str) -> None:
    assert ENOUGH[name]() is not None
