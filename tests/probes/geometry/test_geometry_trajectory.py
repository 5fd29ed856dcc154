"""The geometry along training against a plain torch loop, one network at a time."""

import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope.probes import AverageGeometry, geometry_evolution, geometry_trajectory, matrix_correlation
from priorscope.probes.geometry._draws import Draws


def train_by_hand(net, x, y, epochs):
    optimiser = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for _ in range(epochs):
        optimiser.zero_grad()
        nn.functional.soft_margin_loss(net(x)[:, 0], y).backward()
        optimiser.step()


def geometry_by_hand(networks, probes):
    rows = []
    for net in networks:
        z = probes.clone().requires_grad_(True)
        rows.append(torch.autograd.grad(net(z).sum(), z)[0].flatten(1).double())
    rows = torch.cat(rows)
    return rows.mT @ rows / len(rows)


def test_training_correlations_and_velocity_are_those_of_a_plain_loop():
    data = ps.data.digits("parity").subset(40, seed=0)
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 6), nn.Tanh(), nn.Linear(6, 1))
    eye = AverageGeometry(torch.eye(64), torch.zeros(64, 64), (1, 8, 8), 2)
    options = {"n_networks": 2, "learning_rate": 0.05, "batch": 40, "n_probes": 3, "seed": 5, "geometry": eye}
    path = geometry_trajectory(data, module, epochs=3, **options)
    draws = Draws(module, (1, 8, 8), 5)
    stacked = draws(2)
    probes = torch.randn(3, 1, 8, 8, generator=torch.Generator().manual_seed(5))
    S = data.inputs.flatten(1).double().mT @ data.inputs.flatten(1).double()
    steps = []
    for epochs in (0, 2, 3):
        networks = []
        for i in range(2):
            net = nn.Sequential(nn.Flatten(), nn.Linear(64, 6), nn.Tanh(), nn.Linear(6, 1))
            net.load_state_dict({k: v[i].clone() for k, v in stacked.items()})
            train_by_hand(net, data.inputs, data.targets[:, 0], epochs)
            networks.append(net)
        steps.append(geometry_by_hand(networks, probes))
    for i in range(2):
        torch.testing.assert_close(path.network(i)(data.inputs), networks[i](data.inputs), rtol=1e-4, atol=1e-5)
    assert float(path.corr_s[0]) == pytest.approx(matrix_correlation(steps[0], S), rel=1e-5)
    assert float(path.corr_s[-1]) == pytest.approx(matrix_correlation(steps[2], S), rel=1e-5)
    assert float(path.velocity[-1]) == pytest.approx(1 - matrix_correlation(steps[2], steps[1]), rel=1e-2)
    torch.testing.assert_close(path.corr_gsg, path.corr_s)  # G = I
    right = torch.stack([(net(data.inputs).sign() == data.targets).float().mean() for net in networks]).mean()
    assert float(path.accuracy[-1]) == pytest.approx(float(right))
    still = geometry_trajectory(data, module, epochs=1, **{**options, "learning_rate": 0.0})
    assert abs(float(still.velocity[0])) < 1e-12
    assert path.chart().to_dict()["$schema"]
    later = geometry_evolution([path.network(i) for i in range(2)], data.inputs, data.targets, n_probes=2)
    assert later.n_models == 2


def test_bad_input():
    data = ps.data.digits().subset(40)
    with pytest.raises(ValueError, match="needs two classes with targets ±1"):
        geometry_trajectory(data, ps.models.fcn(1))
    with pytest.raises(ValueError, match="epochs >= 1"):
        geometry_trajectory(ps.data.digits("parity").subset(40), ps.models.fcn(1), epochs=0)
