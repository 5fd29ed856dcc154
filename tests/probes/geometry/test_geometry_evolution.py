"""Movement of the geometry against the linear model's closed form and against a finite step of gradient flow."""

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad

from priorscope.data import Dataset, Split
from priorscope.probes import geometry_evolution, geometry_trajectory, matrix_correlation, second_moment


def test_linear_model_moves_by_minus_two_variance_s():
    x = torch.randn(7, 4, generator=torch.Generator().manual_seed(0))
    y = torch.randn(7, generator=torch.Generator().manual_seed(1))
    move = geometry_evolution(nn.Linear(4, 1, bias=False), x, y, n_models=20_000, n_probes=1)
    exact = -2 * (1 / 12) * second_moment(x)  # weights U(-1/2, 1/2)
    assert ((move.delta - exact).abs() < 5 * move.standard_error).all()
    assert not ((move.delta - 2 * exact).abs() < 5 * move.standard_error).all()
    assert move.corr_s < -0.97
    assert move.table()["corr_gsg"].iloc[0] == pytest.approx(move.corr_gsg)
    assert move.chart().to_dict()["$schema"]


def test_delta_is_the_derivative_of_the_geometry_along_training():
    module = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1)).double()
    params = {k: v.detach() for k, v in module.named_parameters()}
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = torch.ones(6, 1, dtype=torch.float64)
    points = torch.randn(2, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def geometry(p):
        g = grad(lambda z: functional_call(module, p, (z,)).sum())(points)
        return torch.einsum("pi,pj->pij", g, g)

    rate = grad(lambda p: -((functional_call(module, p, (x,)) - y) ** 2).sum() / 2)(params)
    h = 1e-5
    ahead, behind = ({k: v + s * h * rate[k] for k, v in params.items()} for s in (1, -1))
    exact = (geometry(ahead) - geometry(behind)) / (2 * h)  # (P, D, D)
    move = geometry_evolution([module, module], x, y, probe=points, n_probes=8)  # as given, not drawn again
    coefficients = torch.linalg.lstsq(exact.flatten(1).mT, move.delta.flatten()[:, None]).solution[:, 0]
    torch.testing.assert_close((coefficients[:, None, None] * exact).sum(0), move.delta, rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(coefficients.sum(), torch.tensor(1.0, dtype=torch.float64), rtol=1e-6, atol=0)


def test_bad_input():
    with pytest.raises(ValueError, match="must hold torch.nn.Modules"):
        geometry_evolution([], torch.eye(3), torch.ones(3))
    with pytest.raises(ValueError, match="needs one output"):
        geometry_evolution(nn.Linear(3, 2), torch.eye(3), torch.ones(3))
    with pytest.raises(ValueError, match="matrices of one shape"):
        matrix_correlation(torch.eye(2), torch.eye(3))


class Branching(nn.Module):
    """Takes a branch by the data, which vmap cannot trace; the branch never matters."""

    def __init__(self):
        super().__init__()
        self.hidden, self.readout = nn.Linear(3, 4), nn.Linear(4, 1)

    def forward(self, x):
        h = self.hidden(x).tanh()
        return self.readout(h if bool(h.detach().abs().max() < 2) else 2 * h)


def test_a_model_that_vmap_cannot_trace_runs_one_by_one_and_says_so():
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    y = torch.ones(6, 1)
    plain = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    ours, theirs = (geometry_evolution(m, x, y, n_models=10, n_probes=2, seed=4) for m in (Branching(), plain))
    torch.testing.assert_close(ours.delta, theirs.delta, rtol=1e-4, atol=1e-7)
    assert "one by one" in " ".join(ours.notes)
    assert "one by one" not in " ".join(theirs.notes)
    data = Dataset(Split(x, y.index_fill(0, torch.tensor([1, 2]), -1.0)), Split(x, y), "made-up")
    options = {"epochs": 2, "n_networks": 3, "n_models": 4, "n_probes": 2, "batch": 3}
    paths = [geometry_trajectory(data, m, **options) for m in (Branching(), plain)]
    torch.testing.assert_close(paths[0].corr_s, paths[1].corr_s, rtol=1e-4, atol=1e-6)
    assert "one by one" in " ".join(paths[0].notes)
    assert "one by one" not in " ".join(paths[1].notes)
