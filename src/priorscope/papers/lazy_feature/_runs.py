"""One point of lazy-feature: a sweep over output scales, kernels at the start, unit scale, or training without offset."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from priorscope.data import digits
from priorscope.inference import FittedNetworks, GradientFlow, SoftHinge
from priorscope.lab import Metrics, Point
from priorscope.models import DenseStack
from priorscope.probes import frozen_flow, half_times

# for the time at which the loss has halved: twenty per decade where feature training drops sharply, four elsewhere
TIMES = sorted({*np.geomspace(1e-5, 1e4, 37).tolist(), *np.geomspace(1e-4, 2e-1, 67).tolist()})


def split(n_train: int, n_test: int, seed: int) -> tuple[SimpleNamespace, SimpleNamespace]:
    """Digits by parity, centred, every image of norm √d: training set and test set, in float64."""
    data = digits("parity", dtype=torch.float64)
    x = torch.cat([data.train.inputs, data.test.inputs]).flatten(1)
    y = torch.cat([data.train.targets, data.test.targets])
    x = x - x.mean(0)
    x = x / x.norm(dim=1, keepdim=True) * x.shape[1] ** 0.5
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    return (
        SimpleNamespace(inputs=x[train], targets=y[train]),
        SimpleNamespace(inputs=x[test], targets=y[test]),
    )


def run(point: Point) -> Metrics:
    """Dispatch on the part."""
    parts = {"sweep": _sweep, "init": _init, "unit": _unit, "offset": _offset}
    return parts[point["part"]](point)


def _train(point: Point, alphas: np.ndarray, train: SimpleNamespace, **options: Any) -> FittedNetworks:
    """All seeds at all output scales in one flow; member (a, s) is row a · seeds + s."""
    seeds = point["seeds"]
    stack = DenseStack(train.inputs.shape[1], point["width"], point["depth"], [s for _ in alphas for s in range(seeds)])
    return _flow(point, **options).with_alpha(np.repeat(alphas, seeds).tolist()).fit(stack, train)


def _flow(point: Point, **options: Any) -> GradientFlow:
    settings: Point = {"max_steps": point["max_steps"], "record": 1, "time": 1e9} | options
    return GradientFlow(loss="soft-hinge", stop="fitted", max_turn=point["max_turn"], **settings)


def _error(predictions: Tensor, targets: Tensor) -> Tensor:
    return (predictions * targets <= 0).double().mean((-2, -1))


def top_share(kernel: Tensor, targets: Tensor, top: int = 2) -> Tensor:
    """The share of the labels' squared norm on the top eigenvectors of each kernel (K, n, n)."""
    vectors = torch.linalg.eigh(kernel).eigenvectors[:, :, -top:]  # (K, n, top)
    found: Tensor = (vectors.mT @ targets).square().sum((1, 2)) / targets.square().sum()
    return found


def deviation(outputs: Tensor) -> Tensor:
    """Mean square over points of each seed's outputs (scales, seeds, n) minus the seeds' mean; its mean is their variance."""
    seeds = outputs.shape[1]
    return (outputs - outputs.mean(1, keepdim=True)).square().mean(2) * seeds / max(seeds - 1, 1)


def _kernels(fitted: FittedNetworks, x: Tensor, x2: Tensor | None = None) -> tuple[Tensor, Tensor]:
    stack = fitted.members.model
    assert isinstance(stack, DenseStack)
    return (
        stack.gram(fitted.members.unflatten(fitted.initial), x, x2),
        stack.gram(fitted.members.unflatten(fitted.params), x, x2),
    )


def _change(start: Tensor, end: Tensor) -> Tensor:
    found: Tensor = (end - start).flatten(1).norm(dim=1) / start.flatten(1).norm(dim=1)
    return found


def _sweep(point: Point) -> Metrics:
    """Train all seeds at all output scales and measure what moved, the test errors and the spread over seeds."""
    train, test = split(point["n_train"], point["n_test"], point["seed"])
    rescaled, seeds = np.asarray(point["rescaled"]), point["seeds"]
    fitted = _train(point, rescaled / np.sqrt(point["width"]), train, record=TIMES)
    probe = SimpleNamespace(inputs=test.inputs[:100], targets=test.targets[:100])
    start, end = _kernels(fitted, probe.inputs)
    F = fitted.predict(test.inputs)

    def grid(values: Tensor) -> np.ndarray:
        return values.detach().reshape(len(rescaled), seeds).numpy()

    result = {
        "kernel_change": grid(_change(start, end)),
        "weight_change": grid((fitted.params - fitted.initial).norm(dim=1) / fitted.initial.norm(dim=1)),
        "half_time": grid(half_times(fitted)),
        "error": grid(_error(F, test.targets)),
        "ensemble_error": _error(F.reshape(len(rescaled), seeds, *F.shape[1:]).mean(1), test.targets).numpy(),
        "share_start": grid(top_share(start, probe.targets)),
        "share_end": grid(top_share(end, probe.targets)),
        "finished": grid(fitted.finished.double()),
        "steps": grid(fitted.steps.double()),
    }
    by_scale = F.reshape(len(rescaled), seeds, -1)
    feature = int(np.abs(np.log(rescaled / 1e-2)).argmin())
    result["deviation"] = deviation(by_scale).numpy()
    return result | _frozen(point, fitted, train, test, by_scale, feature)


def _frozen(
    point: Point,
    fitted: FittedNetworks,
    train: SimpleNamespace,
    test: SimpleNamespace,
    by_scale: Tensor,
    feature: int,
) -> Metrics:
    """Flows of frozen kernels against the networks: initial kernel at the laziest scale, both at a feature scale."""
    seeds, rows = point["seeds"], {}
    kernels, crosses = _kernels(fitted, train.inputs), _kernels(fitted, test.inputs, train.inputs)
    flow = _flow(point, record=TIMES)  # the same steps as the networks, so that only laziness is compared
    lazy, start_distance, end_distance, start_error, end_error = [], [], [], [], []
    for s in range(seeds):
        one = feature * seeds + s
        start = frozen_flow(kernels[0][s], train.targets, flow).predict(crosses[0][s])
        end = frozen_flow(kernels[1][one], train.targets, flow).predict(crosses[1][one])
        lazy.append(_distance(by_scale[-1, s], start))
        start_distance.append(_distance(by_scale[feature, s], start))
        end_distance.append(_distance(by_scale[feature, s], end))
        start_error.append(float(_error(start, test.targets)))
        end_error.append(float(_error(end, test.targets)))
    rows = {"lazy_distance": lazy, "start_distance": start_distance, "end_distance": end_distance}
    rows |= {"start_error": start_error, "end_error": end_error}
    return {name: np.array(values) for name, values in rows.items()} | {"feature_row": feature}


def _distance(a: Tensor, b: Tensor) -> float:
    return float((a.flatten() - b.flatten()).norm() / b.norm())


def _unit(point: Point) -> Metrics:
    train, test = split(point["n_train"], point["n_test"], point["seed"])
    fitted = _train(point, np.ones(1), train)
    return {"change": _change(*_kernels(fitted, test.inputs[:100])).numpy()}


def _offset(point: Point) -> Metrics:
    train, test = split(point["n_train"], point["n_test"], point["seed"])
    found = {}
    for name, centre in (("centred", True), ("raw", False)):
        fitted = _train(point, np.array([point["alpha"]]), train, centre=centre, max_steps=point["max_steps"] // 2)
        found[f"error_{name}"] = _error(fitted.predict(test.inputs), test.targets).numpy()
        found[f"finished_{name}"] = fitted.finished.double().numpy()
    return found


def _init(point: Point) -> Metrics:
    """Fluctuation of the initial kernel over seeds, and initial velocities of weights and pre-activations."""
    train, _ = split(point["n_train"], point["n_test"], point["seed"])
    depth, seeds = point["depth"], point["seeds"]
    stack = DenseStack(train.inputs.shape[1], point["width"], depth, range(seeds))
    kernels = stack.gram(stack.stacked, train.inputs)
    mean = kernels.mean(0)
    noise = (kernels - mean).flatten(1).norm(dim=1) / mean.norm()
    weights = {name: w.clone().requires_grad_() for name, w in stack.stacked.items()}
    f = stack.call(weights, train.inputs)
    loss = SoftHinge()(f - f.detach(), train.targets).sum()  # alpha = 1: the predictor starts at zero
    slopes = dict(zip(weights, torch.autograd.grad(loss, list(weights.values()))))
    dt = 1e-6
    moved = {name: stack.stacked[name] - dt * g for name, g in slopes.items()}
    before, after = stack.hidden(stack.stacked, train.inputs), stack.hidden(moved, train.inputs)
    speed = [((b - a) / dt).square().mean((1, 2)).sqrt().numpy() for a, b in zip(before, after)]
    weight = [slopes[f"w{i}"].square().mean((1, 2)).sqrt().numpy() for i in range(depth + 1)]
    return {"noise": noise.numpy(), "speed": np.stack(speed), "weight_speed": np.stack(weight)}
