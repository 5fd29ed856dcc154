"""Papers on equivariant networks run at tiny scale, without verdicts; measures by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from priorscope import models, papers
from priorscope.data import protein_folds
from priorscope.lab import NotMeasured, Store, judge_paper, sweep
from priorscope.papers.equivariance import _error, _folds, _molecules, _spherical_mnist, _tetris
from priorscope.papers.equivariance._retrieval import retrieval
from priorscope.system import check_model

NAMES = ["equivariance-error", "spherical-mnist", "tetris", "shapes", "molecules", "folds"]


@pytest.mark.parametrize("name", NAMES)
def test_tiny_points_run_and_give_no_verdicts(name, as_recorded):
    paper = papers.load(name)
    store = Store(":memory:")
    summary = sweep(paper, paper.points("tiny"), store, scale="tiny", jobs=1)
    assert summary.failed == 0
    assert summary.ran == len(paper.points("tiny")) > 0
    assert {record.verdict for record in judge_paper(paper, store)} == {"not run"}  # tiny runs test the code only
    as_recorded(paper, [{**p, **store.get(paper.name, paper.version, p)} for p in paper.points("tiny")])


def test_growth_is_the_exponent():
    rows = [
        {
            "bandwidth": b,
            "depth": d,
            "nonlinearity": "none",
            "precision": "float32",
            "seed": s,
            "error": b * d**0.5 * (1 + s),
        }
        for b in (2, 4, 8)
        for d in (1, 4)
        for s in range(3)
    ]
    table = pd.DataFrame(rows)
    assert abs(_error.growth(table, "bandwidth", "none").value - 1) < 1e-9
    assert abs(_error.growth(table, "depth", "none").value - 0.5) < 1e-9


def test_gaps_are_taken_draw_by_draw():
    rows = [
        {
            "kind": "voxels",
            "model": m,
            "low_pass": lp,
            "seed": s,
            "accuracy": 0.5 + 0.1 * (m == "steerable") + 0.2 * lp + s / 10,
        }
        for m in ("steerable", "plain")
        for lp in (False, True)
        for s in range(3)
    ]
    found = _tetris.gap(pd.DataFrame(rows), ("steerable", True), ("steerable", False)).interval
    assert abs(found.value - 0.2) < 1e-9
    assert found.high - found.low < 1e-9  # what draws share drops out


def test_what_turning_costs():
    rows = [
        {"model": "spherical", "train": "upright", "on_upright": 0.9 + s / 100, "on_turned": 0.88, "seed": s}
        for s in range(3)
    ]
    assert abs(_spherical_mnist.loss_by_turning(pd.DataFrame(rows)).interval.value - 0.03) < 1e-9


def test_retrieval_by_hand():
    """One query of three others: relevant at ranks 1 and 3."""
    angles = np.array([0.0, 0.1, 0.2, 0.4])
    features = np.stack([np.cos(angles), np.sin(angles)], 1)
    labels = np.array([0, 0, 1, 0])
    with pytest.raises(ValueError, match="one member"):
        retrieval(features, labels)
    features, labels = np.concatenate([features, -features[2:3]]), np.array([0, 0, 1, 0, 1])
    found = retrieval(features[:, ::-1], labels)
    # queries 0 and 1: relevant at 1, 3 -> AP 5/6; query 3: neighbours 2, 1, 0 -> ranks 2, 3; both of class 1 find theirs last
    average = [5 / 6, None, 1 / 4, (1 / 2 + 2 / 3) / 2, None]
    order = np.argsort(-(features[1] @ features.T)[[0, 2, 3, 4]], kind="stable")
    hits = np.array([labels[[0, 2, 3, 4]][i] == 0 for i in order])
    average[1] = float(np.mean([hits[: k + 1].mean() for k in np.flatnonzero(hits)]))
    order = np.argsort(-(features[4] @ features.T)[:4], kind="stable")
    average[4] = 1 / (1 + int(np.flatnonzero(labels[:4][order] == 1)[0]))
    assert abs(found["map"] - np.mean(average)) < 1e-12


def test_errors_are_taken_over_all_folds_of_a_draw():
    """Two folds of 1 and 3 molecules: the root of the mean over four, and ratios of those."""
    rows = [
        {
            "model": m,
            "fold": f,
            "seed": s,
            "squared": (4.0 if m == "counts" else 1.0) * (1 + s) * (2 - f),
            "n_test": 1 + 2 * f,
        }
        for m in ("counts", "spherical")
        for s in range(3)
        for f in range(2)
    ]
    table = pd.DataFrame(rows)
    assert abs(_molecules.errors_of(table)["spherical"][0] - (5 / 4) ** 0.5) < 1e-12
    with pytest.raises(NotMeasured, match="no runs of forest"):
        _molecules.ratio(table, "forest")
    found = _molecules.ratio(table, "counts").interval
    assert abs(found.value - 0.5) < 1e-12
    assert found.high - found.low < 1e-9  # what draws share drops out


def test_what_folds_measure_by_hand():
    accuracy = {"steerable": 0.8, "plain": 0.6, "thin": 0.3}
    rows = [
        {"model": m, "n": 96, "turned": turned, "seed": s, "weights": {"steerable": 10, "plain": 1200, "thin": 11}[m],
         "accuracy": accuracy[m] + s / 100 - (0 if turned else {"steerable": 0.05, "plain": 0.35}[m])}
        for m in accuracy for turned in (True, False) for s in range(3) if turned or m != "thin"
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    assert abs(_folds.gap(table, 96).interval.value - 0.2) < 1e-9
    assert abs(_folds.thinner_is_worse(table).interval.value - 0.3) < 1e-9
    assert abs(_folds.turning_helps(table).interval.value - 0.3) < 1e-9
    assert _folds.fewer_weights(table).interval.value == 120


def test_the_kernel_on_coulomb_matrices_learns_a_smooth_law():
    """Pairs of atoms whose energy is smooth in their distance; the control is the spread of the energies."""
    from priorscope.data import molecule_data

    data = molecule_data(_molecules.molecules_of("tiny"), "coulomb", folds=4)
    found = _molecules.by_kernel(data)
    truth = data.test.targets.double().numpy()
    assert np.square(found - truth).mean() < 0.02 * truth.var()


def test_networks_that_are_dead_as_they_start_are_drawn_again() -> None:
    data = protein_folds(6, 6, size=8, voxel=6.0, seed=0)
    model = models.voxel_cnn((1, 1), (2, 1), kernel_size=3, padding=1, normalise=True)

    def dead(seed: int) -> bool:
        try:
            check_model(model.network(data.input_shape, width=1, outputs=data.n_outputs, seed=seed), data.inputs)
        except ValueError:
            return True
        return False

    first = next(s for s in range(200) if dead(s))
    found = _folds._first_alive(model, data, 1, first)
    assert found > first
    assert not dead(found)
    assert all(dead(s) for s in range(first, found, _folds.FURTHER))
    lively = next(s for s in range(200) if not dead(s))
    assert _folds._first_alive(model, data, 1, lively) == lively
