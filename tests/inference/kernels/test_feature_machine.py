"""Kernel machines that learn features: closed forms, rotations, directions, and what leave-one-out may not know."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.contracts import kernel_matrix
from priorscope.inference import FeatureMachine, FeatureSetting, RidgePath, feature_map
from priorscope.inference.kernels._feature_plan import Learning
from priorscope.inference.kernels._feature_search import plan_features
from priorscope.inference.ridge import Landmarks, mean_eigenvalue, solved
from priorscope.models import Architecture, Dense

LAPLACE = ps.models.laplace()
LINEAR = Architecture("linear", (Dense(),))
GIVEN = {"power": 0.5, "diagonal": False, "bandwidth": 1.0, "ridge": 1e-3}


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def rows(x, y):
    return SimpleNamespace(inputs=x, targets=y.reshape(len(x), -1))


def by_landmarks(blocks, inner, targets, weights, ridge):
    sums = Landmarks(inner, targets, weights)
    for block in blocks:
        sums.add(block)
    return sums.solve(ridge)


def test_one_ridge_is_that_of_the_path():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    K, Y, w = np.exp(-((X[:, None] - X) ** 2).sum(-1)), rng.normal(size=(20, 2)), rng.uniform(0.3, 2, 20)
    path, found = RidgePath.of_kernel(K, w), solved(K, Y, w, 0.1, left_out=True)
    np.testing.assert_allclose(found.coefficients, path.solve(Y, 0.1), rtol=1e-8)
    np.testing.assert_allclose(found.offset, path.intercept(Y, K @ found.coefficients), rtol=1e-8)
    np.testing.assert_allclose(Y - found.residuals, path.leave_one_out(Y, [0.1])[0], rtol=1e-8)
    np.testing.assert_allclose(mean_eigenvalue(K, w), path.scale, rtol=1e-10)
    whole = by_landmarks([K[:7], K[7:]], K, Y, w, 0.1)  # all rows as landmarks, in two blocks: the same function
    np.testing.assert_allclose(K @ whole.coefficients + whole.offset, K @ found.coefficients + found.offset, rtol=1e-6)
    with pytest.raises(ValueError, match="blocks of 20 rows in all; got 7"):
        by_landmarks([K[:7]], K, Y, w, 0.1)


@pytest.mark.parametrize("ridge", [1e-6, 0.1, 10.0])
def test_landmarks_are_a_penalised_least_squares_problem(ridge):
    """Σ w (y - Kc - b)² + r cᵀK_zz c as one stacked least-squares problem, with roots of weights and kernel."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    K, Y, w = np.exp(-((X[:, None] - X) ** 2).sum(-1)), rng.normal(size=(30, 2)), rng.uniform(0.3, 2, 30)
    cross, inner = K[:, ::5], K[::5, ::5]
    found = by_landmarks((cross[i : i + 11] for i in (0, 11, 22)), inner, Y, w, ridge)
    lam, U = np.linalg.eigh(inner)
    penalty = np.sqrt(ridge) * (U * np.sqrt(lam)).T
    root = np.sqrt(w)[:, None]
    A = np.block([[root * cross, root], [penalty, np.zeros((len(inner), 1))]])
    wanted = np.linalg.lstsq(A, np.vstack([root * Y, np.zeros((len(inner), 2))]), rcond=None)[0]
    np.testing.assert_allclose(cross @ found.coefficients, cross @ wanted[:-1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.offset, wanted[-1], rtol=1e-5, atol=1e-6)
    assert found.ridge == ridge


def test_landmarks_that_repeat_themselves_are_solved_without_a_warning():
    """A kernel of rank one: normal equations of the coefficients would be singular; the fit is the line by least squares."""
    x = np.linspace(-1, 1, 21)
    K = np.outer(x, x)
    found = by_landmarks([K[:, 2:9]], K[2:9, 2:9], (3 * x + 2)[:, None], np.ones(21), 1e-9)
    np.testing.assert_allclose(K[:, 2:9] @ found.coefficients + found.offset, (3 * x + 2)[:, None], rtol=1e-6)


def test_the_moment_of_a_linear_fit_is_its_direction_squared():
    """A linear kernel fits f(x) = w·x + b, so M = w wᵀ exactly, and w is that of ridge regression."""
    x = draw(40, 3)
    y = x @ torch.tensor([2.0, -1.0, 0.0], dtype=torch.float64) + 1
    fit = FeatureMachine(rounds=0, power=0.5, diagonal=False, bandwidth=1.0, ridge=1e-9).fit(LINEAR, rows(x, y))
    wanted = torch.tensor([2.0, -1.0, 0.0], dtype=torch.float64)
    torch.testing.assert_close(fit.moment, torch.outer(wanted, wanted), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(
        fit.importances, torch.tensor([0.8, 0.2, 0.0], dtype=torch.float64), rtol=1e-5, atol=1e-5
    )
    torch.testing.assert_close(fit.gradients(x[:4])[:, 0], wanted.expand(4, 3), rtol=1e-5, atol=1e-5)


def test_the_moment_of_a_quadratic_teacher_is_four_bcb():
    """f = xᵀBx has ∇f = 2Bx, so M = 4 B C B with C the second moment of the rows; a smooth kernel with many rows gets there."""
    x = draw(400, 2)
    B = torch.tensor([[1.0, 0.5], [0.5, -0.3]], dtype=torch.float64)
    y = ((x @ B) * x).sum(1)
    fit = FeatureMachine(rounds=0, power=0.5, diagonal=False, bandwidth=3.0, ridge=1e-8).fit(
        ps.models.gaussian(), rows(x, y)
    )
    wanted = 4 * B @ (x.T @ x / len(x)) @ B
    torch.testing.assert_close(fit.moment, wanted, rtol=0.01, atol=0.01 * float(wanted.max()))
    assert not torch.allclose(fit.moment, wanted / 4, rtol=0.1)


def test_a_map_keeps_the_size_of_the_inputs_and_its_power():
    M, x = torch.diag(torch.tensor([16.0, 1.0, 0.0])), draw(50, 3)
    for setting in (FeatureSetting(0.5), FeatureSetting(0.5, diagonal=True), FeatureSetting(1.0)):
        A = feature_map(M, setting, x)
        own = A if A.ndim == 1 else A.diagonal()
        assert float(own[0] / own[1]) == pytest.approx(16**setting.power)
        moved = (x - x.mean(0)) * own
        assert float(moved.square().sum()) == pytest.approx(float((x - x.mean(0)).square().sum()))
    assert float(feature_map(M, FeatureSetting(bandwidth=2.0)).square().sum()) == pytest.approx(3 / 4)
    with pytest.raises(ValueError, match="does not depend on its inputs"):
        feature_map(torch.zeros(2, 2), FeatureSetting())


def test_single_index_data_show_their_direction():
    """y = sin(3 w·x) in ten dimensions: M's first direction is w, and the error falls; a random direction has cosine 0.3."""
    w = draw(10, seed=3)
    w = w / w.norm()
    x, new = draw(300, 10), draw(300, 10, seed=1)
    fit = FeatureMachine(rounds=3, **GIVEN).fit(LAPLACE, rows(x, torch.sin(3 * x @ w)))
    top = torch.linalg.eigh(fit.moment).eigenvectors[:, -1]
    assert float((top @ w).abs()) > 0.98
    plain = FeatureMachine(rounds=0, **GIVEN).fit(LAPLACE, rows(x, torch.sin(3 * x @ w)))
    wrong = [float((f.predict(new)[:, 0] - torch.sin(3 * new @ w)).square().mean()) for f in (fit, plain)]
    assert wrong[0] < 0.2 * wrong[1]


@pytest.mark.parametrize("model", [LAPLACE, ps.models.gaussian(), ps.models.fcn(2)])
def test_a_full_m_does_not_see_rotations_and_a_diagonal_one_does(model):
    x, new = draw(60, 4), draw(20, 4, seed=1)
    y = x[:, 0] * x[:, 1]
    Q = torch.linalg.qr(draw(4, 4, seed=2)).Q

    def predicted(turn, diagonal):
        machine = FeatureMachine(rounds=2, **{**GIVEN, "diagonal": diagonal})
        return machine.fit(model, rows(x @ turn, y)).predict(new @ turn)

    eye = torch.eye(4, dtype=torch.float64)
    torch.testing.assert_close(predicted(Q, False), predicted(eye, False), rtol=1e-5, atol=1e-6)
    assert float((predicted(Q, True) - predicted(eye, True)).abs().max()) > 0.05


def test_noise_teaches_no_features():
    """Left out with an M that has not seen the row, noise is not learnt; under the M of all rows it would seem so."""
    x, y = draw(150, 10), draw(150, seed=5)
    found = FeatureMachine(rounds=3, power=0.5, diagonal=False, bandwidth=1.0).fit(LAPLACE, rows(x, y))
    assert found.plan.losses[found.rounds] > 0.95 * float(y.var())
    fit = FeatureMachine(rounds=3, **GIVEN).fit(LAPLACE, rows(x, y))
    K = np.asarray(kernel_matrix(fit.model, x))
    path = RidgePath.of_kernel(K)
    left = path.leave_one_out(y.numpy()[:, None], path.scale * np.geomspace(1e-3, 10, 9))
    flattered = ((left - y.numpy()[:, None]) ** 2).mean((1, 2)).min()
    assert flattered < 0.9 * float(y.var())  # the control: what a naive choice would go by


def test_left_out_losses_are_those_of_rows_the_features_have_not_seen():
    """The cross-fitted loss of one round against brute force: M without the fold, then n refits under it."""
    x, y = draw(18, 3), draw(18, seed=4)[:, None]
    model = LAPLACE.settled(x)
    plan = plan_features(
        Learning(model, "ntk", x, y.numpy(), np.ones(18)),
        rounds=1, power=0.5, diagonal=False, bandwidth=1.0, ridge=0.05, folds=2, seed=0,
    )  # fmt: skip
    order = np.random.default_rng([0, 11]).permutation(18)
    total = 0.0
    for k in range(2):
        fold = order[k::2]
        inside = np.sort(np.setdiff1d(np.arange(18), fold))
        K = np.asarray(kernel_matrix(model, x[inside]))
        fit = solved(K, y.numpy()[inside], np.ones(9), 0.05 * mean_eigenvalue(K, np.ones(9)))
        M = model.feature_moment(x[inside], x[inside], torch.from_numpy(fit.coefficients))
        K = np.asarray(kernel_matrix(model.mapped(feature_map(M, FeatureSetting(), x[inside])), x))
        r = 0.05 * mean_eigenvalue(K, np.ones(18))
        for i in fold:
            rest = np.arange(18) != i
            one = solved(K[np.ix_(rest, rest)], y.numpy()[rest], np.ones(17), r)
            total += float((K[i, rest] @ one.coefficients + one.offset - y.numpy()[i])[0]) ** 2
    assert plan.losses[1] == pytest.approx(total / 18, rel=1e-6)


def test_many_rows_go_by_landmarks_and_stay_close():
    w = torch.tensor([1.0, -1.0, 0, 0, 0], dtype=torch.float64)
    x, new = draw(900, 5), draw(200, 5, seed=1)
    target = lambda v: torch.sin(2 * v @ w)  # noqa: E731
    all_rows = FeatureMachine(rounds=2, **GIVEN).fit(LAPLACE, rows(x, target(x)))
    some = FeatureMachine(rounds=2, landmarks=300, **GIVEN).fit(LAPLACE, rows(x, target(x)))
    half = FeatureMachine(rounds=2, share=0.5, **GIVEN).fit(LAPLACE, rows(x, target(x)))
    wrong = [float((f.predict(new)[:, 0] - target(new)).square().mean()) for f in (all_rows, some, half)]
    assert len(some.anchors) == 300
    assert "landmarks" in some.notes[0]
    plain = FeatureMachine(rounds=0, **GIVEN).fit(LAPLACE, rows(x, target(x))).predict(new)[:, 0]
    assert max(wrong) < 0.2 * float((plain - target(new)).square().mean())


def test_features_of_patches_find_the_filter():
    """Targets that depend on one direction of each 2-pixel patch only: M of the patches has it as its first mode."""
    x = draw(120, 1, 6)
    p = torch.stack([x[:, 0], x[:, 0].roll(-1, 1)], -1)
    y = torch.tanh(2 * (p[..., 0] - p[..., 1])).square().mean(1)
    fit = FeatureMachine(rounds=2, power=0.5, diagonal=False, bandwidth=1.0, ridge=1e-3).fit(
        ps.models.gap(1, kernel_size=2, bias_variance=0.1), rows(x, y)
    )
    top = torch.linalg.eigh(fit.moment).eigenvectors[:, -1]
    assert float((top @ torch.tensor([1.0, -1.0], dtype=torch.float64) / 2**0.5).abs()) > 0.99


def test_what_cannot_learn_features_is_refused():
    x = draw(10, 2)
    with pytest.raises(TypeError, match=r"has no expansion_gradients, feature_moment, mapped"):
        FeatureMachine().fit(SimpleNamespace(kernel=lambda a, b=None, kinds=(): None), rows(x, x[:, 0]))
    for wrong in ({"power": -1.0}, {"diagonal": "no"}, {"rounds": -1}, {"share": 0.0}, {"kind": "x"}):
        with pytest.raises((ValueError, TypeError)):
            FeatureMachine(**wrong)
