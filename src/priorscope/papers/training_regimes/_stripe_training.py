"""Feature and lazy training on the stripe: what the papers stripe and stripe-invariants share."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import torch
from torch import Tensor

from priorscope.data import stripe
from priorscope.inference import FittedNetworks, GradientFlow
from priorscope.lab import Point
from priorscope.models import ShallowStack
from priorscope.probes import Compression, FrozenFit, compression, frozen_flows


@dataclass(frozen=True)
class FeatureRun:
    """Networks trained with features, one per training set (K, P, d), with their weights before and after."""

    x: Tensor
    y: Tensor
    stack: ShallowStack
    fitted: FittedNetworks
    alpha: float
    flow: GradientFlow
    start: dict[str, Tensor]
    end: dict[str, Tensor]

    def predict(self, new: Tensor) -> Tensor:
        """The predictors α (f − f₀) of all networks on new points, (K, n)."""
        return self.alpha * (self.stack.outputs(self.end, new) - self.stack.outputs(self.start, new))


def train_features(point: Point) -> FeatureRun:
    """Gradient flow of all training sets of a point at once, at its rescaled output scale."""
    seeds = range(point["data_seeds"])
    sets = [stripe(point["n_train"], point["dim"], 1000 * point["seed"] + s) for s in seeds]
    x, y = torch.stack([s.inputs for s in sets]), torch.stack([s.targets[:, 0] for s in sets])
    flow = GradientFlow(
        loss="soft-hinge", stop="fitted", max_turn=point["max_turn"], max_steps=point["max_steps"], record=1, time=1e12
    )
    stack = ShallowStack(x, y, point["width"], seeds)
    alpha = point["rescaled"] / point["width"] ** 0.5
    signs = torch.ones(point["n_train"], 1).double()
    signs[1::2] = -1
    fitted = flow.with_alpha(alpha).fit(stack, SimpleNamespace(inputs=signs, targets=signs))
    start, end = (fitted.members.unflatten(p) for p in (fitted.initial, fitted.params))
    return FeatureRun(x, y, stack, fitted, alpha, flow, start, end)


def readout_compression(stacked: dict[str, Tensor], informative: Tensor) -> Compression:
    """Compression of the first-layer weights, every neuron weighted by the size of its readout: what the output sees."""
    return compression(stacked["c"].abs()[..., None] * stacked["w"], informative)


@dataclass(frozen=True)
class FrozenRun:
    """The frozen kernel of a wide network, trained on one set; new points are scaled as the set was."""

    wide: dict[str, Tensor]
    points: Tensor
    labels: Tensor
    scale: Tensor
    fit: FrozenFit

    @property
    def finished(self) -> bool:
        """Whether all margins were met."""
        return self.fit.finished

    def predict(self, new: Tensor) -> Tensor:
        """The predictor on new points (n, d)."""
        weights = self.labels * self.fit.coefficients[:, 0]
        parts = (new * self.scale).split(1000)
        return torch.cat([ShallowStack.gram(self.wide, part, self.points)[0] @ weights for part in parts])


def train_frozen(wide: dict[str, Tensor], x: Tensor, y: Tensor, scales: Tensor, flow: GradientFlow) -> list[FrozenRun]:
    """The flow of a wide network's frozen kernel on each training set (K, P, d), scaled.

    Labels go into the kernels, so that all sets have the target one.
    """
    sets = x * scales
    kernels = torch.stack([y[s, :, None] * ShallowStack.gram(wide, a, a)[0] * y[s] for s, a in enumerate(sets)])
    fits = frozen_flows(kernels, torch.ones(x.shape[1], 1).double(), flow)
    return [FrozenRun(wide, sets[s], y[s], scales[s], fit) for s, fit in enumerate(fits)]
