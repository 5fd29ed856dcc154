"""The structured data of the jamming papers: parity of digits on a few principal components, and counts of a trained net."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor, nn

from priorscope.data import Split, digits, mnist, random_patterns
from priorscope.lab import Metrics
from priorscope.models import count_weights

MARGIN = 0.5  # ε of Geiger et al. (2019), Sec. III


@lru_cache(maxsize=2)
def components(name: str, dim: int = 10) -> tuple[Tensor, Tensor]:
    r"""All inputs (n, dim) and parities (n,) of "mnist" or "digits", in float64.

    Leading principal components of training and test images together, each divided by its standard deviation, centred, and
    every example scaled to norm :math:`\sqrt d`. The papers do not print the scaling; this is that of their code.
    """
    data = mnist("parity") if name == "mnist" else digits("parity")
    x = torch.cat([data.train.inputs, data.test.inputs]).flatten(1)
    y = torch.cat([data.train.targets, data.test.targets])[:, 0].double()
    x -= x.mean(0)
    square = sum(
        (block.double().mT @ block.double() for block in x.split(10_000)), torch.zeros((), dtype=torch.float64)
    )
    values, vectors = torch.linalg.eigh(square / len(x))
    z = torch.cat([block.double() @ vectors[:, -dim:] for block in x.split(10_000)]) / values[-dim:].sqrt()
    z = z.flip(1)  # leading component first
    z -= z.mean(0)
    return z / z.norm(dim=1, keepdim=True) * dim**0.5, y


def parity(name: str, n_train: int, n_test: int, seed: int, dim: int = 10) -> tuple[Split, Split]:
    """Training set, half even and half odd, and a disjoint test set of the same kind.

    Holds: for one seed smaller training sets are the beginnings of larger ones, and the test set is the same.
    """
    x, y = components(name, dim)
    generator = torch.Generator().manual_seed(seed)
    sides = []
    for sign in (1.0, -1.0):
        rows = torch.nonzero(y == sign).flatten()
        sides.append(rows[torch.randperm(len(rows), generator=generator)])
    n = min(len(side) for side in sides)
    order = torch.stack([side[:n] for side in sides], 1).flatten()  # even, odd, even, …
    if n_train + n_test > len(order):
        raise ValueError(f"{name} has {len(order)} balanced examples; got n_train = {n_train}, n_test = {n_test}.")
    train, test = order[:n_train], order[len(order) - n_test :]
    return Split(x[train], y[train, None]), Split(x[test], y[test, None])


def patterns(name: str, n_train: int, seed: int, dim: int = 10) -> Split:
    """Training set of "random" labels on a sphere, or of the parity of digits."""
    return random_patterns(n_train, dim, seed) if name == "random" else parity(name, n_train, 0, seed, dim)[0]


@torch.no_grad()
def counts(network: nn.Sequential, data: Split, margin: float) -> Metrics:
    """Weights, loss, unsatisfied patterns, and those among them that are dead: a layer that is off for them."""
    z, dead = data.inputs, torch.zeros(len(data), dtype=torch.bool)
    for module in network:
        z = module(z)
        if isinstance(module, nn.ReLU):
            dead |= (z == 0).all(1)
    slack = margin - (data.targets * z)[:, 0]
    unsatisfied = slack > 0
    n, living = count_weights(network), int((unsatisfied & ~dead).sum())
    return {
        "n_weights": n,
        "loss": float(slack.clamp(min=0).square().mean() / 2),
        "living_loss": float(slack[~dead].clamp(min=0).square().sum() / 2 / len(slack)),
        "n_unsatisfied": int(unsatisfied.sum()),
        "n_dead": int((unsatisfied & dead).sum()),
        "overlap_ratio": living / n,
    }
