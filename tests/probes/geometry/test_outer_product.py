"""The average gradient outer product: closed forms, one engine with the geometry, matrix-free against dense, errors."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope.probes import GradientOuterProduct, average_geometry, gradient_outer_product, relu_geometry
from priorscope.probes.geometry import _outer_result
from priorscope.probes.geometry._outer_product import function_gradients


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


class Quadratic(nn.Module):
    """f(x) = xᵀBx, one output per B."""

    def __init__(self, *B):
        super().__init__()
        self.B = nn.Parameter(torch.stack(B))

    def forward(self, x):
        return torch.einsum("ni,oij,nj->no", x, self.B, x)


def test_a_quadratic_form_has_four_bcb():
    """∇f = 2Bx for symmetric B, so M = 4 B C B with C the second moment of the inputs, averaged over the outputs."""
    B = [draw(3, 3, seed=s) for s in (1, 2)]
    B = [(b + b.T) / 2 for b in B]
    x = draw(40, 3)
    C = x.T @ x / len(x)
    M = gradient_outer_product(Quadratic(*B), x)
    wanted = sum(4 * b @ C @ b for b in B) / 2
    torch.testing.assert_close(M.matrix, wanted)
    assert M.trace == pytest.approx(float(wanted.trace()))
    assert M.effective_rank == pytest.approx(float(wanted.trace() ** 2 / wanted.square().sum()))
    torch.testing.assert_close(M.importances, wanted.diagonal() / wanted.trace())
    torch.testing.assert_close(M.eigenvalues, torch.linalg.eigvalsh(wanted).flip(0))


def test_many_outputs_by_signs_keep_the_mean():
    """Forty outputs of a linear map have M = WᵀW / 40; with random signs the mean over seeds is the same, within its error."""
    net = nn.Linear(4, 40, bias=False).double()
    wanted = (net.weight.T @ net.weight / 40).detach()
    found = torch.stack([gradient_outer_product(net, draw(2, 4), seed=s).matrix for s in range(200)])
    error = found.std(0) / 200**0.5
    assert bool(((found.mean(0) - wanted).abs() < 5 * error).all())
    assert not bool(((found.mean(0) - 2 * wanted).abs() < 5 * error).all())


def test_at_initialisation_it_is_the_average_geometry():
    """One hidden ReLU layer: a multiple of the identity in closed form (relu_geometry), and what average_geometry measures."""
    x = draw(60, 4).float()
    arch = ps.models.fcn(1, weight_variance=2.0)
    M = gradient_outer_product(arch, x, n_models=2000, n_probes=8, width=32, seed=1)
    G = average_geometry(arch, x, n_models=2000, n_probes=8, width=32, seed=2)
    closed = relu_geometry(4, weight_variance=2.0 / 4, readout_variance=2.0).double()
    errors = M.rows.double().square().sum(1).std(0) / len(M) ** 0.5
    assert bool(((M.matrix - closed).diagonal().abs() < 5 * errors).all())
    apart = (M.matrix - G.matrix.double()).abs()
    scale = float(errors.max())
    assert bool((apart < 5 * (G.standard_error.double() + scale)).all())
    assert not bool(((M.matrix - 1.3 * closed).diagonal().abs() < 5 * errors).all())
    assert M.unit == "network"


def test_without_the_matrix_the_same_modes(monkeypatch):
    net = nn.Sequential(nn.Linear(30, 50), nn.Tanh(), nn.Linear(50, 2)).double()
    x = draw(25, 30)
    dense = gradient_outer_product(net, x, n_modes=5)
    M, values, vectors, rank = dense.matrix, dense.eigenvalues[:5], dense.modes[:, :5], dense.effective_rank
    for limit in (100, 10):  # by the products of gradients with each other, then by Lanczos
        free = GradientOuterProduct(dense.rows, dense.input_shape, n_modes=5)
        monkeypatch.setattr(_outer_result, "DENSE", min(29, limit))
        assert free.matrix_free
        torch.testing.assert_close(free.eigenvalues[:5], values, rtol=1e-6, atol=1e-9)
        overlap = (free.modes[:, :5].T @ vectors).diagonal().abs()
        torch.testing.assert_close(overlap, torch.ones(5, dtype=torch.float64), rtol=1e-5, atol=1e-5)
        assert free.effective_rank == pytest.approx(rank)
        v = np.ones(30)
        np.testing.assert_allclose(free.operator() @ v, M.numpy() @ v, rtol=1e-9)
        with pytest.raises(ValueError, match="is not formed"):
            _ = free.matrix


def test_errors_are_those_of_fresh_samples():
    """The stated error of the first eigenvalue and of an importance against their spread over fresh inputs."""
    net = nn.Sequential(nn.Linear(3, 20), nn.Tanh(), nn.Linear(20, 1)).double()
    torch.manual_seed(0)
    many = [gradient_outer_product(net, draw(100, 3, seed=s)) for s in range(60)]
    spread = torch.stack([m.eigenvalues[0] for m in many]).std()
    said = torch.stack([m.eigenvalue_errors[0] for m in many]).mean()
    assert 0.6 < float(said / spread) < 1.6  # a standard deviation of 60 draws is known to 9 %, two of them to 18 %
    spread = torch.stack([m.importances for m in many]).std(0)
    said = torch.stack([m.importance_errors for m in many]).mean(0)
    assert bool(((said / spread > 0.6) & (said / spread < 1.6)).all())


@pytest.mark.parametrize(
    "inference",
    [
        ps.inference.KernelRegression(ridge=1e-2),
        ps.inference.FeatureMachine(rounds=1, power=0.5, diagonal=False, bandwidth=1.0, ridge=1e-2),
    ],
)
def test_fitted_kernels_agree_with_differences(inference):
    x, h = draw(30, 3), 1e-4
    fitted = inference.fit(
        ps.models.fcn(2, activation="erf"), SimpleNamespace(inputs=x, targets=torch.sin(2 * x[:, :1]))
    )
    columns = [
        (fitted.predict(x + e) - fitted.predict(x - e))[:, 0] / (2 * h) for e in h * torch.eye(3, dtype=torch.float64)
    ]
    g = torch.stack(columns, 1)
    M = gradient_outer_product(fitted, x)
    torch.testing.assert_close(M.matrix, g.T @ g / len(g), rtol=1e-5, atol=1e-6 * M.trace)


def test_an_outcome_stands_for_what_was_fitted():
    x = draw(30, 3).float()
    data = ps.data.from_arrays(x, torch.sin(2 * x[:, 0]))
    outcome = ps.System(data, ps.models.laplace(), ps.inference.KernelRegression(ridge=0.1)).run()
    assert torch.equal(
        gradient_outer_product(outcome, data).matrix, gradient_outer_product(outcome.fitted, data).matrix
    )
    signs = ps.data.digits("parity").subset(30)
    machine = ps.System(signs, ps.models.laplace(), ps.inference.SupportVectorMachine()).run()
    with pytest.raises(TypeError, match="FittedMachine has no gradients"):
        gradient_outer_product(machine, signs)


def test_gradients_of_trained_networks_are_those_of_their_modules():
    x = draw(12, 3).float()
    data = ps.data.from_arrays(x, x[:, 0] * x[:, 1])
    alone = ps.System(data, ps.models.fcn(1), ps.inference.GradientFlow(time=1.0), width=8).run().fitted
    both = ps.System(data, ps.models.fcn(1), ps.inference.GradientFlow(time=1.0), width=8, members=2).run().fitted
    assert alone.gradients(x).shape == (12, 1, 3)
    assert both.gradients(x).shape == (2, 12, 1, 3)
    for fitted, found in ((alone, alone.gradients(x)), (both, both.gradients(x)[1])):
        k = len(fitted) - 1
        z = x.clone().requires_grad_(True)
        now, start = fitted.network(k), fitted.members.network(fitted.initial, k)
        z = z.detach().to(next(now.parameters()).dtype).requires_grad_(True)
        value = fitted.alpha[k] * (now(z) - (start(z) if fitted.centre else 0))
        (wanted,) = torch.autograd.grad(value.sum(), z)
        torch.testing.assert_close(found[:, 0], wanted.to(found), rtol=1e-4, atol=1e-5)
    assert gradient_outer_product(both, x).unit == "network"


def test_the_user_s_network_is_left_as_it_was():
    net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1)).train()
    before = {k: v.clone() for k, v in net.state_dict().items()}
    first, second = (gradient_outer_product(net, draw(5, 3)).matrix for _ in range(2))
    assert torch.equal(first, second)
    assert net.training
    assert all(p.requires_grad and p.grad is None for p in net.parameters())
    assert all(torch.equal(v, before[k]) for k, v in net.state_dict().items())


def test_what_has_no_gradient_is_refused():
    x = draw(5, 3)
    with pytest.raises(ValueError, match="ignores its input"):
        gradient_outer_product(nn.Sequential(nn.Linear(3, 2), nn.Threshold(1e9, 0.0), nn.Linear(2, 1)).double(), x)
    with pytest.raises(TypeError, match=r"nn.Module, a fitted predictor with .gradients"):
        gradient_outer_product(3, x)
    with pytest.raises(ValueError, match="at least two finite inputs"):
        gradient_outer_product(nn.Linear(3, 1), x[:1])
    with pytest.raises(ValueError, match="must map"):
        gradient_outer_product(nn.Identity(), draw(4, 2, 3))
    with pytest.raises(ValueError, match="one name per input"):
        gradient_outer_product(nn.Linear(3, 1).double(), x).importance_table(["a"])


def test_along_training_the_relevant_direction_appears():
    """y depends on x₀ alone: M starts with x₀ as one direction among five and ends with most of its trace there."""
    x = draw(100, 5).float()
    data = ps.data.from_arrays(x, torch.tanh(3 * x[:, 0]))
    flow = ps.inference.GradientFlow(alpha=0.1, time=1.5, loss="squared", keep=("params",), record=6, centre=False)
    outcome = ps.System(data, ps.models.fcn(1), flow, width=32).run(seed=0)
    path = ps.probes.feature_trajectory(outcome, data)
    table = path.table()
    assert len(table) == len(outcome.trajectory.times)
    assert table["with_end"].iloc[-1] == pytest.approx(1.0)
    assert table["with_start"].iloc[0] == pytest.approx(1.0)
    shares = [float(p.importances[0]) for p in path.products]
    assert shares[0] < 0.5 < 0.8 < shares[-1]
    assert table["effective_rank"].iloc[-1] < 0.6 * table["effective_rank"].iloc[0]
    path.chart().to_dict()
    with pytest.raises(TypeError, match="follows trained networks"):
        ps.probes.feature_trajectory(
            ps.System(data, ps.models.fcn(1), ps.inference.KernelRegression(ridge=0.1)).run(), data
        )


def test_arrays_are_asked_for_as_tensors():
    with pytest.raises(
        TypeError, match="data as samples .inputs and targets. or a tensor; got ndarray.*torch.as_tensor"
    ):
        gradient_outer_product(nn.Linear(2, 1), np.zeros((5, 2)))


def test_gradients_of_many_inputs_come_in_blocks_and_in_order():
    x = torch.randn(300, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = function_gradients(lambda z: torch.stack([z[:, 0] ** 2, z[:, 0] * z[:, 1]], 1), x, torch.eye(2).double())
    assert found.shape == (300, 2, 2)
    torch.testing.assert_close(found[:, 0], torch.stack([2 * x[:, 0], torch.zeros(300).double()], 1))
    torch.testing.assert_close(found[:, 1], x.flip(1))


@pytest.mark.parametrize("count", [3, 40])
def test_modes_of_more_inputs_than_a_matrix_is_formed_for(count):
    """From the products of the gradients with each other: the right singular vectors of the rows."""
    rows = torch.randn(count, 1, 3100, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    rows *= torch.linspace(1, 2, count)[:, None, None]
    found = GradientOuterProduct(rows, (3100,), n_modes=8)
    _, s, v = torch.linalg.svd(rows[:, 0] / count**0.5, full_matrices=False)
    kept = min(count, 8)
    assert found.eigenvalues.shape == (kept,)
    torch.testing.assert_close(found.eigenvalues, s[:kept] ** 2)
    torch.testing.assert_close((found.modes.mT @ v[:kept].mT).abs(), torch.eye(kept).double(), atol=1e-6, rtol=0)


def test_a_trajectory_without_recorded_weights_has_a_start_and_an_end():
    """M of an ensemble with two outputs: the mean over members and outputs of the gradients' outer products."""
    x = torch.randn(12, 3, generator=torch.Generator().manual_seed(0))
    data = ps.data.from_arrays(x, torch.stack([x[:, 0], x[:, 1] ** 2], 1), test_fraction=0.0)
    descent = ps.inference.GradientDescent(learning_rate=0.1, steps=5, centre=False)
    outcome = ps.System(data, ps.models.fcn(1), descent, width=6, members=2).run()
    path = ps.probes.feature_trajectory(outcome, data)
    fitted = outcome.fitted
    assert len(path.products) == 2
    assert path.losses[0] > path.losses[1]
    for M, params in zip(path.products, (fitted.initial, fitted.params)):
        rows = fitted.gradients_with(params, data.inputs).double()  # (members, n, outputs, D)
        torch.testing.assert_close(
            M.matrix, torch.einsum("kndi,kndj->ij", rows, rows) / rows[..., 0].numel(), rtol=1e-4, atol=1e-6
        )
    few, other = (ps.probes.feature_trajectory(outcome, data, n_samples=4, n_modes=2, seed=s) for s in (1, 2))
    assert len(few.products[0]) == 4
    assert few.products[0].n_modes == 2
    assert not torch.allclose(few.products[0].matrix, other.products[0].matrix)
    assert path.table()["with_start"].iloc[0] == pytest.approx(1)
    assert path.table()["with_end"].iloc[-1] == pytest.approx(1)
    assert path.table()["with_end"].iloc[0] < 1
    with pytest.raises(TypeError, match="as trained networks"):
        ps.probes.feature_trajectory(object(), data)
