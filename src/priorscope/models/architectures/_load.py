"""Models named by a text: an architecture of this library, a factory in a package or a file of your own, a timm model."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from torch import nn

from priorscope.loading import load_object
from priorscope.models.architectures._architecture import Architecture
from priorscope.models.architectures._named import fcn, gap, lap, lcn, vec
from priorscope.models.architectures.zoo import FiniteModel, lenet, mixer, resnet18, vgg11, vit
from priorscope.models.equivariant._invariant import Invariant
from priorscope.models.kernels.classical._radial import RadialKernel, gaussian, laplace, matern

__all__ = ["NAMED", "Loaded", "load"]

Loaded = Architecture | FiniteModel | Invariant | RadialKernel | nn.Module | Callable[..., Any]

NAMED: dict[str, Callable[..., Architecture | FiniteModel | RadialKernel]] = {
    "fcn": fcn,
    "lcn": lcn,
    "vec": vec,
    "gap": gap,
    "lap": lap,
    "lenet": lenet,
    "vgg11": vgg11,
    "resnet18": resnet18,
    "vit": vit,
    "mixer": mixer,
    "laplace": laplace,
    "gaussian": gaussian,
    "matern": matern,
}
"""Models that have a name of one word: architectures and kernels of the distance.

Example:
    >>> NAMED["gap"](depth=2).name
    'gap'
"""


def load(text: str, **settings: Any) -> Loaded:
    """A model from a text, the same for every command and for Python.

    - a name: ``fcn``, ``lcn``, ``vec``, ``gap``, ``lap``, ``lenet``, ``vgg11``, ``resnet18``, ``vit``, ``mixer``,
      ``laplace``, ``gaussian`` or ``matern``, built with ``settings`` (``depth=2``, ``bandwidth=3.0``, …);
    - such a name, a stroke and a group, ``gap/p4m``: the model averaged over quarter turns and mirrors (see :func:`invariant`);
    - ``package.module:factory``: what that module calls so, looked for in the working folder first;
    - ``folder/file.py:factory``: the same from a file, wherever it lies;
    - ``timm:name``: a factory of ``input_shape`` and ``outputs``, where timm is installed.

    What a module or file gives is handed over as it is: an Architecture, an ``nn.Module``, or a factory of them (see
    :func:`from_factory`). Loading runs the code of that file.

    Example:
        >>> load("gap", depth=2).name, load("priorscope.models:fcn").__name__
        ('gap', 'fcn')
        >>> load("gap/p4m", depth=2).name
        'gap/p4m'
        >>> load("gpa")
        Traceback (most recent call last):
        ...
        ValueError: there is no model 'gpa'. Did you mean 'gap'? ...
    """
    if text in NAMED:
        return NAMED[text](**settings)
    base, stroke, group = text.partition("/")
    if stroke and base in NAMED:
        plain = NAMED[base](**settings)
        if isinstance(plain, FiniteModel):
            raise ValueError(f"{base} has no kernel to average; average its networks with GroupAveraged.")
        return Invariant(plain, group)
    place, colon, name = text.rpartition(":")
    if not (place and colon and name):
        close = difflib.get_close_matches(text, NAMED, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"there is no model {text!r}.{hint} Name one of {', '.join(NAMED)}, or your own as package.module:factory or "
            "file.py:factory, or timm:name."
        )
    if settings:
        raise ValueError(f"{', '.join(settings)} can be set for named models only; {text!r} sets its own.")
    if place == "timm":
        return _timm(name)
    model = load_object(text)
    if not isinstance(model, Architecture | FiniteModel | Invariant | RadialKernel | nn.Module) and not callable(model):
        raise ValueError(
            f"{text!r} is a {type(model).__name__}; a model is an Architecture, an nn.Module or a factory of them."
        )
    return model


def _timm(name: str) -> Callable[..., nn.Module]:
    """A factory of the timm model of that name; close names are offered where there is none."""
    try:
        import timm
    except ImportError as error:
        raise ImportError("timm models need timm: pip install timm.") from error
    if name not in timm.list_models():
        close = difflib.get_close_matches(name, timm.list_models(), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"timm has no model {name!r}.{hint} timm.list_models() names them all.")

    def build(input_shape: tuple[int, ...], outputs: int) -> nn.Module:
        if len(input_shape) != 3:
            raise ValueError(f"timm models take images (channels, height, width); got inputs of shape {input_shape}.")
        network: nn.Module = timm.create_model(name, in_chans=input_shape[0], num_classes=outputs)
        return network

    build.__name__ = name
    return build
