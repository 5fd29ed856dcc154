"""Settings that race where rows are many: losses by hand, rows that judge, what all rows then add, and who wins."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.contracts import kernel_matrix
from priorscope.inference import FeatureMachine, FeatureSetting, feature_map
from priorscope.inference.kernels._feature_plan import Learning
from priorscope.inference.kernels._feature_race import race_features
from priorscope.inference.ridge import mean_eigenvalue, solved

LAPLACE = ps.models.laplace()


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def rows(x, y):
    return SimpleNamespace(inputs=x, targets=y.reshape(len(x), -1))


def one_fit(model, x, y, relative):
    """Coefficients and intercept of a fit, and its moment, written out."""
    K = np.asarray(kernel_matrix(model, x))
    found = solved(K, y, np.ones(len(x)), relative * mean_eigenvalue(K, np.ones(len(x))))
    return found, model.feature_moment(x, x, torch.from_numpy(found.coefficients))


def test_losses_are_those_of_rows_that_nothing_was_learnt_from():
    """One round with all settings given, against the same by hand: 40 rows teach M and the fit, 20 others are predicted."""
    x = draw(60, 3)
    y = torch.sin(3 * x[:, :1]).numpy()
    model = LAPLACE.settled(x)
    plan = race_features(Learning(model, "ntk", x, y, np.ones(60)), 1, 0.5, False, 1.0, 0.05, seed=0)
    order = np.random.default_rng([0, 11]).permutation(60)
    own, judge = np.sort(order[:40]), np.sort(order[40:])
    np.testing.assert_array_equal(plan.rows, judge)
    first, M = one_fit(model, x[own], y[own], 0.05)
    mapped = model.mapped(feature_map(M, FeatureSetting(), x[own]))
    second, _ = one_fit(mapped, x[own], y[own], 0.05)
    for found, kernel, loss in ((first, model, plan.losses[0]), (second, mapped, plan.losses[1])):
        guess = np.asarray(kernel_matrix(kernel, x[judge], x[own])) @ found.coefficients + found.offset
        assert loss == pytest.approx(float(((guess - y[judge]) ** 2).mean()), rel=1e-8)
    assert plan.rounds == 1
    assert plan.loss < 0.6 * plan.losses[0]


def test_all_rows_add_to_the_last_m_in_their_share():
    """M after a race is that of its rows and that of a fit to the others under the same map, by their numbers of rows."""
    x = draw(70, 3)
    y = torch.sin(3 * x[:, :1])
    machine = FeatureMachine(rounds=2, power=0.5, diagonal=False, bandwidth=1.0, screen=20)
    fit = machine.fit(LAPLACE, rows(x, y))
    assert fit.rounds == 2
    order = np.random.default_rng([0, 11]).permutation(70)
    own, others = np.sort(order[:46]), np.sort(order[46:])
    model = LAPLACE.settled(x)
    _, M = one_fit(model, x[own], y.numpy()[own], fit.plan.ridges[0])
    mapped = model.mapped(feature_map(M, FeatureSetting(), x[own]))
    torch.testing.assert_close(fit.plan.start.model.matrix, mapped.matrix)
    parts = [one_fit(mapped, x[part], y.numpy()[part], fit.plan.ridges[1])[1] for part in (own, others)]
    torch.testing.assert_close(fit.moment, (46 * parts[0] + 24 * parts[1]) / 70, rtol=1e-6, atol=1e-9)
    assert not torch.allclose(fit.moment, parts[0], rtol=0.01)  # the control: the rows of the race alone
    assert fit.trajectory.times.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("turned", [False, True])
def test_columns_want_a_diagonal_m_and_directions_a_full_one(turned):
    x, new = draw(750, 12), draw(300, 12, seed=1)
    w = torch.zeros(12, dtype=torch.float64)
    w[3] = 1.0
    target = lambda v: torch.sin(3 * v @ w)  # noqa: E731
    Q = torch.linalg.qr(draw(12, 12, seed=2)).Q if turned else torch.eye(12, dtype=torch.float64)
    fit = FeatureMachine().fit(LAPLACE, rows(x @ Q, target(x)))
    assert fit.setting.diagonal is not turned
    plain = FeatureMachine(rounds=0).fit(LAPLACE, rows(x @ Q, target(x)))
    wrong = [float((f.predict(new @ Q)[:, 0] - target(new)).square().mean()) for f in (fit, plain)]
    assert wrong[0] < 0.2 * wrong[1]
    assert plain.rounds == 0


def test_a_ridge_that_predicts_best_does_not_hide_directions():
    """Without features nothing is predicted here, so that leave-one-out wants a large ridge; M of such a fit leads nowhere."""
    x, new = draw(450, 8), draw(300, 8, seed=6)
    target = lambda v: torch.sin(3 * v[:, 2]) + 0.5 * v[:, 7]  # noqa: E731
    fit = FeatureMachine().fit(LAPLACE, rows(x, target(x)))
    assert max(fit.plan.ridges[:-1]) <= 1e-3
    assert float((fit.predict(new)[:, 0] - target(new)).square().mean()) < 0.1 * float(target(new).var())


def test_noise_teaches_no_features_to_many_rows():
    x, y = draw(600, 10), draw(600, seed=5)
    fit = FeatureMachine().fit(LAPLACE, rows(x, y))
    assert fit.rounds == 0
    assert fit.plan.loss > 0.9 * float(y.var())
    assert fit.plan.loss == fit.plan.losses[0]


def test_what_is_given_is_kept():
    x = draw(300, 4)
    y = torch.sin(3 * x[:, 0])
    machine = FeatureMachine(power=1.0, diagonal=True, bandwidth=2.0, screen=50)
    fit = machine.fit(LAPLACE, rows(x, y))
    assert fit.setting == FeatureSetting(1.0, True, 2.0)
    assert {name for name, _ in fit.plan.tried} == {str(fit.setting)}
    ridge = FeatureMachine(ridge=0.03, screen=50).fit(LAPLACE, rows(x, y))
    assert set(ridge.plan.ridges) == {0.03}
    again = FeatureMachine(power=1.0, diagonal=True, bandwidth=2.0, screen=50, share=1.0).fit(LAPLACE, rows(x, y))
    assert len(again.trajectory.times) == again.rounds + 1  # all rounds anew, on all rows
