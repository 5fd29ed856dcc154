"""The phase diagram of training: width against output scale, with the jamming line, the crossover and the test error."""

from __future__ import annotations

import numpy as np

from priorscope.inference import GradientFlow
from priorscope.lab import Claim, Metrics, Paper, Point, above
from priorscope.models import DenseStack
from priorscope.papers.jamming._images import parity
from priorscope.papers.training_regimes._phase_diagram_chart import chart
from priorscope.papers.training_regimes._phase_diagram_measures import lazy_over_feature
from priorscope.papers.training_regimes._stripe_claims import SOURCE

SIZES: dict[str, Point] = {
    "tiny": {
        "data": "digits",
        "n_train": 30,
        "n_test": 200,
        "widths": [2, 8],
        "rescaled": [1e-2, 1.0, 1e2],
        "seeds": 2,
        "max_turn": 1e-2,
        "max_steps": 300,
    },
    "small": {
        "data": "digits",
        "n_train": 300,
        "n_test": 1400,
        "widths": [2, 3, 4, 6, 8, 10, 12, 16],
        "rescaled": [1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3],
        "seeds": 16,
        "max_turn": 1e-3,
        "max_steps": 8000,
    },
    "paper": {
        "data": "mnist",
        "n_train": 5000,
        "n_test": 40_000,
        "widths": [6, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 256, 512, 1024, 1408],
        "rescaled": [3e-4, 3e-3, 3e-2, 3e-1, 3.0, 3e1, 3e2, 3e4, 3e7],
        "seeds": 15,
        "max_turn": 1e-4,
        "max_steps": 1_000_000,
    },
}


def grid(scale: str) -> list[Point]:
    """One point per width: all seeds at all output scales are trained in one flow; the widest, which take longest, first."""
    size = SIZES[scale]
    common = {name: value for name, value in size.items() if name != "widths"}
    return [{"width": h, "depth": 2, "dim": 10, "seed": 0, **common} for h in reversed(size["widths"])]


def run(point: Point) -> Metrics:
    """Train every member of one width and say which fitted, how far kernels moved, and how well they generalise."""
    train, test = parity(point["data"], point["n_train"], point["n_test"], point["seed"], point["dim"])
    rescaled, seeds, h = np.asarray(point["rescaled"], dtype=float), int(point["seeds"]), int(point["width"])
    stack = DenseStack(point["dim"], h, point["depth"], [s for _ in rescaled for s in range(seeds)], bias=True)
    flow = GradientFlow(
        np.repeat(rescaled / np.sqrt(h), seeds).tolist(),
        loss="soft-hinge",
        stop="fitted",
        max_turn=point["max_turn"],
        max_steps=point["max_steps"],
        time=1e9,
        record=1,
    )
    fitted = flow.fit(stack, train)
    probe = test.inputs[:100]
    start, end = (stack.gram(fitted.members.unflatten(w), probe) for w in (fitted.initial, fitted.params))
    change = (end - start).flatten(1).norm(dim=1) / start.flatten(1).norm(dim=1)
    F, on_train = fitted.predict(test.inputs), fitted.predict(train.inputs)
    shape = (len(rescaled), seeds)
    mean = F.reshape(*shape, -1).mean(1)  # (scales, n)
    y = test.targets[:, 0]
    return {
        "n_weights": point["dim"] * h + (point["depth"] - 1) * h * h + h,
        "fitted": fitted.finished.double().reshape(shape).numpy(),
        "unsatisfied": (on_train * train.targets < 1).sum((1, 2)).reshape(shape).numpy(),
        "kernel_change": change.reshape(shape).numpy(),
        "error": (F[..., 0] * y <= 0).double().mean(1).reshape(shape).numpy(),
        "ensemble_error": (mean * y <= 0).double().mean(1).numpy(),
        "size": on_train.square().mean((1, 2)).sqrt().reshape(shape).numpy(),
        "steps": fitted.steps.reshape(shape).numpy(),
    }


PAPER = Paper(
    name="phase-diagram",
    title="Width and output scale decide together whether a network fits, and how it learns",
    source=SOURCE,
    version=3,
    grid=grid,
    run=run,
    claims=(
        Claim(
            "L.15",
            SOURCE,
            "the jamming width depends on the rescaled output scale, larger in the lazy regime",
            measure=lazy_over_feature,
            expect=above(1),
        ),
    ),
    chart=chart,
    members="seeds",
)
