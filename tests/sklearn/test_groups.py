"""Rows that belong together: copies are found, groups are left out whole, and what is told is what new rows will see."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import priorscope as ps
from priorscope.inference import RidgePath
from priorscope.sklearn import BalancedDecision, KernelMachine, Shortlist
from priorscope.sklearn._folds import fit_by_groups, folds_of
from priorscope.sklearn._loss import Problem
from priorscope.sklearn._spread import radius

NOISE = np.random.default_rng(0)
X, Y = NOISE.normal(size=(60, 3)), NOISE.normal(size=60)


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-7])
def test_copies_of_noise_are_not_learnt(noise):
    twice = np.repeat(X, 2, 0) + noise * np.random.default_rng(1).normal(size=(120, 3))
    machine = KernelMachine("fcn-1").fit(twice, np.repeat(Y, 2))
    once = KernelMachine("fcn-1").fit(X, Y).report_.chosen
    assert 0.9 < machine.report_.chosen.score < 1.1
    assert abs(machine.report_.chosen.score - once.score) < 0.1
    assert machine.report_.notes[0].startswith("120 of 120 rows repeat another row, or nearly: they count as 60")
    free = RidgePath.of_kernel(np.asarray(machine.model_.kernel(machine.X_fit_).ntk))
    one_by_one = free.leave_one_out(np.repeat(Y, 2)[:, None], [1e-6 * free.scale])[0, :, 0]
    assert ((one_by_one - np.repeat(Y, 2)) ** 2).mean() < 0.01  # the control: one by one they are


def test_confidence_is_that_of_single_rows():
    labels = (X[:, 0] + NOISE.normal(size=60) > 0).astype(int)
    new = np.random.default_rng(2).normal(size=(300, 3))
    once, twice = (
        KernelMachine("fcn-1").fit(np.repeat(X, k, 0), np.repeat(labels, k)).predict_proba(new).max(1).mean()
        for k in (1, 2)
    )
    assert abs(once - twice) < 0.05


def test_losses_on_new_groups_are_those_of_fits_without_them():
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(12), 4)
    rows = rng.normal(size=(12, 2))[groups] + 0.05 * rng.normal(size=(48, 2))
    y = rng.normal(size=12)[groups]
    machine = KernelMachine("fcn-1", inputs="raw", ridge=0.01).fit(rows, y, groups=groups)
    careless = KernelMachine("fcn-1", inputs="raw", ridge=0.01).fit(rows, y)
    assert machine.report_.chosen.score > 20 * careless.report_.chosen.score
    assert machine.report_.notes[-1] == "left out by 12 groups: errors are those on new groups"
    scale, mean = y.std(), y.mean()
    missed = []
    for g in range(12):
        rest = groups != g
        K = np.asarray(machine.model_.kernel(machine.inputs_(rows)).ntk)
        n = rest.sum()
        system = np.block(
            [[K[np.ix_(rest, rest)] + 0.01 * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]]
        )
        *alpha, b = np.linalg.solve(system, np.r_[(y[rest] - mean) / scale, 0.0])
        missed.extend(K[np.ix_(~rest, rest)] @ np.array(alpha) + b - (y[~rest] - mean) / scale)
    np.testing.assert_allclose(machine.report_.chosen.score, np.mean(np.square(missed)), rtol=1e-9)


def test_a_machine_of_groups_can_be_saved(tmp_path):
    groups = np.arange(60) // 3
    machine = KernelMachine("fcn-1").fit(X, Y, groups=groups)
    again = KernelMachine.load(machine.save(tmp_path / "m.npz"))
    assert np.array_equal(again.blocks_, groups)
    one, other = (m.predict(X[:3], return_interval=True)[1] for m in (machine, again))
    np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("head, features", [("svm", None), ("regression", "learn")])
def test_margins_and_features_leave_out_blocks_too(head, features):
    """Copies of random classes, or of noise: one by one, the copy that stays would tell the target."""
    labels = np.random.default_rng(5).integers(0, 2, 60)
    machine = KernelMachine("laplace", head=head, features=features, metric="error")
    machine.fit(np.repeat(X, 2, 0), np.repeat(labels, 2))
    assert machine.report_.chosen.wrong > 0.3
    if head == "svm":
        assert not (machine.predict_proba(np.repeat(X, 2, 0)).max(1) > 0.9).any()
    else:
        assert machine.features_.plain > 0.3


def test_folds_keep_blocks_whole_and_spread_rare_classes():
    blocks = np.repeat(np.arange(10), 3)
    for test in folds_of(np.arange(30) % 2, 4, True, 0, blocks):
        assert not set(blocks[test]) & set(np.delete(blocks, test))
    assert len(folds_of(np.arange(30.0), 5, False, 0, np.arange(30) // 10)) == 3


def test_a_shortlist_leaves_out_groups_and_copies():
    labels = np.random.default_rng(6).integers(0, 2, 60)
    members = [
        ("kernel", KernelMachine("laplace")),
        ("near", make_pipeline(StandardScaler(), KernelMachine("laplace"))),
    ]
    members.append(("linear", LogisticRegression()))
    four = np.repeat(X, 4, 0), np.repeat(labels, 4)
    copies = Shortlist(members, average=1).fit(*four)
    assert all(c.score > 0.3 for c in copies.report_.contenders)
    assert any("count as 60" in note for note in copies.report_.notes)
    groups = np.repeat(np.arange(60), 4)
    spread = four[0] + 0.01 * np.random.default_rng(7).normal(size=(240, 3))
    grouped = Shortlist(members, average=1).fit(spread, four[1], groups=groups)
    assert all(c.score > 0.3 for c in grouped.report_.contenders)
    careless = Shortlist(members, average=1).fit(spread, four[1])
    assert min(c.score for c in careless.report_.contenders) < 0.05  # the control


def test_groups_reach_whoever_asks_for_them():
    groups = np.arange(60) // 3
    labels = (Y > 0).astype(int)
    machine = fit_by_groups(make_pipeline(StandardScaler(), KernelMachine("fcn-1")), X, Y, groups)
    assert "left out by 20 groups" in machine[-1].report_.notes[-1]
    assert (
        "left out by 20 groups"
        in BalancedDecision(KernelMachine("fcn-1")).fit(X, labels, groups).estimator_.report_.notes[-1]
    )
    assert fit_by_groups(Ridge(), X, Y, groups).n_features_in_ == 3  # who does not ask is not told
    with pytest.raises(ValueError, match="at least two of them"):
        KernelMachine("fcn-1").fit(X, Y, groups=np.zeros(60))


def test_uncertainty_counts_blocks():
    each = np.random.default_rng(0).normal(size=20)
    ones = np.ones(20)
    single = Problem(each[:, None], None, ones)
    assert single.uncertainty(each) == pytest.approx(each.std(ddof=1) / 20**0.5)
    copies = Problem(np.repeat(each, 3)[:, None], None, np.ones(60), np.repeat(np.arange(20), 3))
    assert copies.uncertainty(np.repeat(each, 3)) == pytest.approx(single.uncertainty(each))


def test_quantiles_of_blocks_weigh_blocks_alike():
    residuals = np.arange(1.0, 100.0)
    assert radius(residuals, 0.9, np.arange(99)) == radius(residuals, 0.9)
    uneven = np.r_[np.arange(1.0, 10.0), np.full(90, 100.0)]  # nine single rows, and one block of ninety
    assert radius(uneven, 0.8, np.r_[np.arange(9), np.full(90, 9)]) == 9.0
    assert radius(uneven, 0.8) == 100.0


@pytest.mark.parametrize("positives", [1, 2, 4])
def test_one_in_five_hundred_is_answered(positives):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 3))
    labels = (np.arange(300) < positives).astype(int)
    rows[labels == 1] += 4
    members = [("kernel", KernelMachine("fcn-1")), ("linear", LogisticRegression())]
    for metric in ("error", "balanced"):
        model = Shortlist(members, metric=metric).fit(rows, labels)
        assert model.report_.folds == 5
        assert set(model.predict(np.vstack([rows, [[5.0, 5.0, 5.0]]]))) <= {0, 1}
    machine = KernelMachine("fcn-1", class_weight="balanced").fit(rows, labels)
    assert machine.predict([[6.0, 6.0, 6.0]]).tolist() == [1]
    assert np.isfinite(machine.report_.chosen.score)
    assert ps.data.as_dataset(rows, labels, test_fraction=0.0).structure.n_blocks == 300
