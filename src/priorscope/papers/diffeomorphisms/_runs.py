"""One training run and its stabilities: what the papers on stability and on performance share."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from torch import nn

from priorscope.data import Dataset, Deform, cifar10, deformed_templates, fashion_mnist, mnist
from priorscope.data.deformations import FoldWarning
from priorscope.inference import GradientDescent
from priorscope.lab import Metrics, Point
from priorscope.models import FiniteModel, convnet, dense, lenet, resnet18
from priorscope.probes import NoResponse, Stability, noise_sweep, stability

ARCHITECTURES: dict[str, Callable[[], FiniteModel]] = {
    "dense-2": lambda: dense(2),
    "dense-4": dense,
    "dense-6": lambda: dense(6),
    "lenet": lambda: lenet(pooling="max"),
    "lenet-average": lenet,
    "max": convnet,
    "average": lambda: convnet(pooling="average"),
    "stride": lambda: convnet(pooling="stride"),
    "max-bn": lambda: convnet(normalisation=True),
    "deep-bn": lambda: convnet(depth=2, normalisation=True),
    "residual-bn": lambda: convnet(depth=2, normalisation=True, skips=True),
    "residual-mean-bn": lambda: convnet(depth=2, normalisation=True, skips=True, readout="mean"),
    "residual-stride-bn": lambda: convnet(depth=3, pooling="stride", normalisation=True, skips=True, readout="mean"),
    "resnet18": resnet18,
}
NORMALISED = ("max-bn", "deep-bn", "residual-bn")  # networks whose readout takes all pixels behind batch normalisation


def learning_rate(model: str) -> float:
    """Adam's 1e-3 for dense networks; for the others momentum's 0.05, and 0.01 where batch norm meets a readout of all pixels.

    Such a readout has hundreds of features of unit size per class, and training at 0.05 diverges.
    """
    if model.startswith("dense"):
        return 1e-3
    return 0.01 if model in NORMALISED else 0.05


def data_of(point: Point) -> Dataset:
    """The data set of a point: a subset for training, standardised by channel, and test images."""
    P, n_test, seed = int(point["n_train"]), int(point["n_test"]), int(point["seed"])
    if point["data"] == "templates":
        return deformed_templates(P, n_test, seed=seed).standardised()
    source = {"mnist": mnist, "fashion-mnist": fashion_mnist, "cifar10": cifar10}[point["data"]]
    return source(n_train=P, n_test=n_test, seed=seed).standardised()


def augmentation(name: str, size: int) -> Deform | None:
    """Deformations at the published temperature 1e-2 and cutoff 1 ("diffeo"), or none."""
    if name == "none":
        return None
    delta = size * (1e-2 * 0.25) ** 0.5  # δ² = n² T S(c)/2 over the image, and S(1) = 1/2
    return Deform(delta, 1, kind="image")


def measure_stability(network: nn.Module, data: Dataset, seed: int, **settings: object) -> Stability:
    """Stability to deformations by one pixel at cutoff 3 on 500 test images, unless told otherwise."""
    options = {"n_images": 500, "n_seeds": 1, "seed": seed, **settings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldWarning)
        return stability(network, data, **options)  # type: ignore[arg-type]


def trained_run(point: Point) -> Metrics:
    """Train one network; its errors, and whether its outputs answer to its input, with D, G, R before and after where they do.

    A network that ends constant (or not finite) on the images of the probe has no R: ``responds`` is false then.
    """
    data, seed = data_of(point), int(point["seed"])
    model = ARCHITECTURES[point["model"]]()
    network = model.network(data.input_shape, point.get("width"), data.n_outputs, seed)
    adam = point["model"].startswith("dense")
    descent = GradientDescent(
        point["learning_rate"],
        int(point["steps"]),
        batch_size=128,
        optimiser="adam" if adam else "sgd",
        momentum=0.0 if adam else 0.9,
        weight_decay=0.0 if adam else 5e-4,
        schedule="constant" if adam else "cosine",
        loss="logistic",
        record=1,
        augment=augmentation(point["augment"], data.input_shape[-1]),
    )
    fitted = descent.fit(network, data, seed=seed)
    assert data.train_labels is not None
    assert data.test_labels is not None
    wrong = float((fitted.predict(data.test.inputs).argmax(1) != data.test_labels).double().mean())
    fit = float((fitted.predict(data.inputs[:2000]).argmax(1) != data.train_labels[:2000]).double().mean())
    try:
        measured = _stabilities(network, fitted.network(), data, seed)
    except NoResponse:
        measured = {"responds": False}
    return {"error": wrong, "train_error": fit, "responds": True, **measured}


def _stabilities(network: nn.Module, after: nn.Module, data: Dataset, seed: int) -> Metrics:
    """D and G before and after training, by layer; after it also by mean and by other ways of moving."""
    first, last = (measure_stability(net, data, seed, layers=True) for net in (network, after))
    mean = measure_stability(after, data, seed, average="mean")
    gaussian = measure_stability(after, data, seed, transformation=Deform(1.0, 3, interpolation="gaussian"))
    others = [
        measure_stability(after, data, seed, cutoff=c).values[0, -1]
        for c in (5, 15 if data.input_shape[-1] >= 30 else 8)
    ]
    small = noise_sweep(after, data, [1e-3 * last.radius, 1e-2 * last.radius], n_images=200, n_seeds=1, seed=seed)
    return {
        "start": first.values[0],  # (layers, 2): D and G
        "end": last.values[0],
        "end_mean": mean.values[0, -1],
        "end_gaussian": gaussian.values[0, -1],
        "end_rough": np.stack(others),
        "noise_slope": float(small.table().slope.iloc[1]),
        "radius": last.radius,
    }
