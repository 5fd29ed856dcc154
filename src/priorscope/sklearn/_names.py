"""Models by a short name, such as fcn-3, gap-2-erf or laplace, and the ones that "auto" compares."""

from __future__ import annotations

import re

from priorscope.contracts import KernelModel, Shape
from priorscope.models import NAMED, Architecture, Invariant, gaussian, laplace, nonlinearity
from priorscope.probes.curves.forecast import lap_window, standard_settings

__all__ = ["default_names", "model_named"]

_FAMILIES = ("fcn", "lcn", "vec", "lap", "gap")
_RADIAL = {"laplace": laplace, "gaussian": gaussian}
_NAME = re.compile(r"([a-z]+)-([0-9]+)(?:-([a-z_]+))?(?:-b([0-9.]+))?")


def model_named(name: str, input_shape: Shape) -> KernelModel:
    """The model of a name ``family-depth``, ``family-depth-activation`` or ``family-depth-activation-bVARIANCE``.

    Weights have variance 2, biases 0.1 unless the name says another variance; pooling windows fit the inputs. "laplace" and
    "gaussian" are kernels of the distance. A stroke and a group after any of them, as in ``gap-3/p4m``, averages over the group.

    Example:
        >>> len(model_named("gap-2-erf", (1, 8, 8)).layers)  # two convolutions, two nonlinearities, pool, readout
        6
        >>> model_named("fcn-three", (4,))
        Traceback (most recent call last):
        ...
        ValueError: no architecture 'fcn-three': a name is family-depth or family-depth-activation, such as 'fcn-3' or ...
    """
    base, stroke, group = name.partition("/")
    if stroke:
        averaged = Invariant(model_named(base, input_shape), group)
        averaged.check_input_shape(input_shape)
        return averaged
    if name in _RADIAL:
        return _RADIAL[name]()
    found = _NAME.fullmatch(name)
    if found is None or found[1] not in _FAMILIES or int(found[2]) < 1:
        raise ValueError(
            f"no architecture {name!r}: a name is family-depth or family-depth-activation, such as 'fcn-3' or 'gap-2-erf', "
            f"with a family of {', '.join(_FAMILIES)}; or {', '.join(_RADIAL)}; or 'auto'; or with a group, 'gap-3/p4m'."
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
    """What "auto" compares: dense networks for flat features; convolutional ones too where inputs have positions.

    The dense ones were settled on fifteen tables that take no part in the claims (docs/papers/small-data.md).

    Example:
        >>> default_names((7,))[:2], [n for n in default_names((1, 8, 8)) if n.startswith("lap")]
        (('fcn-1', 'fcn-3-erf'), ['lap-2'])
    """
    if len(input_shape) < 2 or min(input_shape[1:]) < 3:
        return ("fcn-1", "fcn-3-erf", "fcn-2", "fcn-4", "fcn-1-erf", "fcn-1-erf-b1", "fcn-2-gelu")
    window = lap_window(input_shape)
    pooled = ("lap-2",) if window is not None and window < min(input_shape[1:]) else ()
    return ("fcn-1", "fcn-3", "vec-1", "vec-3", *pooled, "gap-1", "gap-2", "gap-3")
