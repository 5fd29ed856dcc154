"""Which layer a single torch module is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from priorscope.models.layers._activation import Activation, ActivationModule
from priorscope.models.layers._attention import AttentionModule
from priorscope.models.layers._concatenate import Concatenate, ConcatenateModule
from priorscope.models.layers._conv import Conv, ConvModule
from priorscope.models.layers._dense import Dense, DenseModule
from priorscope.models.layers._dropout import Dropout
from priorscope.models.layers._flatten import Flatten
from priorscope.models.layers._global_pool import GlobalAvgPool, GlobalPoolModule, GlobalSumPool
from priorscope.models.layers._layer import Layer
from priorscope.models.layers._layer_norm import LayerNorm, LayerNormModule
from priorscope.models.layers._locally_connected import LocallyConnectedModule
from priorscope.models.layers._parallel_sum import ParallelSum, SumModule
from priorscope.models.layers._product import Product, ProductModule
from priorscope.models.layers._sequential import Sequential
from priorscope.models.layers._window_pool import AvgPool, SumPool, WindowPoolModule
from priorscope.models.nonlinearities import LeakyReLU, Quadrature

__all__ = ["layer_of"]

Reader = Callable[[nn.Module, str], list[Layer]]

_POINTWISE: dict[type, str] = {
    nn.ReLU: "relu",
    nn.Tanh: "tanh",
    nn.Sigmoid: "sigmoid",
    nn.SiLU: "silu",
}


def layer_of(module: nn.Module, variances: str, read: Reader, *, probe: bool = False) -> Any:
    """Layers of a module without parts as a tuple (empty: does nothing), or None when it is not known.

    With ``probe`` only whether it is one of priorscope's own modules, which tracing must not enter.
    """
    own = _own_layer(module, variances, read, probe)
    if probe:
        return own is not None
    if own is not None:
        return own
    kind = type(module)
    if kind in _POINTWISE:
        return (Activation(_POINTWISE[kind]),)
    if isinstance(module, nn.Linear):
        return (Dense(*_variances(module, module.in_features, variances)),)
    if isinstance(module, (nn.Conv1d, nn.Conv2d)):
        return (_conv(module, variances),)
    if isinstance(module, nn.GELU):
        fn: Any = "gelu" if module.approximate == "none" else Quadrature(_tanh_gelu)
        return (Activation(fn),)
    if isinstance(module, nn.LeakyReLU):
        return (Activation(LeakyReLU(module.negative_slope)),)
    if isinstance(module, (nn.Softplus, nn.ELU, nn.SELU, nn.Mish, nn.Hardtanh, nn.LogSigmoid, nn.Softsign)):
        return (Activation(Quadrature(module)),)
    if isinstance(module, nn.Flatten):
        if module.start_dim != 1 or module.end_dim != -1:
            raise _refused("Flatten", "start_dim=1, end_dim=-1")
        return (Flatten(),)
    if isinstance(module, nn.Identity):
        return ()
    if isinstance(module, nn.Dropout):
        return (Dropout(module.p),) if module.training and module.p else ()
    if isinstance(module, (nn.AvgPool1d, nn.AvgPool2d)):
        return (_pool(module),)
    if isinstance(module, (nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d)):
        if module.output_size not in (1, (1,), (1, 1)):
            raise _refused(kind.__name__, "output_size=1")
        return (GlobalAvgPool(),)
    if isinstance(module, nn.LayerNorm):
        plain = module.weight is None or bool((module.weight == 1).all())
        plain = plain and (module.bias is None or bool((module.bias == 0).all()))
        if len(module.normalized_shape) != 1 or not plain:
            raise _refused("LayerNorm", "normalisation over the channels of flat inputs, with weight 1 and bias 0")
        return (LayerNorm(module.eps),)
    return None


def _own_layer(module: nn.Module, variances: str, read: Reader, probe: bool) -> tuple[Layer, ...] | None:
    if isinstance(module, (DenseModule, ConvModule, LocallyConnectedModule, AttentionModule)):
        return (module.layer,)
    if isinstance(module, ActivationModule):
        return (Activation(module.phi),)
    if isinstance(module, GlobalPoolModule):
        return (GlobalAvgPool() if module.mean else GlobalSumPool(),)
    if isinstance(module, WindowPoolModule):
        return ((AvgPool if module.mean else SumPool)(module.window, module.stride),)
    if isinstance(module, LayerNormModule):
        return (LayerNorm(module.epsilon),)
    for kind, layer in ((SumModule, ParallelSum), (ConcatenateModule, Concatenate), (ProductModule, Product)):
        if isinstance(module, kind):
            if probe:
                return ()
            return (layer(tuple(Sequential(tuple(read(b, variances))) for b in module.branches)),)  # type: ignore
    return None


def _variances(module: Any, fan_in: int, variances: str) -> tuple[float, float]:
    if variances == "torch":
        return 1 / 3, 0.0 if module.bias is None else 1 / (3 * fan_in)
    weight = fan_in * float(module.weight.detach().double().square().mean())
    return weight, 0.0 if module.bias is None else float(module.bias.detach().double().square().mean())


def _conv(module: nn.Conv1d | nn.Conv2d, variances: str) -> Conv:
    name, size = type(module).__name__, module.kernel_size[0]
    stride = module.stride[0]
    if len({*module.kernel_size}) > 1 or len({*module.stride}) > 1:
        raise _refused(name, "square filters and strides")
    if module.groups != 1 or len({*module.dilation} - {1}):
        raise _refused(name, "groups=1 and dilation=1")
    if module.padding_mode not in ("zeros", "circular"):
        raise _refused(name, "padding_mode 'zeros' or 'circular'")
    pads = {module.padding} if isinstance(module.padding, str) else {*module.padding}
    if pads in ({"valid"}, {0}) and size > 1:
        padding = "valid"
    elif pads == {"same"} or (size % 2 == 1 and pads == {(size - 1) // 2}):
        padding = module.padding_mode
    else:
        raise _refused(name, f"padding 0 or (kernel_size - 1)/2 with odd filters, not {module.padding}")
    fan_in = module.in_channels * size ** len(module.kernel_size)
    return Conv(size, stride, padding, *_variances(module, fan_in, variances))


def _pool(module: Any) -> AvgPool:
    one = lambda v: v if isinstance(v, int) else (v[0] if len({*v}) == 1 else None)  # noqa: E731
    window, stride, padding = one(module.kernel_size), one(module.stride), one(module.padding)
    if window is None or stride is None or padding != 0 or module.ceil_mode:
        raise _refused(type(module).__name__, "square windows without padding or ceil_mode")
    return AvgPool(window, stride)


def _tanh_gelu(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


def _refused(name: str, supported: str) -> NotImplementedError:
    return NotImplementedError(
        f"from_module has no kernel for this {name}: only {supported} is supported. "
        "Change the module, or build the Architecture from layers."
    )
