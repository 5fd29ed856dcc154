"""Networks of one shape trained at once, against plain torch and against each other."""

import torch
from torch import nn

from priorscope.inference import over_networks, stacked_accuracy, train_stacked
from priorscope.models import Redrawing


def test_networks_trained_together_are_those_trained_alone():
    """Five in one call of vmap against the plain loop, with clipping and a falling rate; a control without the fall."""
    template = nn.Sequential(nn.Flatten(), nn.Linear(4, 5), nn.GELU(), nn.Linear(5, 1))
    start = Redrawing.of(template).stacked(5, torch.Generator().manual_seed(3))
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(5, 12, 4, generator=generator), torch.randn(5, 12, generator=generator).sign()
    options = {"epochs": 3, "learning_rate": 0.5, "batch": 5, "seed": 2, "clip": 0.1}
    together = train_stacked(template, start, x, y, decay=True, **options)
    alone = [
        train_stacked(
            template,
            {k: v[i : i + 1] for k, v in start.items()},
            x[i : i + 1],
            y[i : i + 1],
            decay=True,
            **options,
        )
        for i in range(5)
    ]
    for k, v in together.items():
        torch.testing.assert_close(v, torch.cat([a[k] for a in alone]), rtol=1e-4, atol=1e-6)
        assert (
            float((v - start[k]).flatten(1).norm(dim=1).max()) < 9 * 0.5 * 0.1 * 10
        )  # nine clipped steps, momentum 0.9
    steady = train_stacked(template, start, x, y, **options)
    assert not torch.allclose(steady["1.weight"], together["1.weight"], atol=1e-3)


def test_one_network_follows_torchs_sgd():
    """The oracle is torch.optim.SGD with momentum and weight decay on the same batches."""
    template = nn.Linear(3, 1)
    start = Redrawing.of(template).stacked(3, torch.Generator().manual_seed(1))
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(3, 8, 3, generator=generator), torch.randn(3, 8, generator=generator).sign()
    found = train_stacked(
        template, start, x, y, epochs=4, learning_rate=0.2, batch=4, weight_decay=0.1, clip=1e9, seed=5
    )
    for i in range(3):
        net = nn.Linear(3, 1)
        net.load_state_dict({k: v[i] for k, v in start.items()})
        optimiser = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9, weight_decay=0.1)
        order = torch.Generator().manual_seed(5)
        for _ in range(4):
            for rows in torch.randperm(8, generator=order).split(4):
                optimiser.zero_grad()
                nn.functional.softplus(-y[i, rows] * net(x[i, rows])[:, 0]).mean().backward()
                optimiser.step()
        for name, value in net.named_parameters():
            torch.testing.assert_close(found[name][i], value.detach(), rtol=1e-4, atol=1e-6)


def test_accuracy_counts_right_answers_of_signs_and_of_classes():
    params = {
        "weight": torch.eye(2).repeat(2, 1, 1) * torch.tensor([1.0, -1.0])[:, None, None],
        "bias": torch.zeros(2, 2),
    }
    x = torch.tensor([[[3.0, 1.0], [1.0, 2.0], [5.0, 1.0]]] * 2)
    labels = torch.tensor([[0, 1, 1]] * 2)
    both = [stacked_accuracy(nn.Linear(2, 2), params, x, labels, batched) for batched in (True, False)]
    assert both[0].tolist() == both[1].tolist()
    torch.testing.assert_close(both[0], torch.tensor([2 / 3, 1 / 3]))


def test_one_by_one_is_what_vmap_gives():
    stacked = {"weight": torch.randn(4, 2, 3, generator=torch.Generator().manual_seed(0))}
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
    fn = lambda params, z: params["weight"] @ z  # noqa: E731
    torch.testing.assert_close(over_networks(fn, True)(stacked, x), over_networks(fn, False)(stacked, x))
