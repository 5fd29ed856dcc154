"""A small residual network on three classes of CIFAR-10: where labels and residuals lie, before and after training."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from priorscope.lab import Metrics, Point

if TYPE_CHECKING:
    from torch import Tensor, nn

    from priorscope.data import Dataset
    from priorscope.inference import FittedNetworks

CLASSES = (1, 0, 2)  # automobile, airplane and bird
CONDITIONS = (("sgd", 0.0), ("adam", 0.0), ("sgd", 0.5))  # optimiser and share of wrong labels
DIMENSION = 50  # of the information space, the source's
BLOCK = 200  # images per pass


def three_classes(n_train: int, n_test: int, size: int, seed: int) -> Dataset:
    """Random images of the three classes, standardised by channel, with one-hot targets as in the source."""
    import torch

    from priorscope.data import Split, cifar10

    whole = cifar10(size=size, n_train=min(50_000, 5 * n_train), n_test=min(10_000, 5 * n_test), seed=seed)
    splits, labels = [], []
    for split, given, n in (
        (whole.train, whole.train_labels, n_train),
        (whole.test, whole.test_labels, n_test),
    ):
        assert given is not None
        rows = torch.isin(given, torch.tensor(CLASSES)).nonzero()[:n, 0]
        place = (given[rows][:, None] == torch.tensor(CLASSES)).long().argmax(1)
        splits.append(Split(split.inputs[rows], torch.nn.functional.one_hot(place, len(CLASSES)).float()))
        labels.append(place)
    assert whole.classes is not None
    names = tuple(whole.classes[c] for c in CLASSES)
    return replace(
        whole, train=splits[0], test=splits[1], classes=names, train_labels=labels[0], test_labels=labels[1]
    ).standardised()


def trained(network: nn.Module, samples: Dataset, optimiser: str, steps: int, seed: int) -> FittedNetworks:
    """Squared loss, batches of 64: momentum 0.9 at a rate of 0.01, or Adam at 0.002, falling to zero (our settings)."""
    from priorscope.inference import GradientDescent

    sgd = optimiser == "sgd"
    descent = GradientDescent(
        0.01 if sgd else 0.002,
        steps,
        batch_size=64,
        optimiser=optimiser,
        momentum=0.9 if sgd else 0.0,
        schedule="cosine",
        record=1,
    )
    return descent.fit(network, samples, seed)


def measure(point: Point) -> Metrics:
    """Parts of labels and first residual in the leading directions of both Jacobians, one value per condition."""
    from priorscope import data, models
    from priorscope.probes import information_split

    seed = point["seed"]
    clean = three_classes(point["n"], point["n_test"], point["size"], seed)
    assert clean.test_labels is not None
    model = models.convnet(depth=3, pooling="stride", normalisation="group", skips=True, readout="mean")
    network = model.network(clean.input_shape, point["width"], len(CLASSES), seed).eval()
    options = {"dimension": DIMENSION, "block": BLOCK, "tolerance": 1e-3, "seed": seed}
    given = {share: data.with_wrong_labels(clean, share, seed=seed) for share in {c[1] for c in CONDITIONS}}
    residuals = {share: outputs(network, clean) - one.targets for share, one in given.items()}
    first = {f"labels {share:g}": one.targets for share, one in given.items()}
    first |= {f"residual {share:g}": r for share, r in residuals.items()}
    start = information_split(network, clean.inputs, clean.targets, others=first, **options)
    told: dict[str, list[float]] = {}
    for optimiser, share in CONDITIONS:
        fitted = trained(network, given[share], optimiser, point["steps"], seed)
        after, y, r0 = fitted.network().eval(), given[share].targets, residuals[share]
        end = information_split(after, clean.inputs, y, others={"first residual": r0}, **options)
        names = (f"labels {share:g}", f"residual {share:g}")
        row = {
            "start_labels": start.information[names[0]],
            "start_residual": start.information[names[1]],
            "start_effort": start.effort[names[0]],
            "end_labels": end.information["labels"],
            "end_residual": end.information["first residual"],
            "end_effort": end.effort["labels"],
            "end_energy": end.energy,
        }
        before, left = end.project(r0), end.project(outputs(after, clean) - y)
        row |= {"left_information": left[0] / before[0], "left_nuisance": left[1] / before[1]}
        row |= {  # given training labels that are missed, and clean test labels
            "train_error": float((outputs(after, clean).argmax(1) != y.argmax(1)).double().mean()),
            "test_error": float((fitted.predict(clean.test.inputs).argmax(1) != clean.test_labels).double().mean()),
        }
        for name, value in row.items():
            told.setdefault(name, []).append(value)
    return {
        **{name: np.array(values) for name, values in told.items()},
        "start_energy": start.energy,
        "start_shuffled": start.shuffled,
        "values": start.singular_values,
        "parameters": sum(p.numel() for p in network.parameters()),
    }


def outputs(network: nn.Module, samples: Dataset) -> Tensor:
    """Outputs on the training inputs, without gradients."""
    import torch

    with torch.no_grad():
        return torch.cat([network(part) for part in samples.inputs.split(BLOCK)])
