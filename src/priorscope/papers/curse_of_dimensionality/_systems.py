"""What the symmetry papers share: images, groups, architectures, and the four ways to train."""

from __future__ import annotations

from functools import lru_cache
from types import SimpleNamespace

import torch
from torch import Tensor

import priorscope.data as data
import priorscope.models as models
from priorscope.data.groups import Element, Group, named
from priorscope.inference import GradientDescent, KernelRegression
from priorscope.system import accuracy

SOURCE = "What breaks the curse of dimensionality in deep learning? (2021)"
GROUPS = ("identity", "P(c)⊗I", "P(c)^d", "P(cd)", "O(c)⊗I", "O(c)^d", "O(cd)")
SIZE_OF = {"identity": 0, "P(c)⊗I": 1, "O(c)⊗I": 1, "P(c)^d": 2, "O(c)^d": 2, "P(cd)": 3, "O(cd)": 3}
LARGEST = {"fcn": 3, "lcn": 2, "vec": 1, "gap": 1, "lap": 1, "linear": 3}  # Theorem 3.1
TARGET_SIZE = 10.0
VARIANTS = ("ntk", "nn", "nn+", "nn++")
IMAGES = {"cifar10": "CIFAR-10", "local": "synthetic images"}  # each judged by itself


@lru_cache(maxsize=8)  # points of one grid ask for the same images again and again
def images(name: str, size: int, n_train: int, n_test: int, seed: int) -> data.Dataset:
    """CIFAR-10 average-pooled to ``size``, the synthetic local features, or a folder of images ("folder:path")."""
    if name == "local":
        return data.local_features(n_train, n_test, size=size, seed=seed)
    if name.startswith("folder:"):
        found = data.load(name.removeprefix("folder:"), size=size, classes="classes")
        return found.subset(n_train, seed=seed, n_test=min(n_test, len(found.test))).standardised()
    return data.cifar10(size=size, n_train=n_train, n_test=n_test, seed=seed).standardised()


def element(name: str, shape: tuple[int, ...], seed: int, *, special: bool = False) -> Element:
    """A Haar draw of a named group; "identity" is the neutral element."""
    if name == "identity":
        return named(shape)["O(c)⊗I"].identity()
    group: Group = named(shape)[name]
    return group.sample_haar(seed + 1, special=special)


def inside(system: str, group: str, infinite: bool) -> bool:
    """Whether the theorem gives the system this symmetry; VEC gains the rotations per pixel at infinite width."""
    largest = 2 if system == "vec" and infinite else LARGEST[system]
    return SIZE_OF[group] <= largest


def architecture(name: str, depth: int = 2, window: int = 4) -> models.Architecture:
    """FCN, LCN, VEC, GAP, LAP with the default critical variances; "linear" is minimum-norm regression."""
    if name == "linear":
        return models.Architecture("linear", (models.Flatten(), models.Dense()))
    if name == "lap":
        return models.lap(depth=depth, window=window)
    found: models.Architecture = getattr(models, name)(depth=depth)
    return found


def trainer(variant: str, steps: int, batch: int, rate: float = 0.02, decay: float = 5e-3) -> GradientDescent:
    """NN: momentum, small rate, no L2, centred. NN+: larger rate, L2, not centred. NN++: NN+ with MixUp.

    The rates are ours (the paper gives none): 0.01 and 0.02 with momentum 0.9; at 0.1 some systems diverge. MixUp's Beta law
    has parameter 1, what Zhang et al. (2018) take for CIFAR-10.
    """
    if variant == "nn":
        return GradientDescent(learning_rate=0.01, momentum=0.9, steps=steps, batch_size=batch, centre=True, record=2)
    mixup = 1.0 if variant == "nn++" else 0.0
    return GradientDescent(
        learning_rate=rate,
        momentum=0.9,
        weight_decay=decay,
        steps=steps,
        batch_size=batch,
        mixup=mixup,
        schedule="cosine",
        record=2,
    )


def predictions(
    system: str,
    variant: str,
    dataset: data.Dataset,
    *,
    width: int,
    steps: int,
    seed: int,
    members: int = 1,
    depth: int = 2,
    batch: int = 64,
    **options: float,
) -> Tensor:
    """Test predictions (n, outputs), the mean over ``members`` initialisations; kernels with ridge 0.01.

    ``options`` are the rate and decay of the :func:`trainer`.
    """
    side = dataset.input_shape[-1]
    arch = architecture(system, depth, window=4 if side % 4 == 0 else side // 2)
    if variant == "ntk":
        return KernelRegression(kind="ntk", ridge=1e-2).fit(arch, dataset).predict(dataset.test.inputs)
    shape, outputs = tuple(dataset.input_shape), dataset.n_outputs
    descent = trainer(variant, steps, batch, **options)
    # uncentred networks start at random outputs of size 1: larger targets keep that start from drowning the labels
    size = 1.0 if variant == "nn" else TARGET_SIZE
    train = SimpleNamespace(inputs=dataset.inputs, targets=size * dataset.targets, task=dataset.task)
    if members == 1:
        network = arch.network(shape, width=width, outputs=outputs, seed=seed)
        return descent.fit(network, train, seed=seed).predict(dataset.test.inputs) / size
    seeds = range(1000 * seed, 1000 * seed + members)
    ensemble = arch.ensemble(shape, width=width, outputs=outputs, seeds=seeds)
    return descent.fit(ensemble, train, seed=seed).predict(dataset.test.inputs, block=256).mean(0) / size


def score(predicted: Tensor, dataset: data.Dataset) -> float:
    """Test accuracy; a diverged run counts as a guess."""
    if not torch.isfinite(predicted).all():
        return 1.0 / max(dataset.n_outputs, 2)
    return accuracy(predicted, dataset.test.targets)
