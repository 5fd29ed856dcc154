"""Reading a one-hidden-layer kernel out of an architecture."""

from __future__ import annotations

from priorscope.models import Activation, Architecture, Conv, Dense, Flatten, GlobalAvgPool, LocallyConnected
from priorscope.probes.spectra.sphere._series import KernelSeries, kernel_series

__all__ = ["read_architecture"]


def read_architecture(arch: Architecture, kind: str, terms: int) -> tuple[str, int | None, KernelSeries]:
    """The readout ("fcn", "vec" or "gap"), the patch size s (None for "fcn") and the series of the kernel.

    Example:
        >>> import priorscope as ps
        >>> read_architecture(ps.models.vec(depth=1), "ntk", 64)[:2]
        ('vec', 3)
    """
    if not isinstance(arch, Architecture):
        raise TypeError(
            "a spectrum on spheres needs an Architecture of depth 1, or a pair of 'fcn', 'vec' or 'gap' and a KernelSeries; "
            f"got {type(arch).__name__}."
        )
    layers = tuple(arch.body.layers)
    if layers and type(layers[0]) is Flatten:
        layers = layers[1:]
    if len(layers) in (3, 4) and type(layers[1]) is Activation and type(layers[-1]) is Dense:
        first, activation, last = layers[0], layers[1], layers[-1]
        between = layers[2] if len(layers) == 4 else None
        readout = None
        if type(first) is Dense and between is None:
            readout, size = "fcn", None
        elif (
            (type(first) is Conv or type(first) is LocallyConnected)
            and first.stride == 1
            and first.padding == "circular"
        ):
            size = first.kernel_size
            if type(between) is Flatten:
                readout = "vec"
            elif type(between) is GlobalAvgPool and type(first) is Conv:
                readout = "gap"
        if readout is not None:
            assert isinstance(first, Dense | Conv | LocallyConnected)
            series = kernel_series(
                activation.phi,
                kind=kind,
                weight_variance=first.weight_variance,
                bias_variance=first.bias_variance,
                readout_variance=last.weight_variance,
                readout_bias_variance=last.bias_variance,
                terms=terms,
            )
            return readout, size, series
    raise ValueError(
        f"the exact spectrum needs one hidden layer: fcn, lcn, vec or gap of depth 1 with circular padding and stride 1; "
        f"got {arch.name} with layers {[type(layer).__name__ for layer in layers]}. "
        "For any other architecture use gram_spectrum, which samples."
    )
