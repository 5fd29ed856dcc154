"""How many labels are wrong and which: left-out predictions of kernels against the labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from priorscope.checks import FRACTION, SEED, whole
from priorscope.contracts import KernelModel, guarded, is_kernel_model, kernel_matrix, name_of, settled
from priorscope.data import Data, Values, as_dataset
from priorscope.inference import RidgePath
from priorscope.models import fcn, gaussian, lap, laplace, load, vec
from priorscope.probes.curves.pilot import draw_pilot, prepare
from priorscope.probes.limits.information._gap import gap_dimension
from priorscope.probes.limits.labels._early_stopping import early_stopping
from priorscope.probes.limits.labels._left_out import left_out
from priorscope.probes.limits.labels._rate import noise_rate
from priorscope.probes.limits.labels._result import LabelNoise

__all__ = ["label_noise", "label_noise_of_grams"]

Array = NDArray[np.float64]
SECONDS = 8.0  # that a kernel of convolutions may take; dearer ones are left out, and told
FEWEST = 40  # samples below which nothing is said
SIDE = 6  # pixels along the shorter side from which on kernels of convolutions are tried
LEADING = 8  # the information space has at most n over this many directions


@guarded(level=FRACTION, seed=SEED)
def label_noise_of_grams(
    grams: Mapping[str, ArrayLike],
    labels: ArrayLike,
    *,
    classes: Sequence[str] | None = None,
    rows: ArrayLike | None = None,
    level: float = 0.9,
    seed: int = 0,
    notes: Sequence[str] = (),
) -> LabelNoise:
    """:func:`label_noise` from kernel matrices by name, all over the same samples, and their labels 0, 1, ….

    Example:
        >>> rng = np.random.default_rng(0)
        >>> x = np.concatenate([rng.normal(-2, 1, 100), rng.normal(2, 1, 100)])
        >>> y = np.repeat([0, 1], 100)
        >>> y[:15] = 1  # fifteen of the first hundred are wrong
        >>> found = label_noise_of_grams({"gauss": np.exp(-((x[:, None] - x) ** 2) / 2)}, y)
        >>> found.rate.contains(0.075), len(set(found.flagged().tolist()) & set(range(15))) > 11
        (True, True)
    """
    y = np.asarray(labels)
    if y.ndim != 1 or not np.issubdtype(y.dtype, np.integer) or len(y) < FEWEST or y.min() < 0:
        raise ValueError(
            f"label_noise needs at least {FEWEST} integer labels 0, 1, …; got shape {y.shape} of {y.dtype}. "
            "It speaks of classes; for numbers look at the residuals of a profile."
        )
    y = y.astype(np.int64)
    names = tuple(classes) if classes is not None else tuple(str(c) for c in range(int(y.max()) + 1))
    if len(np.unique(y)) < 2 or len(names) <= int(y.max()):
        raise ValueError(
            f"label_noise needs two classes or more, each with a name; got {len(np.unique(y))} and {len(names)}."
        )
    matrices = {name: np.asarray(gram, dtype=np.float64) for name, gram in grams.items()}
    wrong = [f"{name} {gram.shape}" for name, gram in matrices.items() if gram.shape != (len(y), len(y))]
    if not matrices or wrong or not all(np.isfinite(gram).all() for gram in matrices.values()):
        raise ValueError(
            f"label_noise needs finite kernels ({len(y)}, {len(y)}), at least one; got {', '.join(wrong) or 'none'}."
        )
    told = list(notes)
    once = [names[c] for c in np.flatnonzero(np.bincount(y) == 1)]
    if once:
        told.append(f"of {', '.join(once)} there is one sample: nothing can be said about its label")
    found = left_out(matrices, y, len(names))
    guess = found.scores.argmax(1)
    present = len(np.unique(y))
    estimate = noise_rate(found.margin, guess == y, present, guesses=guess, level=level)
    own = found.own_margin(y)
    others = found.scores.copy()
    others[np.arange(len(y)), y] = -np.inf
    targets = np.eye(len(names))[y]
    path = RidgePath.of_kernel(matrices[found.kernels[0]])
    values = np.sqrt(path.eigenvalues)
    most = max(len(y) // LEADING, present)
    dimension, _ = gap_dimension(values, least=min(present - 1, most), most=most)
    centred = targets - targets.mean(0)
    share = float(((path.modes[:, :dimension].T @ centred) ** 2).sum() / (centred**2).sum())
    return LabelNoise(
        estimate.rate,
        np.arange(len(y)) if rows is None else np.asarray(rows, dtype=np.int64),
        y,
        others.argmax(1),
        own,
        estimate.wrong(own),
        float((guess != y).mean()),
        found.kernels,
        dimension,
        share,
        early_stopping(matrices[found.kernels[0]], targets, level=level, seed=seed),
        names,
        found.scores,
        tuple(told),
    )


def _candidates(
    models: Sequence[object] | None, shape: tuple[int, ...], n: int
) -> tuple[dict[str, KernelModel], list[str]]:
    """Kernels to compare by name, and which were left out."""
    notes: list[str] = []
    found: dict[str, KernelModel] = {}
    if models is None:
        found |= {"fcn-1": fcn(1), "fcn-3": fcn(3), "laplace": laplace(), "gaussian": gaussian()}
        local = {"vec-2": vec(2), "lap-2": lap(2)} if len(shape) == 3 and min(shape[1:]) >= SIDE else {}
        for name, made in local.items():
            cost = float(made.estimate(n, None, shape).seconds)
            if cost <= SECONDS:
                found[name] = made
            else:
                notes.append(
                    f"{name} was left out: its kernel would take {cost:.0f} s; look at fewer samples to have it"
                )
    for model in models or ():
        kernel = load(model) if isinstance(model, str) else model
        if not is_kernel_model(kernel):
            raise TypeError(f"label_noise compares models with a kernel, such as 'fcn'; {name_of(model)} has none.")
        name = model if isinstance(model, str) else name_of(kernel)
        found[name if name not in found else f"{name}#{len(found) + 1}"] = kernel
    return found, notes


@guarded(n=whole(FEWEST), level=FRACTION, seed=SEED)
def label_noise(
    data: Data,
    y: Values | None = None,
    *,
    target: str | int | None = None,
    classes: str | None = None,
    models: Sequence[object] | None = None,
    n: int = 1000,
    level: float = 0.9,
    seed: int = 0,
) -> LabelNoise:
    """How many labels of these data look wrong, which ones, and what follows for training.

    Every sample is predicted by kernel machines fitted to all others, in closed form (:class:`priorscope.inference.RidgePath`);
    the three best kernels are averaged. Where the surest predictions disagree with the labels, the labels are at
    fault: :func:`noise_rate` tells how many, Bayes' rule which. :func:`early_stopping` forecasts from the best kernel when a
    network should stop. At most ``n`` training samples are looked at, drawn at random.

    Args: ``data`` is anything that :func:`priorscope.data.as_dataset` takes. ``models`` are kernels to compare, objects or
    names; default: two dense architectures, Laplace and Gaussian, and for images a convolutional one where it is affordable.

    Example:
        >>> import priorscope as ps
        >>> digits = ps.data.digits().subset(300, seed=0)
        >>> found = label_noise(digits.inputs, digits.train_labels)
        >>> print(found.sentences()[0])
        The labels look right: at most 1 % of the 300 looked at seem wrong.
    """
    loaded = as_dataset(data, y, target=target, classes=classes, test_fraction=0.0, missing="median")
    if loaded.task != "classification":
        raise ValueError(
            "label_noise needs classes; these targets are numbers. Pass classes='classes' if they are codes of classes."
        )
    ready = prepare(loaded, n)
    pilot = draw_pilot(ready.data, ready.pilot, seed)
    assert pilot.labels is not None
    names, labels = loaded.classes, pilot.labels
    if names is None or len(names) <= int(labels.max()):
        names = tuple(str(c) for c in range(int(labels.max()) + 1))
    models_, notes = _candidates(models, ready.data.input_shape, len(labels))
    grams = {name: _gram(model, pilot.inputs) for name, model in models_.items()}
    return label_noise_of_grams(
        grams,
        labels,
        classes=names,
        rows=pilot.index,
        level=level,
        seed=seed,
        notes=(*loaded.notes, *ready.notes, *notes),
    )


def _gram(model: KernelModel, inputs: Tensor) -> Array:
    found: Array = kernel_matrix(settled(model, inputs), inputs).double().numpy()
    return found
