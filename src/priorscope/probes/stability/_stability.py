"""Is a network less sensitive to deformations than to noise of the same size?"""

from __future__ import annotations

import warnings
from typing import Any, TypedDict

import numpy as np
import torch
from torch import Tensor, nn

from priorscope.checks import NOT_NEGATIVE, SEED, number, whole
from priorscope.contracts import LabelledData, guarded
from priorscope.data.deformations import FoldWarning
from priorscope.probes.stability._family import Family, Transformation, as_family
from priorscope.probes.stability._layers import BatchNorm
from priorscope.probes.stability._response import Average, Response, respond, sphere_noise
from priorscope.probes.stability._result import Stability
from priorscope.probes.stability._subject import Subject, images_of, networks_of

__all__ = ["network_dtype", "stability"]

N_EXAMPLES = 3


class Settings(TypedDict):
    """How one network is measured."""

    average: Average
    layers: bool
    batch_norm: BatchNorm
    seed: int


@guarded(delta=NOT_NEGATIVE, cutoff=number(least=1), n_images=whole(2), n_seeds=whole(), seed=SEED)
def stability(
    model: Subject,
    data: LabelledData | Tensor,
    transformation: Transformation = "deformation",
    *,
    delta: float = 1.0,
    cutoff: float = 3,
    average: Average = "median",
    layers: bool = False,
    n_images: int = 500,
    n_seeds: int = 3,
    batch_norm: BatchNorm = "auto",
    name: str | None = None,
    seed: int = 0,
    **network: Any,
) -> Stability:
    r"""Stability of a network's output to small moves τ of its inputs, alone and relative to noise of the same size.

    .. math:: D = \frac{\langle\|f(\tau x) - f(x)\|^2\rangle}{\langle\|f(x) - f(z)\|^2\rangle},\quad
        G = \frac{\langle\|f(x + \eta) - f(x)\|^2\rangle}{\langle\|f(x) - f(z)\|^2\rangle},\quad R = \frac DG

    with images x and z, and η uniform on the sphere of radius :math:`\langle\|\tau x - x\|\rangle`. The brackets are the
    ``average`` over ``n_images`` images, each with a draw of τ and η of its own. Petrini et al. (2021), "Relative stability
    toward diffeomorphisms indicates performance in deep nets", eqs. 4 and 5, whose defaults these are (median, δ = 1, c = 3,
    500 images). They find R about one at initialisation, and below one after training where networks do well.

    - ``model``: an ``nn.Module`` (f is its output before any softmax), a list of modules such as trained ones, a fitted
      inference, or an architecture or factory, of which ``n_seeds`` networks are drawn (``network`` passes width and such).
    - ``data``: a data set, of which test inputs are taken, or a tensor of inputs.
    - ``transformation``: "deformation", "shift", "turn" or "zoom" (all by ``delta`` pixels in the root mean square), an object
      such as ``priorscope.data.Deform(...)``, a group of ``priorscope.data.groups``, or a function of a batch.
    - ``layers=True`` measures after every layer, with the same moves and noise for all of them.
    - ``batch_norm``: layers that have not seen a batch yet normalise by the images of the probe, others by what they stored.

    Holds: R = 1 for the identity and any orthogonal map with the median of an odd number of images; R does not change when f is
    scaled or shifted.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits()
        >>> found = stability(ps.models.fcn(depth=2), data, cutoff=2, delta=0.7, n_images=100, width=64)
        >>> 0.5 < found.R.value < 2
        True
    """
    images, outputs = images_of(data, n_images, seed)
    shape = tuple(images.shape[1:])
    subject, networks = networks_of(model, shape, outputs, n_seeds, seed, **network)
    family = as_family(transformation, images, delta, cutoff)
    notes = [family.note] if family.note else []
    found: list[Response] = []
    with warnings.catch_warnings():
        if family.folds:  # said once, below
            warnings.simplefilter("ignore", FoldWarning)
        for k, one in enumerate(networks):
            x = images.to(network_dtype(one, images))
            how: Settings = {"average": average, "layers": layers, "batch_norm": batch_norm, "seed": seed + 7919 * k}
            found.append(_respond(one, x, family, shape, how))
        examples = _examples(images, family, found[0].radius, seed)
    if family.folds:
        warnings.warn(f"{family.name}: {family.note}.", FoldWarning, stacklevel=3)
    values = np.stack([np.stack([r.move_stability, r.noise_stability], 1) for r in found])
    radius = float(np.mean([r.radius for r in found]))
    return Stability(
        name or subject, family.name, found[0].layers, values, average, radius, len(images), tuple(notes), examples
    )


def _respond(network: nn.Module, x: Tensor, family: Family, shape: tuple[int, ...], how: Settings) -> Response:
    try:
        return respond(network, x, family, **how)
    except RuntimeError as error:
        said = " ".join(str(error).split())
        raise ValueError(f"the network does not take inputs of shape {shape}: {said}") from error


def network_dtype(network: nn.Module, images: Tensor) -> torch.dtype:
    """The type of the network's weights, or of the images where it has none."""
    for p in network.parameters():
        if p.is_floating_point():
            return p.dtype
    return images.dtype


def _examples(images: Tensor, family: Family, radius: float, seed: int) -> Tensor | None:
    """Some images, moved ones and noisy ones (k, 3, …); None where inputs are no images."""
    if images.ndim != 4:
        return None
    moved = family.move(images, seed)[:N_EXAMPLES]
    base = family.rest(images[:N_EXAMPLES])
    noisy = base + sphere_noise(family.rest(images), radius, seed + 0x5EED)[:N_EXAMPLES]
    return torch.stack([base, moved, noisy], 1)
