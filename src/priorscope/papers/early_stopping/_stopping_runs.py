"""Four measurements on clusters and digits: a spectrum, a fit of random labels, steps by clusters, a stop and its forecast."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from priorscope.lab import Metrics, Point

if TYPE_CHECKING:
    from torch import Tensor, nn

    from priorscope.data import Dataset

CORRUPTED = (0.3, 0.5)  # shares of wrong labels whose part in the information space is told


def measure(point: Point) -> Metrics:
    """One of the four measurements."""
    return {"spectrum": spectrum, "fit": fit, "steps": steps, "stop": stop}[point["kind"]](point)


def spectrum(point: Point) -> Metrics:
    """Where the widest gap of the singular values is, the values, and the part of labels in the leading K²C directions."""
    from priorscope import data, models, probes

    K, C, n, seed = point["classes"], point["components"], point["n"], point["seed"]
    samples = data.gaussian_clusters(n, classes=K, components=C, dim=20, spread=0.1, seed=seed)
    network = models.OneHiddenLayer(20, point["width"], K, seed=seed)
    assert samples.train_labels is not None
    others = {f"{rate:g}": _labels(data.with_wrong_labels(samples, rate, seed=seed)) for rate in CORRUPTED}
    wanted = K * K * C
    found = probes.information_split(network, samples.inputs, samples.train_labels, others=others, most=wanted + 12)
    told = found
    if found.dimension != wanted:  # parts are told of the theorem's space wherever the gap is
        told = probes.information_split(network, samples.inputs, samples.train_labels, others=others, dimension=wanted)
    return {
        "dimension": found.dimension,
        "gap": found.gap,
        "first": found.singular_values[0],
        "last": found.singular_values[wanted - 1],
        "next": found.singular_values[wanted],
        "part_0": told.information["labels"],
        **{f"part_{rate:g}": told.information[f"{rate:g}"] for rate in CORRUPTED},
    }


def fit(point: Point) -> Metrics:
    """The logarithm of the loss along gradient descent on labels at random, both layers trained."""
    import torch

    from priorscope import data, models
    from priorscope.inference import GradientDescent

    seed = point["seed"]
    samples = data.random_labels(torch.eye(20, dtype=torch.float64), point["n"], seed=seed)
    network = models.OneHiddenLayer(20, point["width"], 1, readout=10.0, seed=seed)
    rate = 0.5 / _largest(network, samples.inputs)
    path = GradientDescent(learning_rate=rate, steps=point["steps"], record=60).fit(network, samples, seed).trajectory
    return {"steps_at": (path.times / rate).numpy(), "log_loss": path.loss.clamp(min=1e-300).log().numpy()}


def steps(point: Point) -> Metrics:
    """The distance of the outputs from the true labels along the steps, although some labels given are wrong."""
    from priorscope import data

    L = point["clusters"]
    clean = data.gaussian_clusters(12 * L, classes=3, components=L // 3, dim=100, spread=0.3, seed=point["seed"])
    return _descend(clean, data.with_wrong_labels(clean, point["rate"], seed=point["seed"]), point)


def stop(point: Point) -> Metrics:
    """A stop forecast from the kernel at the start, and what a run finds at that step, at its best step and at the end."""
    from priorscope import data

    clean = _problem(point["data"], point["seed"])
    noisy = data.with_wrong_labels(clean, point["rate"], seed=point["seed"], test=True)
    return _descend(clean, noisy, point, forecast=True)


def _problem(name: str, seed: int) -> Dataset:
    """Clusters that overlap a little, or digits with inputs of unit length; float64."""
    import torch

    from priorscope import data

    if name == "clusters":
        return data.gaussian_clusters(150, 1500, classes=3, components=2, dim=20, spread=0.5, seed=seed)
    found = data.digits(test_fraction=0.8, seed=seed, dtype=torch.float64).subset(200, seed=seed, n_test=1000)
    return found.transformed(lambda x: x.flatten(1) / x.flatten(1).norm(dim=1, keepdim=True))


def _labels(samples: Dataset) -> Tensor:
    assert samples.train_labels is not None
    return samples.train_labels


def _largest(network: nn.Module, inputs: Tensor) -> float:
    """The largest eigenvalue of the tangent kernel over n: what bounds the step of gradient descent."""
    from priorscope import probes

    return float(probes.ntk_operator(network, inputs).top(1)[0][0])


def _descend(clean: Dataset, noisy: Dataset, point: Point, *, forecast: bool = False) -> Metrics:
    """Full-batch descent on the labels given, seen along its steps on the true ones and on new samples."""
    from priorscope import models, probes
    from priorscope.inference import GradientDescent

    network = models.OneHiddenLayer(
        clean.inputs.shape[1], point["width"], clean.n_outputs, activation="relu", seed=point["seed"]
    )
    rate = point["learning_rate"] if "learning_rate" in point else 1.0 / _largest(network, clean.inputs)
    descent = GradientDescent(
        learning_rate=rate, steps=point["steps"], centre=True, record=60, keep=("outputs", "params")
    )
    fitted = descent.fit(network, noisy, point["seed"])
    path = fitted.trajectory
    assert path.outputs is not None
    assert path.params is not None
    guess = path.outputs.argmax(-1)  # (T, n)
    found: Metrics = {
        "steps_at": (path.times / rate).round().numpy(),
        "true": (guess == _labels(clean)).double().mean(1).numpy(),
        "given": (guess == _labels(noisy)).double().mean(1).numpy(),
        "distance": ((path.outputs - clean.targets).flatten(1).norm(dim=1) / clean.targets.norm()).numpy(),
    }
    if not forecast:
        return found
    assert clean.test_labels is not None
    new = [fitted.predict_with(w, noisy.test.inputs)[0] for w in path.params]
    expected = probes.network_stopping(network, noisy.inputs, noisy.targets, seed=point["seed"])
    at = expected.steps(rate)
    return {
        **found,
        "loss": np.array([float((f - noisy.test.targets).square().sum(1).mean()) for f in new]),
        "accuracy": np.array([float((f.argmax(1) == clean.test_labels).double().mean()) for f in new]),
        "stop": at.value,
        "stop_low": at.low,
        "stop_high": at.high,
        "harm": expected.harm.value,
        "worth_it": expected.worth_it,
    }
