"""Labels under moves, on data where the answer is known; augmentation by paired runs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import t as student

import priorscope as ps
from priorscope.data.groups import Move
from priorscope.probes import Shared, label_moves
from priorscope.probes.stability import _response
from priorscope.probes.stability._result import log_interval


def test_templates_survive_deformations_and_positions_do_not_survive_shifts():
    data = ps.data.deformed_templates(300, 10, size=16, n_classes=5, temperature=4e-3, cutoff=2, noise=0.2)
    found = ps.probes.label_survival(data, n_images=300)
    assert found.verdict == "yes"
    assert found.sentence.startswith("Labels survive deformations by 1 pixel (cutoff 3): neighbours agree in 100 %")
    spot = torch.zeros(160, 1, 8, 8)
    where = torch.arange(160) % 4
    spot[torch.arange(160), 0, 4, where + 2] = 1
    spot += 0.01 * torch.randn(spot.shape, generator=torch.Generator().manual_seed(0))
    places = ps.data.from_arrays(spot, where, test_fraction=0.0)
    moved = ps.probes.label_survival(places, lambda x: x.roll(1, -1))
    assert moved.still == 1
    assert moved.verdict == "no"  # the label is the column of the spot
    assert ps.probes.label_survival(places, lambda x: 1.01 * x).verdict == "yes"


def test_shares_by_hand():
    x = torch.tensor([[0.0], [0.1], [1.0], [1.1]])
    data = ps.data.from_arrays(x, np.array([0, 0, 1, 1]), test_fraction=0.0)
    found = ps.probes.label_survival(data, lambda z: z + 1.0)
    assert found.still == 1.0
    # 0 → 1.0 and 0.1 → 1.1 land on the other class; 1.0 → 2.0 and 1.1 → 2.1 stay with theirs, themselves left out
    assert found.moved == 0.5
    assert found.chance == 0.5
    with pytest.raises(ValueError, match="no pictures"):
        found.pictures()


def test_random_labels_cannot_be_told_and_regressions_use_correlations():
    g = torch.Generator().manual_seed(0)
    x = torch.randn(200, 1, 8, 8, generator=g)
    noise = ps.data.from_arrays(x, torch.randint(2, (200,), generator=g), test_fraction=0.0)
    assert ps.probes.label_survival(noise, "shift").verdict == "cannot tell"
    smooth = ps.data.from_arrays(x.mean((1, 2, 3))[:, None].expand(-1, 3) + 0.0, x.mean((1, 2, 3)), test_fraction=0.0)
    found = ps.probes.label_survival(smooth, lambda z: z * 1.0001)
    assert found.still > 0.95
    assert found.chance == 0


def test_charts_and_pictures():
    found = ps.probes.label_survival(ps.data.digits(), delta=0.7, cutoff=2, n_images=100)
    for drawn in (found.chart(), found.pictures()):
        drawn.to_dict()
    assert found.table().images.tolist()[1] == "moved"
    assert found.radius > 0


def test_augmentation_helps_where_it_is_the_law_of_the_data():
    data = ps.data.deformed_templates(60, 300, size=12, n_classes=20, temperature=0.04, cutoff=2, noise=0.8)
    descent = ps.inference.GradientDescent(3e-3, 200, batch_size=20, optimiser="adam", loss="logistic", record=1)
    system = ps.System(data, ps.models.dense(1), descent, width=64)
    found = ps.probes.augmentation_gain(system, delta=1.8, cutoff=2, n_seeds=4)
    assert found.gain.low > 0
    assert "lowers the error" in found.sentence
    found.chart().to_dict()
    harm = ps.probes.augmentation_gain(system, lambda x: torch.randn_like(x) * 3, n_seeds=2)
    assert harm.moved.mean() > harm.plain.mean()
    with pytest.raises(ValueError, match="trains by GradientDescent; got KernelRegression"):
        ps.probes.augmentation_gain(ps.System(data, ps.models.fcn(1), ps.inference.KernelRegression()))


def test_the_profile_tries_a_deformation_of_square_images():
    data = ps.data.deformed_templates(200, 10, size=16, n_classes=5, temperature=4e-3, cutoff=2, noise=0.2)
    found = {s.move: s for s in label_moves(data.inputs, data.targets, data.train_labels).found}
    assert found[Move.DEFORMATION].shared is Shared.YES
    assert found[Move.MIRROR].shared is Shared.NO


def test_what_is_kept_is_the_agreement_above_chance():
    found = ps.probes.LabelSurvival("shifts", still=0.9, moved=0.6, noisy=0.5, chance=0.5, error=0.01)
    assert found.kept == pytest.approx(0.25)
    assert ps.probes.LabelSurvival("shifts", 0.9, 0.9, 0.5, 0.1, 0.01).kept == 1


def test_intervals_of_draws_are_geometric_and_end_at_nothing():
    some = log_interval(np.array([1.0, 4.0, 16.0]))
    half = student.ppf(0.975, 2) * np.log(4.0) / 3**0.5
    assert (some.value, some.low, some.high) == pytest.approx((4.0, 4 * np.exp(-half), 4 * np.exp(half)))
    none = log_interval(np.array([0.0, 1.0, 5.0]))
    assert (none.value, none.low, none.high) == (2.0, 0.0, 5.0)
    assert log_interval(np.exp([0.0, 400.0])).high == float("inf")


def test_blocks_of_images_change_no_average(monkeypatch):
    """The mean change under moves and noise is that of all images, however many pass at once."""
    x = torch.randn(9, 1, 6, 6, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(36, 2))
    whole = ps.probes.stability(network, x, "shift", average="mean", n_seeds=2)
    monkeypatch.setattr(_response, "BLOCK", 3)
    parts = ps.probes.stability(network, x, "shift", average="mean", n_seeds=2)
    np.testing.assert_allclose(parts.values[..., 0] / parts.values[..., 1], whole.values[..., 0] / whole.values[..., 1])
    assert parts.radius == pytest.approx(whole.radius)
