"""Landmarks, support vectors, intervals, probabilities, frames, images: against exact solutions, peers and simulation."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import priorscope as ps
from priorscope.sklearn import KernelMachine
from priorscope.sklearn._flips import FlipAveraged


def test_all_rows_as_landmarks_give_the_exact_solution():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60)
    exact = KernelMachine("fcn-2", kind="nngp", ridge=0.05).fit(X, y)
    most = KernelMachine("fcn-2", kind="nngp", ridge=0.05, landmarks=59).fit(X, y)
    few = KernelMachine("fcn-2", kind="nngp", ridge=0.05, landmarks=5).fit(X, y)
    Z = rng.normal(size=(20, 3))
    near, far = (np.abs(m.predict(Z) - exact.predict(Z)).max() for m in (most, few))
    assert near < 0.02 < 0.1 < far
    assert len(few.X_fit_) == 5
    assert few.report_.chosen.rows == 60
    assert few.report_.chosen.squared > 2 * exact.report_.chosen.squared  # what is told is the loss of the landmarks
    assert "5 of 60 rows are landmarks (Nyström)" in str(few.report_)


def test_landmarks_reach_the_exact_error_on_smooth_targets():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 2))
    y = X[:, 0] ** 2 - X[:, 1] + 0.1 * rng.normal(size=1500)
    machine = KernelMachine("fcn-2-erf", landmarks=400).fit(X[:1200], y[:1200])
    exact = KernelMachine("fcn-2-erf", landmarks="all").fit(X[:1200], y[:1200])
    errors = [np.mean((m.predict(X[1200:]) - y[1200:]) ** 2) for m in (machine, exact)]
    assert errors[0] < 1.1 * errors[1]
    assert KernelMachine("fcn-2-erf", landmarks=4).fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) < 0.97


@pytest.mark.parametrize("classes", [2, 3])
def test_the_margin_head_is_scikit_learns(classes):
    X, y = load_digits(n_class=classes, return_X_y=True)
    X, y = X[:80], y[:80]
    machine = KernelMachine("fcn-1", kind="ntk", ridge=1.0, head="svm").fit(X, y)
    C = float(str(machine.report_.notes[-1]).split("C = ")[1].split(",")[0])
    x = machine.inputs_(X)
    K = machine.model_.kernel(x).ntk.numpy()
    scale = (np.trace(K) - K.sum() / 80) / 79  # mean eigenvalue of the centred kernel
    f = machine._function(X)
    for c in range(classes):
        peer = SVC(kernel="precomputed", C=C).fit(K / scale, y == c)
        np.testing.assert_allclose(2 * f[:, c] - 1, peer.decision_function(K / scale), atol=2e-2)
    assert (machine.predict(X) == y).mean() > 0.97
    with pytest.raises(ValueError, match="head='svm' separates classes; these targets are numbers"):
        KernelMachine(head="svm").fit(X, y + 0.5 * X[:, 20])


def test_intervals_cover_new_targets():
    rng = np.random.default_rng(2)
    inside = {0.5: [], 0.9: []}
    widths = []
    for _ in range(12):
        X = rng.normal(size=(160, 2))
        y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=160)
        machine = KernelMachine("fcn-2-erf", kind="nngp").fit(X[:60], y[:60])
        for level, hits in inside.items():
            _, found = machine.predict(X[60:], return_interval=True, level=level)
            hits += ((found[:, 0] <= y[60:]) & (y[60:] <= found[:, 1])).tolist()
        widths.append(np.median(found[:, 1] - found[:, 0]))
    for level, hits in inside.items():  # draws share their training set: 12 fits, not 1,200 samples, decide the error
        assert abs(np.mean(hits) - level) < 3.5 * np.sqrt(level * (1 - level) / len(hits)) + 0.04
    assert 0.3 * 2 * 1.645 * 0.9 < np.mean(widths) < 0.3 * 2 * 1.645 * 2  # not by being wide


def test_probabilities_are_calibrated():
    """Where each probability is said, the class comes that often; scores as they are do not pass the same test."""
    rng = np.random.default_rng(3)
    said, raw, came = [], [], []
    for _ in range(6):
        X = rng.normal(size=(600, 2))
        truth = 1 / (1 + np.exp(-3 * X[:, 0]))
        y = rng.random(600) < truth
        machine = KernelMachine("fcn-2-erf").fit(X[:200], y[:200])
        said += machine.predict_proba(X[200:])[:, 1].tolist()
        f = machine._function(X[200:])
        raw += (np.exp(f[:, 1]) / np.exp(f).sum(1)).tolist()
        came += y[200:].tolist()
    came = np.array(came, dtype=float)

    def gap(p):
        bins = np.digitize(p, [0.1, 0.3, 0.5, 0.7, 0.9])
        return max(abs(came[bins == b].mean() - np.array(p)[bins == b].mean()) for b in np.unique(bins))

    assert gap(said) < 0.07  # 2,400 samples, some 400 per bin: 3 standard errors are 0.06 to 0.075
    assert gap(raw) > 0.15


def test_a_frame_with_words_and_gaps_in_any_order():
    rng = np.random.default_rng(4)
    n = 120
    frame = pd.DataFrame({"size": rng.normal(size=n), "colour": rng.choice(["red", "green", "blue"], n)})
    y = (frame["size"] > 0) & (frame["colour"] != "blue")
    frame.loc[5, "size"] = np.nan
    machine = KernelMachine().fit(frame, y)
    assert machine.score(frame, y) > 0.9
    assert "1 missing value" in str(machine.report_)
    again = machine.predict_proba(frame[["colour", "size"]])
    np.testing.assert_allclose(again, machine.predict_proba(frame))
    strange = pd.DataFrame({"size": [1.0, 1.0], "colour": ["purple", None]})
    assert np.isfinite(machine.predict_proba(strange)).all()
    assert machine.rows_.unknown(strange) == (
        "column 'colour': 1 of 2 rows hold words no training row had, such as 'purple'",
    )
    with pytest.raises(ValueError, match="lacks 'colour'"):
        machine.predict(frame[["size"]])


def test_a_kernel_over_flips_does_not_tell_mirror_images():
    X = load_digits().data
    arch = ps.models.vec(1)
    x = torch.from_numpy(X[:6]).reshape(-1, 1, 8, 8)
    z = torch.from_numpy(X[6:10]).reshape(-1, 1, 8, 8)
    flipped = FlipAveraged(arch)
    want = sum(arch.kernel(a, b).ntk for a in (x, x.flip(-1)) for b in (z, z.flip(-1))) / 4
    torch.testing.assert_close(flipped.kernel(x, z).ntk, want)
    torch.testing.assert_close(flipped.kernel(x).nngp, flipped.kernel(x, x.clone()).nngp)
    assert (flipped.kernel(x, z).ntk - arch.kernel(x, z).ntk).abs().max() > 1e-3

    class Lopsided:
        """A kernel that sees the left half of an image only."""

        def kernel(self, x1, x2=None, *, kinds=("nngp", "ntk")):
            return arch.kernel(x1[..., :4], None if x2 is None else x2[..., :4], kinds=kinds)

    want = sum(arch.kernel(a[..., :4], b[..., :4]).ntk for a in (x, x.flip(-1)) for b in (z, z.flip(-1))) / 4
    torch.testing.assert_close(FlipAveraged(Lopsided()).kernel(x, z).ntk, want)
    own = FlipAveraged(Lopsided()).kernel(x).ntk
    torch.testing.assert_close(own, own.mT)


def test_flips_are_kept_where_labels_share_them_and_whitening_where_it_helps():
    rng = np.random.default_rng(5)
    bars = np.zeros((120, 1, 6, 6))
    y = rng.integers(0, 2, 120)
    for i in range(120):  # the class is the row of a bright pixel, its column is anywhere
        bars[i, 0, 1 + 3 * y[i], rng.integers(0, 6)] = 1
    noise = rng.normal(size=(120, 1, 6, 6))
    images = bars + 0.3 * noise
    machine = KernelMachine("vec-1").fit(images[:60], y[:60])
    assert any(
        note.startswith("averaging over flips: left-out loss") and note.endswith("kept")
        for note in machine.report_.notes
    )
    assert machine.score(images[60:], y[60:]) >= KernelMachine("vec-1", flips=False).fit(images[:60], y[:60]).score(
        images[60:], y[60:]
    )
    shared = 20 * noise.mean((2, 3), keepdims=True) * 6 + images  # one strong direction that says nothing
    white = KernelMachine("vec-1", flips=False).fit(shared[:60], y[:60])
    assert "ZCA" in white.report_.chosen.inputs
    assert white.inputs_.matrix.shape == (36, 36)


def test_whitening_is_the_inverse_root_of_the_regularised_covariance():
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(50, 9)) @ rng.normal(size=(9, 9))
    plain = ps.sklearn._inputs.Inputs.learnt(rows, (1, 3, 3))
    x = plain(rows).reshape(50, 9).numpy()
    cov = np.cov(x, rowvar=False, bias=True)
    M = plain.whitened(rows, 0.1).matrix
    np.testing.assert_allclose(M, M.T, atol=1e-10)
    product = M @ M @ (cov + 0.1 * np.trace(cov) / 9 * np.eye(9))
    np.testing.assert_allclose(product, product[0, 0] * np.eye(9), atol=1e-9)
    np.testing.assert_allclose((x @ M).var(0).mean(), 1.0, rtol=1e-9)


def uneven():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 3))
    return X, X[:, 0] + 0.3 * rng.normal(size=60) > 0.9, rng.normal(size=(20, 3))


def test_landmarks_weigh_classes_as_the_exact_solution_does(monkeypatch):
    X, y, Z = uneven()
    settings = {"kind": "nngp", "ridge": 0.05, "class_weight": "balanced"}
    exact = KernelMachine("fcn-2", **settings).fit(X, y)
    most = KernelMachine("fcn-2", landmarks=59, **settings).fit(X, y)
    even = KernelMachine("fcn-2", **{**settings, "class_weight": None}).fit(X, y)
    assert np.abs(most._function(Z) - exact._function(Z)).max() < 0.02
    assert np.abs(even._function(Z) - exact._function(Z)).max() > 0.1
    assert most.report_.chosen.wrong == pytest.approx(exact.report_.chosen.wrong, abs=0.05)
    assert most.report_.chosen.wrong > 0
    monkeypatch.setattr("priorscope.sklearn._solution.BLOCK", 7)  # the same features, block by block
    blocks = KernelMachine("fcn-2", landmarks=59, **settings).fit(X, y)
    np.testing.assert_allclose(blocks._function(Z), most._function(Z), atol=1e-9)


def test_losses_of_landmarks_are_those_of_left_out_rows():
    """Ridge regression on the features of the landmarks, fitted again without each row."""
    X, y, _ = uneven()
    machine = KernelMachine("fcn-1", kind="nngp", ridge=0.3, landmarks=8, metric="error", task="classification")
    machine.fit(X, y)
    z = machine.X_fit_
    Kzz = machine.model_.kernel(z).nngp.numpy()
    cross = machine.model_.kernel(machine.inputs_(X), z).nngp.numpy()
    phi = np.linalg.solve(np.linalg.cholesky(Kzz), cross.T).T
    Y, wrong = np.eye(2)[y.astype(int)], []
    for i in range(60):
        rest = np.arange(60) != i
        centre, mean = phi[rest].mean(0), Y[rest].mean(0)
        p = phi[rest] - centre
        w = np.linalg.solve(p.T @ p + 0.3 * np.eye(8), p.T @ Y[rest])
        wrong.append((mean + (phi[i] - centre) @ w).argmax() != y[i])
    assert machine.report_.chosen.wrong == pytest.approx(np.mean(wrong)) == machine.report_.chosen.score
    assert 0 < np.mean(wrong) < 0.5


def test_many_rows_are_predicted_in_parts():
    X, _, Z = uneven()
    machine = KernelMachine("fcn-1", kind="nngp", ridge=0.1, landmarks=5).fit(X, X[:, 0])
    many = np.tile(Z, (401, 1))  # 8,020 rows
    np.testing.assert_allclose(machine.predict(many), np.tile(machine.predict(Z), 401), atol=1e-12)


def test_intervals_of_several_targets_and_of_landmarks():
    X, y, Z = uneven()
    both = np.stack([X[:, 0], 10 * X[:, 1] + np.sin(9 * X[:, 2])], 1)
    machine = KernelMachine("fcn-1", kind="nngp", ridge=0.05).fit(X, both)
    values, intervals = machine.predict(Z, return_interval=True, level=0.8)
    assert intervals.shape == (20, 2, 2)
    np.testing.assert_allclose(intervals.mean(-1), values)
    for c in (0, 1):  # each target by itself has the same kernel, ridge and residuals
        alone = KernelMachine("fcn-1", kind="nngp", ridge=0.05).fit(X, both[:, c])
        np.testing.assert_allclose(alone.predict(Z, return_interval=True, level=0.8)[1], intervals[:, c], rtol=1e-6)
    few = KernelMachine("fcn-1", kind="nngp", ridge=0.05, landmarks=10).fit(X, both[:, 1])
    width = np.diff(few.predict(Z, return_interval=True, level=0.8)[1])
    np.testing.assert_allclose(width, width.mean())  # one width for all
    with pytest.raises(ValueError, match="intervals are for numbers"):
        KernelMachine("fcn-1").fit(X, y).predict(Z, return_interval=True)


@pytest.mark.parametrize("least", [1, 2, 4])
def test_margins_of_a_rare_class(least):
    """Five folds, over which the rows of the rarest class are spread; a fold without a class scores it nowhere."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(30, 2)) + 4.0 * np.repeat([[0, 0], [1, 0], [0, 1]], [15, 15 - least, least], axis=0)
    y = np.repeat(["a", "b", "c"], [15, 15 - least, least])
    machine = KernelMachine("fcn-1", kind="ntk", ridge=1.0, head="svm").fit(X, y)
    assert "chosen by 5 folds" in machine.report_.notes[-1]
    assert (machine.predict(X) == y).mean() > 0.8
    assert np.isfinite(machine.predict_proba(X)).all()


def test_margins_of_two_rows():
    machine = KernelMachine("fcn-1", kind="ntk", ridge=1.0, head="svm").fit([[0.0], [1.0]], ["a", "b"])
    assert machine.predict([[-1.0], [2.0]]).tolist() == ["a", "b"]


def test_classes_that_a_fold_lacks_have_the_score_zero():
    from priorscope.sklearn._loss import Problem
    from priorscope.sklearn._solution import _one_against_others

    labels = np.array([0, 0, 2, 2])
    K = np.eye(4)
    alpha, b = _one_against_others(K, Problem(np.eye(3)[labels], labels, np.ones(4)), 1.0)
    assert (alpha[:, 1] == 0).all()
    assert b[1] == 0
    np.testing.assert_allclose((K @ alpha + b)[:, [0, 2]], np.eye(3)[labels][:, [0, 2]], atol=0.51)
    only = np.zeros(4, dtype=int)
    alpha, b = _one_against_others(K, Problem(np.eye(3)[only], only, np.ones(4)), 1.0)
    assert b.tolist() == [1, 0, 0]
    assert not alpha.any()
    heavy = _one_against_others(K, Problem(np.eye(2)[labels // 2], labels // 2, np.array([1.0, 1, 5, 5])), 0.1)[1]
    light = _one_against_others(K, Problem(np.eye(2)[labels // 2], labels // 2, np.ones(4)), 0.1)[1]
    assert heavy[1] > light[1] + 1e-3  # a heavier class pulls the offset to its side
    np.testing.assert_allclose(heavy.sum(), 1)


def test_columns_are_named_by_the_frame():
    X, _, _ = uneven()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert KernelMachine("fcn-1").fit(frame, X[:, 0]).column_names_ == ("a", "b", "c")
    assert KernelMachine("fcn-1").fit(X, X[:, 0]).column_names_ == ("x0", "x1", "x2")
    images = KernelMachine("fcn-1", input_shape=(1, 3), whiten=False).fit(X.reshape(60, 1, 3), X[:, 0])
    assert images.column_names_ == ("x0", "x1", "x2")
    words = KernelMachine("fcn-1").fit(frame.assign(d=np.where(X[:, 0] > 0, "u", "v")), X[:, 0]).rows_
    assert words.words == ("d",)
    assert words.unknown(frame) == ()  # the column is not there at all
    assert images.rows_.words == ()
    assert images.rows_.unknown(X) == ()


def test_slopes_of_many_rows_are_taken_at_some(monkeypatch):
    X, _, _ = uneven()
    machine = KernelMachine("laplace", inputs="standard").fit(X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] ** 2)
    every = machine.gradients(torch.from_numpy(X))[:, 0].numpy() * machine.inputs_.scale

    def shares(rows):
        squares = (every[rows] ** 2).mean(0)
        return squares / squares.sum()

    np.testing.assert_allclose(machine.feature_importances_, shares(slice(None)), rtol=1e-6)
    for seen, step in ((60, 1), (59, 2), (30, 2), (29, 3), (7, 9)):
        monkeypatch.setattr("priorscope.sklearn._slopes.SEEN", seen)
        np.testing.assert_allclose(machine.feature_importances_, shares(slice(None, None, step)), rtol=1e-6)
    assert ps.sklearn._slopes.leading(np.eye(3)[None], 2).shape == (2, 3)
    assert ps.sklearn._slopes.leading(np.eye(3)[None].repeat(2, 0), 2).shape == (2, 3)
