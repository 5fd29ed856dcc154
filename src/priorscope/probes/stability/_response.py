"""Squared changes of a network's outputs under moves, under noise of the same size, and from image to image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from priorscope.printing import printed
from priorscope.probes.stability._family import Family
from priorscope.probes.stability._layers import BatchNorm, layer_outputs, layers_of, probing

__all__ = ["Average", "NoResponse", "Response", "average_of", "respond", "sphere_noise"]

Average: TypeAlias = Literal["median", "mean"]
BLOCK = 256  # images per forward pass where they do not meet in a norm


class NoResponse(ValueError):
    """Raised where stability is not defined: outputs that do not change with the input, or are not finite.

    Example:
        >>> from priorscope.probes import stability
        >>> still = nn.Sequential(nn.Flatten(), nn.Linear(16, 1))
        >>> _ = nn.init.zeros_(still[1].weight)
        >>> try:
        ...     stability(still, torch.rand(20, 1, 4, 4), cutoff=2, delta=0.3)
        ... except NoResponse as error:
        ...     print(str(error)[:28])
        the model ignores its input:
    """


@printed
@dataclass(frozen=True)
class Response:
    """Averages over images of squared changes of each layer's output (L,): under moves, under noise, between two images.

    Example:
        >>> found = Response(("output",), np.array([2.0]), np.array([4.0]), np.array([8.0]), radius=0.1)
        >>> found.move_stability, found.noise_stability, found.relative_stability
        (array([0.25]), array([0.5]), array([0.5]))
    """

    layers: tuple[str, ...]
    moved: NDArray[np.float64]
    noisy: NDArray[np.float64]
    between: NDArray[np.float64]
    radius: float

    @property
    def move_stability(self) -> NDArray[np.float64]:
        """D, the change under moves relative to that between images."""
        return self.moved / self.between

    @property
    def noise_stability(self) -> NDArray[np.float64]:
        """G, the change under noise relative to that between images."""
        return self.noisy / self.between

    @property
    def relative_stability(self) -> NDArray[np.float64]:
        """R = D / G."""
        return self.moved / self.noisy


def average_of(values: Tensor, average: Average) -> float:
    """The median (the mean of the two in the middle of an even number) or the mean."""
    if average == "median":
        return float(np.median(values.double().numpy()))
    if average == "mean":
        return float(values.double().mean())
    raise ValueError(f"average must be 'median' or 'mean'; got {average!r}.")


def sphere_noise(like: Tensor, radius: float, seed: int) -> Tensor:
    """Noise uniform on the sphere of this radius, one vector per image over all pixels and channels.

    Example:
        >>> sphere_noise(torch.zeros(3, 1, 4, 4), 2.0, seed=0).flatten(1).norm(dim=1).round(decimals=4).tolist()
        [2.0, 2.0, 2.0]
    """
    g = torch.randn(like.shape, generator=torch.Generator().manual_seed(seed), dtype=like.dtype)
    factor: Tensor = radius / g.flatten(1).norm(dim=1)
    return g * factor.reshape(-1, *[1] * (like.ndim - 1))


def respond(
    network: nn.Module,
    images: Tensor,
    family: Family,
    *,
    average: Average = "median",
    layers: bool = False,
    batch_norm: BatchNorm = "auto",
    seed: int = 0,
) -> Response:
    """Move every image once, add noise of the average distance moved, and compare outputs; of all layers where asked.

    Fields and noise are the same for every layer. Raises where the moves change no image, or the network no output.
    """
    base, moved = family.rest(images), family.move(images, seed)
    _check_moved(moved, images, family)
    radius = average_of((moved - base).flatten(1).norm(dim=1), average)
    if radius == 0:
        raise ValueError(
            f"under {family.name}, {'half of the images or more' if average == 'median' else 'all images'} stay as they are: "
            "there is nothing to be stable to. Use a larger displacement or another family."
        )
    noisy = base + sphere_noise(base, radius, seed + 0x5EED)
    with probing(network, batch_norm) as by_batch:
        found = layers_of(network, base[:2]) if layers else []
        names = [name for _, name in found][:-1] if found else []
        positions = [position for position, _ in found][:-1]  # the last layer's output is the network's
        parts = 1 if by_batch else max(1, len(base) // BLOCK)
        squares = []
        for b, m, n in zip(*(t.tensor_split(parts) for t in (base, moved, noisy))):
            at_rest, at_moved, at_noisy = (layer_outputs(network, x, positions) for x in (b, m, n))
            squares.append([_squares(f, g, h) for f, g, h in zip(at_rest, at_moved, at_noisy)])
    values = [torch.cat([part[k] for part in squares], 1) for k in range(len(positions) + 1)]  # (3, n) each
    table = np.array([[average_of(row, average) for row in layer] for layer in values])  # (L, 3)
    _check_answers(table, average)
    return Response((*names, "output"), table[:, 0], table[:, 1], table[:, 2], radius)


def _squares(at_rest: Tensor, at_moved: Tensor, at_noisy: Tensor) -> Tensor:
    """Squared changes (3, n): moved, noisy, and from each image to the next."""
    others = (at_moved, at_noisy, at_rest.roll(1, 0))
    return torch.stack([(other - at_rest).square().sum(1) for other in others])


def _check_moved(moved: Tensor, images: Tensor, family: Family) -> None:
    if not isinstance(moved, Tensor) or moved.shape != images.shape:
        came = tuple(moved.shape) if isinstance(moved, Tensor) else type(moved).__name__
        raise ValueError(
            f"a transformation gives a batch of the shape it was given, {tuple(images.shape)}; {family.name} gave {came}."
        )
    if not bool(torch.isfinite(moved).all()):
        raise ValueError(f"{family.name} gave images that are not finite.")


def _check_answers(table: NDArray[np.float64], average: str) -> None:
    if not np.isfinite(table).all():
        raise NoResponse("the network's outputs are not finite on these images; check its weights and their scale.")
    if not table[-1, 1:].all():
        raise NoResponse(
            f"the model ignores its input: the {average} change of its outputs is zero under noise or between images. "
            "Check masks, pooling and saturated units of the network."
        )
