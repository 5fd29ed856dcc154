"""Architectures by a short name, such as fcn-3 or gap-2-erf, and the ones that "auto" compares."""

from __future__ import annotations

import re

from priorscope.contracts import Shape
from priorscope.models import NAMED, Architecture, nonlinearity
from priorscope.probes.curves.forecast import lap_window, standard_settings

__all__ = ["architecture", "default_names"]

_FAMILIES = ("fcn", "lcn", "vec", "lap", "gap")
_NAME = re.compile(r"([a-z]+)-([0-9]+)(?:-([a-z_]+))?(?:-b([0-9.]+))?")


def architecture(name: str, input_shape: Shape) -> Architecture:
    """The architecture of a name ``family-depth``, ``family-depth-activation`` or ``family-depth-activation-bVARIANCE``.

    Weights have variance 2, biases 0.1 unless the name says another variance; pooling windows fit the inputs.

    Example:
        >>> len(architecture("gap-2-erf", (1, 8, 8)).layers)  # two convolutions, two nonlinearities, pool, readout
        6
        >>> architecture("fcn-three", (4,))
        Traceback (most recent call last):
        ...
        ValueError: no architecture 'fcn-three': a name is family-depth or family-depth-activation, such as 'fcn-3' or ...
    """
    found = _NAME.fullmatch(name)
    if found is None or found[1] not in _FAMILIES or int(found[2]) < 1:
        raise ValueError(
            f"no architecture {name!r}: a name is family-depth or family-depth-activation, such as 'fcn-3' or 'gap-2-erf', "
            f"with a family of {', '.join(_FAMILIES)}; or 'auto'."
        )
    family, depth, phi, bias = found.groups()
    if len(input_shape) < 2 and family != "fcn":
        raise ValueError(f"{name} needs inputs with positions; these are flat features. Use fcn, or say input_shape=.")
    settings: dict[str, float | int | str] = {**standard_settings(family, input_shape)}
    if bias is not None:
        settings["bias_variance"] = float(bias)
    if phi is not None:
        nonlinearity(phi)  # an unknown one is refused by its own name
        settings["activation"] = phi
    made = NAMED[family](depth=int(depth), **settings)
    assert isinstance(made, Architecture)
    return made


def default_names(input_shape: Shape) -> tuple[str, ...]:
    """What "auto" compares: dense networks for flat features; also convolutional ones where inputs have positions.

    Example:
        >>> default_names((7,))[:2], [n for n in default_names((1, 8, 8)) if n.startswith("lap")]
        (('fcn-1', 'fcn-1-erf'), ['lap-2'])
    """
    dense = tuple(f"fcn-{depth}{phi}" for depth in (1, 2, 3, 5) for phi in ("", "-erf", "-gelu"))
    if len(input_shape) < 2 or min(input_shape[1:]) < 3:
        return dense
    window = lap_window(input_shape)
    pooled = ("lap-2",) if window is not None and window < min(input_shape[1:]) else ()
    return ("fcn-1", "fcn-3", "vec-1", "vec-3", *pooled, "gap-1", "gap-2", "gap-3")
