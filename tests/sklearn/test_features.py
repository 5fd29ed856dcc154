"""Kernel machines with features: where they help and where they do not, importances by column, files."""

import numpy as np
import pandas as pd
import pytest
import torch

import priorscope as ps
from priorscope.models import MappedInputs, MappedPatches
from priorscope.sklearn import KernelMachine
from priorscope.sklearn._inputs import Inputs
from priorscope.sklearn._left_out import may_be_closed
from priorscope.sklearn._slopes import column_shares


def problem(n=160, d=8, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X, np.sin(3 * X[:, 2]) + 0.5 * X[:, -1]


@pytest.fixture(scope="module")
def learnt():
    X, y = problem()
    return KernelMachine("laplace", features="learn").fit(X, y)


def test_features_lower_the_error_where_two_columns_matter(learnt):
    X, y = problem(400, seed=1)
    plain = KernelMachine("laplace").fit(*problem())
    assert 1 - learnt.score(X, y) < 0.5 * (1 - plain.score(X, y))
    assert learnt.features_.kept
    assert learnt.features_.gain > 0.5
    assert isinstance(learnt.model_, MappedInputs)
    shares = learnt.feature_importances_
    assert set(np.argsort(shares)[-2:]) == {2, 7}
    assert shares.sum() == pytest.approx(1.0)
    assert "lower the left-out loss by" in str(learnt.report_)


def test_what_is_said_of_left_out_rows_is_true_of_new_ones(learnt):
    """R² by leave-one-out against R² on fresh rows: under the final M it would flatter by ``flattered``."""
    X, y = problem(1000, seed=2)
    fresh = 1 - learnt.score(X, y)
    assert 0.5 < learnt.report_.chosen.squared / fresh < 2.0
    assert learnt.features_.flattered > 1.0
    _, intervals = learnt.predict(X, return_interval=True)
    assert 0.8 < float(((intervals[:, 0] < y) & (y < intervals[:, 1])).mean()) < 0.99


def test_noise_has_no_features():
    rng = np.random.default_rng(3)
    machine = KernelMachine("laplace", features="learn").fit(rng.normal(size=(120, 6)), rng.normal(size=120))
    assert not machine.features_.kept
    assert not isinstance(machine.model_, MappedInputs)


def test_auto_names_what_it_used_and_predicts_classes():
    X, _ = problem(120, 5)
    machine = KernelMachine(features="learn").fit(X, np.where(np.sin(3 * X[:, 2]) > 0, "a", "b"))
    assert machine.report_.chosen.name.endswith("+ features")
    new, _ = problem(300, 5, seed=4)
    assert machine.score(new, np.where(np.sin(3 * new[:, 2]) > 0, "a", "b")) > 0.85
    assert machine.predict_proba(new).sum(1) == pytest.approx(np.ones(300))


def test_the_file_holds_the_features(learnt, tmp_path):
    X, _ = problem(20, seed=5)
    again = KernelMachine.load(learnt.save(tmp_path / "machine.npz"))
    np.testing.assert_array_equal(again.predict(X), learnt.predict(X))
    np.testing.assert_allclose(again.feature_importances_, learnt.feature_importances_)
    assert str(again.features_) == str(learnt.features_)
    assert again.features == "learn"


def test_patches_of_images_go_into_the_file_too(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 1, 1, 4))
    y = np.tanh(2 * (X[:, 0, 0] - np.roll(X[:, 0, 0], -1, 1))) ** 2
    arch = ps.models.gap(1, kernel_size=3, bias_variance=0.1)
    machine = KernelMachine(arch, features="learn", whiten=False, flips=False).fit(X[:, 0], y.mean(1))
    if machine.features_.kept:
        assert isinstance(machine.model_, MappedPatches)
    again = KernelMachine.load(machine.save(tmp_path / "machine.npz"))
    np.testing.assert_allclose(again.predict(X[:5, 0]), machine.predict(X[:5, 0]))


def test_columns_of_a_frame_are_named():
    X = np.random.default_rng(0).normal(size=(120, 3))
    frame = pd.DataFrame({"age": X[:, 0], "kind": np.where(X[:, 1] > 0, "x", "y"), "size": X[:, 2]})
    machine = KernelMachine("laplace", features="learn").fit(frame, np.sin(3 * X[:, 2]))
    assert machine.column_names_ == ("age", "kind=x", "kind=y", "size")
    assert machine.column_names_[machine.feature_importances_.argmax()] == "size"


def test_marks_count_for_their_column():
    rows = np.array([[0.0, 5.0], [1.0, 6.0], [2.0, 7.5], [1.0, 8.0]])
    coded = Inputs.learnt(rows, (2,)).coded(rows)
    assert coded.owners.tolist() == [0, 0, 0, 1, 1, 1, 1]
    shares = column_shares(coded, np.array([1.0, 0, 1, 1, 1, 0, 0, 0, 4.0]))
    np.testing.assert_allclose(shares, [0.5, 0.5])


def test_many_rows_learn_by_landmarks():
    X, y = problem(450)
    machine = KernelMachine("laplace", features="learn", landmarks=200).fit(X, y)
    plain = KernelMachine("laplace", landmarks=200).fit(X, y)
    new, target = problem(300, seed=6)
    assert machine.features_.kept
    assert 1 - machine.score(new, target) < 0.5 * (1 - plain.score(new, target))


def test_features_are_not_left_out_in_closed_form_and_want_a_kernel_that_can():
    assert not may_be_closed(KernelMachine("laplace", features="learn"))
    X, y = problem(40)
    with pytest.raises(ValueError, match="features of 'learn', None"):
        KernelMachine(features="yes").fit(X, y)
    with pytest.raises(ValueError, match="goes with head='regression'"):
        KernelMachine(features="learn", head="svm").fit(X, y > 0)
    with pytest.raises(ValueError, match="can be differentiated and mapped"):
        KernelMachine("fcn-1/sign", features="learn").fit(X, y)


def test_rivals_are_behind_the_machine_with_features(learnt):
    """R² 0.9 against less than half of it: no kernel without features may be called level; on noise nothing is behind."""
    others = [r for r in learnt.report_.rivals if r.key != learnt.report_.chosen.key]
    assert others
    assert not any(r.level for r in others)
    plain = next(r for r in others if r.name == "laplace")
    assert plain.behind == pytest.approx(plain.score - plain.score * (1 - learnt.features_.gain), rel=1e-6)
    assert "0 of 1 other kernels are level" in str(learnt.report_)


def moved(machine, x, step=1e-4):
    """Central differences (n, columns) of predictions."""
    found = []
    for j in range(x.shape[1]):
        e = np.zeros(x.shape[1])
        e[j] = step
        found.append((machine.predict(x + e) - machine.predict(x - e)) / (2 * step))
    return np.stack(found, 1)


def test_gradients_are_differences_of_predictions_in_the_users_units(learnt):
    X, y = problem()
    scaled = X * np.array([1, 10, 100, 1, 1, 1, 1, 0.1]) + 5
    machine = KernelMachine("gaussian", features="learn").fit(scaled, 7 * y)
    new = np.random.default_rng(1).normal(size=(9, 8)) * scaled.std(0) + scaled.mean(0)
    for fitted, at in ((learnt, X[:7] + 0.3), (machine, new)):
        got = fitted.gradients(torch.from_numpy(at))[:, 0].numpy()
        np.testing.assert_allclose(got, moved(fitted, at), rtol=1e-4, atol=1e-4 * np.abs(got).max())
    assert not np.allclose(got, moved(machine, at) / machine.inputs_.scale, rtol=0.1)  # units matter


def test_the_outer_product_of_a_machine_shows_its_directions():
    w = np.array([1.0, -1.0, 0, 0, 0]) / 2**0.5
    X = np.random.default_rng(0).normal(size=(150, 5))
    machine = KernelMachine("laplace", features="learn").fit(X, np.sin(3 * X @ w))
    M = ps.probes.gradient_outer_product(machine, torch.from_numpy(X))
    g = machine.gradients(torch.from_numpy(X))[:, 0]
    torch.testing.assert_close(M.matrix, g.T @ g / len(g))
    top = machine.directions_[0]
    assert abs(top @ w) > 0.99
    np.testing.assert_allclose(machine.directions_ @ machine.directions_.T, np.eye(5), atol=1e-10)
    scale = machine.inputs_.scale
    own = np.linalg.eigh(M.matrix.numpy() * np.outer(scale, scale))[1][:, -1]
    assert abs(own @ top) == pytest.approx(1.0, abs=1e-8)
    assert abs(top @ np.array([0, 0, 1.0, 0, 0])) < 0.2


def test_whitened_images_have_slopes_by_pixel_and_marks_have_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1, 2, 4)) + rng.normal(size=(40, 1, 1, 1))
    machine = KernelMachine("fcn-2", flips=False).fit(X, X[:, 0, 0, 0] - X[:, 0, 1, 2])
    assert machine.inputs_.matrix.size
    got = machine.gradients(torch.from_numpy(X[:3]))
    assert got.shape == (3, 1, 1, 2, 4)
    step = 1e-4 * np.eye(8)[3].reshape(1, 2, 4)
    change = (machine.predict(X[:3] + step) - machine.predict(X[:3] - step)) / 2e-4
    np.testing.assert_allclose(got.reshape(3, 8)[:, 3], change, rtol=1e-5)
    stepped = KernelMachine("fcn-1", inputs="steps").fit(X[:, 0, 0], X[:, 0, 0, 0])
    with pytest.raises(ValueError, match="marks without a slope"):
        stepped.gradients(torch.zeros(1, 4))
    with pytest.raises(ValueError, match="inputs='standard'"):
        _ = stepped.directions_
    assert stepped.feature_importances_.argmax() == 0
