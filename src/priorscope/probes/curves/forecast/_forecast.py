"""The forecast of a learning curve from data and a model: the same preparation, pilot and numbers as a profile's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeGuard, cast

import numpy as np
import torch
from numpy.typing import ArrayLike

from priorscope.checks import FRACTION, NOT_NEGATIVE, POSITIVE, SEED, optional, whole, word_or
from priorscope.contracts import Samples, guarded, is_kernel_model, missing
from priorscope.data import Dataset, as_dataset
from priorscope.models import NAMED, Architecture
from priorscope.probes.curves.forecast._combine import forecast_gram
from priorscope.probes.curves.forecast._result import Forecast
from priorscope.probes.curves.pilot import draw_pilot, gram_of, prepare

__all__ = ["forecast", "lap_window", "standard_model", "standard_settings"]

HORIZON = 4  # asked about where no size is given: this many times the pilot
_BIAS = (
    0.1  # variance of biases: networks have them, and without them a shallow ReLU kernel lacks odd degrees above one
)


def lap_window(input_shape: tuple[int, ...]) -> int | None:
    """The largest pooling window, of 4, 3 and 2 positions, that divides every side; None where there is none.

    Example:
        >>> lap_window((1, 8, 8)), lap_window((1, 7, 7))
        (4, None)
    """
    sides = input_shape[1:]
    return next((w for w in (4, 3, 2) if sides and all(s % w == 0 for s in sides)), None)


def standard_settings(name: str, input_shape: tuple[int, ...]) -> dict[str, float | int]:
    """Settings of a named architecture as profiles and forecasts compare it: biases, and windows that fit the images.

    Example:
        >>> standard_settings("lap", (1, 9, 9))
        {'bias_variance': 0.1, 'window': 3}
    """
    if name != "lap":
        return {"bias_variance": _BIAS}
    window = lap_window(input_shape)
    if window is None:
        raise ValueError(
            f"lap pools windows of 2, 3 or 4 positions, which must divide the inputs' positions; these have shape "
            f"{tuple(input_shape)}. Use vec or gap, or resize."
        )
    return {"bias_variance": _BIAS, "window": window}


def standard_model(name: str, depth: int, input_shape: tuple[int, ...]) -> Architecture:
    """The architecture that a profile lists as ``name-depth``.

    Example:
        >>> standard_model("gap", 3, (1, 8, 8)).name
        'gap'
    """
    if len(input_shape) < 2 and name != "fcn":
        raise ValueError(f"{name} needs inputs with positions; these are flat features. Use fcn.")
    made = NAMED[name](depth=depth, **standard_settings(name, input_shape))
    assert isinstance(made, Architecture)
    return made


def _is_data(data: object) -> TypeGuard[Dataset]:
    return not missing(data, Samples)


def _is_model(thing: object) -> bool:
    return is_kernel_model(thing) or isinstance(thing, torch.nn.Module) or callable(thing)


def _data_and_model(data: object, second: object, model: object) -> tuple[Dataset, object]:
    """The data set and the model of a call: the second argument is a model, or the targets of inputs in memory."""
    given: object = None
    if _is_data(data):
        given, loaded = second, data
    elif second is None or _is_model(second):
        given, loaded = second, _loaded(data, None)
    else:
        loaded = _loaded(data, second)
    if given is not None and model is not None:
        raise TypeError("forecast takes one model; got two, the second argument and model=.")
    return loaded, model if given is None else given


def _loaded(data: object, targets: object) -> Dataset:
    if targets is None and isinstance(data, np.ndarray | torch.Tensor | list):
        raise TypeError(
            f"forecast on arrays needs inputs and targets, forecast(X, y); got {type(data).__name__} alone."
        )
    return as_dataset(cast(Any, data), cast(Any, targets), test_fraction=0.0, missing="median")


@guarded(
    pilot=optional(whole()),
    ridge=optional(word_or(NOT_NEGATIVE, "tuned")),
    time=optional(POSITIVE),
    level=FRACTION,
    orderings=whole(),
    resize=optional(whole(2)),
    seed=SEED,
)
def forecast(
    data: object,
    model_or_targets: object = None,
    /,
    n: ArrayLike | None = None,
    *,
    model: object = None,
    pilot: int | None = 300,
    kind: str = "ntk",
    ridge: float | str | None = None,
    time: float | None = None,
    level: float = 0.9,
    orderings: int = 24,
    standardise: bool = True,
    resize: int | None = None,
    seed: int = 0,
    **kernel_options: Any,
) -> Forecast:
    r"""The test error of kernel regression at ``n`` samples, from a pilot of the data, before any of it is trained on.

    Call it as ``forecast(data, model, n)``, or on inputs in memory as ``forecast(X, y, n, model=model)``; ``data`` is anything
    that :func:`priorscope.data.as_dataset` takes, a path or a name too. The same data, seed and
    architecture give the numbers of ``priorscope forecast`` and of the candidate's row in a profile.

    Three estimators check each other: *power law*, through the error measured on parts of the pilot, its exponent drifting
    and an offset admitted where the measured curve asks for one; *spectral theory*, the self-consistent equation

    .. math:: \sum_i \frac{\lambda_i}{\lambda_i+\kappa} + \frac{\delta}{\kappa} = n, \qquad
              E = \frac{n}{n - \sum_i\mathcal L_i^2} \sum_i (1-\mathcal L_i)^2 v_i^2, \quad
              \mathcal L_i = \frac{\lambda_i}{\lambda_i+\kappa}

    (Bordelon, Canatar & Pehlevan 2020; Simon et al. 2023) on a population spectrum inferred from the pilot, tails
    continued; *kernel PCA*, the exponent of the target's power. The combined curve is the weighted mean of the first two in
    the logarithm; kernel PCA only takes part in the warning when estimators disagree. The interval (``level``, default
    90 %) joins the bootstrap over samples, the drift of the exponent beyond the pilot and the spread of the estimators.
    Spectral theory takes no part when ``time`` is finite.

    Args: ``model`` an Architecture (default: the profile's ``fcn-3``), an ``nn.Module`` (empirical tangent kernel), a kernel
    function of two batches, or a matrix over the training split. ``n`` default: four times the pilot. ``pilot`` how many
    training samples to look at (None: all). ``ridge`` a number, or "tuned" (the default; 0 where ``time`` is given): the one
    that does best at each size, whose error does not rise with samples. ``standardise`` brings inputs and real targets to
    mean 0 and variance 1 and averages images to at most ``resize`` (14) pixels per side, as a profile does, and ``notes`` says
    so; functions and matrices are given the data as they are, networks the images at their own size.

    Example:
        >>> import priorscope as ps, torch
        >>> x = torch.randn(120, 3, generator=torch.Generator().manual_seed(0))
        >>> result = ps.forecast(x, x[:, 0].abs(), n=480)
        >>> bool(result.low[0] < result.error[0] < result.high[0]), result.notes[0][:26]
        (True, 'targets were standardised:')
    """
    seen, chosen = _data_and_model(data, model_or_targets, model)
    if ridge is None:
        ridge = "tuned" if time is None else 0.0
    raw = isinstance(chosen, np.ndarray | torch.Tensor) or (
        callable(chosen) and not isinstance(chosen, torch.nn.Module) and not is_kernel_model(chosen)
    )
    notes: tuple[str, ...] = ()
    told = seen.notes if isinstance(seen, Dataset) else ()
    if standardise and not raw:
        prepared = prepare(seen, pilot, resize=resize)
        seen, notes, pilot = prepared.data, prepared.notes, prepared.pilot
    drawn = draw_pilot(seen, pilot, seed)
    if standardise and isinstance(chosen, torch.nn.Module):
        drawn = replace(drawn, inputs=prepared.native(drawn.index).inputs)
    if chosen is None:
        chosen = standard_model("fcn", 3, tuple(seen.input_shape))
    gram = gram_of(chosen, seen, drawn, kind=kind, **kernel_options)
    at = HORIZON * len(drawn) if n is None else n
    found = forecast_gram(gram, drawn, at, ridge=ridge, time=time, level=level, orderings=orderings, seed=seed)
    return replace(found, notes=(*notes, *told))
