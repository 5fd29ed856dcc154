"""Information and nuisance: matrix-free against the dense Jacobian, clusters whose number of large values is known."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

from priorscope.probes import information_path, information_split


def dense(network, x):
    """The Jacobian (n outputs, parameters) entry by entry."""
    rows = []
    for value in network(x).reshape(-1):
        rows.append(
            torch.cat([g.flatten() for g in torch.autograd.grad(value, list(network.parameters()), retain_graph=True)])
        )
    return torch.stack(rows).double().numpy()


def small(seed=0, outputs=3):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, outputs)).double()


def test_values_and_parts_are_those_of_the_dense_jacobian():
    net, rng = small(), np.random.default_rng(0)
    x, y = torch.from_numpy(rng.normal(size=(12, 5))), torch.from_numpy(rng.normal(size=(12, 3)))
    z = torch.from_numpy(rng.normal(size=(12, 3)))
    split = information_split(net, x, y, others={"other": z}, dimension=7, block=5)
    U, lam, _ = np.linalg.svd(dense(net, x), full_matrices=False)
    np.testing.assert_allclose(split.singular_values[:8], lam[:8], rtol=1e-6)
    assert split.gap == pytest.approx(lam[6] / lam[7], rel=1e-5)
    f = net(x).detach().reshape(-1).numpy()
    for name, v in {
        "labels": y.reshape(-1).numpy(),
        "residual": f - y.reshape(-1).numpy(),
        "other": z.reshape(-1).numpy(),
    }.items():
        part = U[:, :7].T @ v
        assert split.information[name] == pytest.approx(np.linalg.norm(part) / np.linalg.norm(v), rel=1e-5)
        assert split.nuisance[name] ** 2 + split.information[name] ** 2 == pytest.approx(1)
        assert split.effort[name] == pytest.approx(np.linalg.norm(part / lam[:7]) / np.linalg.norm(v), rel=1e-5)
        assert abs(split.information[name] - np.linalg.norm(U[:, 1:8].T @ v) / np.linalg.norm(v)) > 1e-3  # control
    assert split.chance == pytest.approx(np.sqrt(7 / 36))
    inside = np.linalg.norm(U[:, :7].T @ z.reshape(-1).numpy())
    assert split.project(z) == pytest.approx((inside, np.sqrt(float((z**2).sum()) - inside**2)), rel=1e-5)
    with pytest.raises(ValueError, match="36 finite numbers"):
        split.project(z[:2])


def test_the_energy_left_over_is_that_of_the_dense_jacobian():
    net, rng = small(), np.random.default_rng(0)
    x = torch.from_numpy(rng.normal(size=(40, 5)))
    lam = np.linalg.svd(dense(net, x), compute_uv=False)
    truth = float((lam[:4] ** 2).sum() / (lam**2).sum())
    found = [information_split(net, x, x[:, :3], dimension=4, seed=s).energy for s in range(6)]
    noise = np.std(found, ddof=1) / 6**0.5
    assert abs(np.mean(found) - truth) < 5 * noise
    assert abs(truth - 1) > 10 * noise  # control: what is left over is seen
    assert abs(np.mean(found) - float((lam[:5] ** 2).sum() / (lam**2).sum())) > 5 * noise  # and one direction more


def test_what_labels_in_random_order_have_is_the_mean_over_orders():
    net, rng = small(), np.random.default_rng(0)
    x = torch.from_numpy(rng.normal(size=(30, 5)))
    labels = torch.from_numpy(rng.integers(3, size=30))
    split = information_split(net, x, labels, dimension=6)
    y = torch.nn.functional.one_hot(labels, 3).double().numpy()
    parts = [np.linalg.norm(split.vectors.T @ y[rng.permutation(30)].reshape(-1)) ** 2 / 30 for _ in range(4000)]
    noise = np.std(parts) / 4000**0.5
    assert abs(split.shuffled**2 - np.mean(parts)) < 5 * noise
    assert abs(split.chance**2 - np.mean(parts)) > 5 * noise  # a random direction has less: one-hot labels have a mean
    assert f"in random order: {100 * split.shuffled**2:.0f} %" in split.sentence()


def clusters(n, seed):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(6, 20))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    which = np.arange(n) % 6
    x = centres[which] + 0.1 / np.sqrt(20) * rng.normal(size=(n, 20))
    return torch.from_numpy(x), torch.from_numpy(which % 3)


class Fixed(nn.Module):
    """Softplus features with fixed outer weights ±1/√(k K log K): the setting of the theorem, only the inner ones move."""

    def __init__(self, width, seed):
        super().__init__()
        g = torch.Generator().manual_seed(seed)
        self.inner = nn.Parameter(torch.randn(width, 20, generator=g, dtype=torch.float64))
        signs = torch.randint(2, (3, width), generator=g).double() * 2 - 1
        self.register_buffer("outer", signs / np.sqrt(width * 3 * np.log(3)))

    def forward(self, x):
        return torch.nn.functional.softplus(x @ self.inner.T) @ self.outer.T


def test_clusters_have_classes_squared_times_components_large_values():
    x, labels = clusters(120, 0)
    rng = np.random.default_rng(1)
    redrawn = torch.where(torch.from_numpy(rng.random(120) < 0.5), torch.from_numpy(rng.integers(3, size=120)), labels)
    split = information_split(Fixed(200, 0), x, labels, others={"half redrawn": redrawn}, most=40)
    assert split.dimension == 18  # K² C = 9 × 2
    assert split.gap > 4
    assert split.information["labels"] > 0.99
    assert split.information["half redrawn"] < 0.9
    assert "18 leading directions" in split.sentence()


def test_the_path_of_two_moments():
    x, labels = clusters(60, 0)
    net = Fixed(40, 0)
    moved = copy.deepcopy(net)
    with torch.no_grad():
        moved.inner.mul_(0.5)
    path = information_path({"start": net, "end": moved}, x, labels, dimension=10)
    assert path.table()["when"].unique().tolist() == ["start", "end"]
    assert path.splits["end"].singular_values[0] != pytest.approx(path.splits["start"].singular_values[0])
    assert path.chart().to_dict()["mark"]["type"] == "line"
    assert len(path.splits["start"].chart().to_dict()["layer"]) == 2


def test_a_space_of_all_but_one_dimension_has_no_gap_to_tell():
    split = information_split(nn.Linear(3, 1, bias=False), torch.eye(3), torch.eye(3)[:, :1], dimension=2)
    assert split.dimension == 2
    assert np.isnan(split.gap)


def test_what_cannot_be_split_is_refused():
    net, x = small(), torch.randn(6, 5, dtype=torch.float64)
    with pytest.raises(ValueError, match=r"targets of shape \(6, 3\)"):
        information_split(net, x, torch.ones(6, 2))
    with pytest.raises(ValueError, match="all of it is zero"):
        information_split(net, x, torch.zeros(6, 3))
    with pytest.raises(ValueError, match="dimension < samples"):
        information_split(net, x, torch.ones(6, 3), dimension=18)
    with pytest.raises(ValueError, match="at least one network"):
        information_path({}, x, torch.ones(6, 3))


def test_inputs_that_the_network_does_not_take_are_told():
    net, x, y = nn.Linear(5, 1), torch.randn(6, 5), torch.ones(6, 1)
    with pytest.raises(
        ValueError, match=r"information_split needs inputs of the type of the weights, torch.float32; got torch.f"
    ):
        information_split(net, x.double(), y)
    with pytest.raises(
        ValueError, match=r"information_split needs inputs that the network takes; on torch.int64 of shape \(1, 5"
    ):
        information_split(net, x.long(), y)
    with pytest.raises(ValueError, match=r"on torch.float32 of shape \(1, 4\) Linear says: .*Its first layer says"):
        information_split(net, x[:, :4], y)
    with pytest.raises(TypeError, match="inputs as a tensor; got ndarray"):
        information_split(net, x.numpy(), y)
    with pytest.raises(TypeError, match="noise as a tensor; got list"):
        information_split(net, x, y, others={"noise": [1.0] * 6})


def test_other_labels_are_a_dictionary():
    x = torch.randn(10, 2)
    with pytest.raises(TypeError, match="others as a dictionary or None; got Tensor"):
        information_split(nn.Linear(2, 1), x, x[:, :1], others=x)
