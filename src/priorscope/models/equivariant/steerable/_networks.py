"""Steerable networks on voxels that learning systems take, and the plain network they are compared with."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from priorscope.checks import checked, each, number, whole
from priorscope.models.architectures.zoo import FiniteModel
from priorscope.models.equivariant.steerable._batch_norm import FieldBatchNorm
from priorscope.models.equivariant.steerable._convolution import SteerableConv3d
from priorscope.models.equivariant.steerable._fields import check_fields
from priorscope.models.equivariant.steerable._low_pass import LowPass
from priorscope.models.equivariant.steerable._nonlinearities import Gate, NormReLU

__all__ = ["steerable_cnn", "voxel_cnn"]

Fields = Sequence[Sequence[int]]
NONLINEARITIES: dict[str, type[Gate] | type[NormReLU]] = {"gate": Gate, "norm": NormReLU}
_SIZES = {"strides": each(whole()), "kernel_size": whole(), "padding": whole(0), "dropout": number(least=0, below=1)}


class VoxelMean(nn.Module):
    """The mean over all voxels (n, channels, d, h, w) → (n, channels)."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean((2, 3, 4))


@checked(**_SIZES)
def steerable_cnn(
    fields: Fields = ((4, 4, 4, 1), (16, 16, 16), (32, 16, 16), (128,)),
    strides: Sequence[int] = (1, 2, 2, 1),
    *,
    kernel_size: int = 5,
    padding: int = 4,
    low_pass: bool = True,
    nonlinearity: str = "gate",
    normalise: bool = False,
    cutoff: str | None = "compromise",
    dropout: float = 0.0,
) -> FiniteModel:
    """Steerable convolutions with gates, the mean over voxels, a linear readout: invariant to rotations and shifts of the volume.

    Inputs are scalars (channels, d, d, d). ``fields`` has the multiplicities of order 0, 1, 2, … after each layer, the last
    scalars alone; at another ``width`` than ``fields[0][0]`` all are scaled. With ``low_pass`` (default) a stride is a Gaussian
    before voxels are dropped, else the stride of the convolution, which breaks the symmetry. The defaults are the network for
    Tetris of Weiler et al. (2018), table 1.

    Example:
        >>> net = steerable_cnn().network((1, 36, 36, 36), width=4, outputs=8)
        >>> sum(p.numel() for p in net.parameters())  # published: 41 thousand
        41198
    """
    layout = [check_fields(f, "fields") for f in fields]
    if len(layout) != len(strides) or len(layout[-1]) != 1:
        raise ValueError(
            f"wanted one stride per layer and scalars alone in the last, such as (64,); got {len(layout)} layers, "
            f"{len(strides)} strides and {layout[-1]} at the end."
        )
    if nonlinearity not in NONLINEARITIES:
        raise ValueError(f"nonlinearity is one of {', '.join(NONLINEARITIES)}; got {nonlinearity!r}.")

    def build(shape: tuple[int, ...], width: int, outputs: int) -> nn.Module:
        """One convolution, normalisation, nonlinearity and low-pass filter per layer."""
        _check_cube("steerable_cnn", shape)
        before: tuple[int, ...] = (shape[0],)
        layers: list[nn.Module] = []
        for wanted, stride in zip(layout, strides, strict=True):
            after = tuple(0 if m == 0 else max(1, round(m * width / layout[0][0])) for m in wanted)
            act = NONLINEARITIES[nonlinearity](after)
            jump = 1 if low_pass else stride
            layers += [SteerableConv3d(before, act.fields_in, kernel_size, stride=jump, padding=padding, cutoff=cutoff)]
            layers += [FieldBatchNorm(act.fields_in)] if normalise else []
            layers += [act]
            layers += [LowPass(float(stride))] if low_pass and stride > 1 else []
            before = after
        return nn.Sequential(*layers, VoxelMean(), nn.Dropout(dropout), nn.Linear(sum(before), outputs))

    return FiniteModel("steerable_cnn", build, width=layout[0][0])


@checked(channels=each(whole()), **_SIZES)
def voxel_cnn(
    channels: Sequence[int] = (43, 144, 160, 128),
    strides: Sequence[int] = (1, 2, 2, 1),
    *,
    kernel_size: int = 5,
    padding: int = 4,
    low_pass: bool = False,
    normalise: bool = False,
    dropout: float = 0.0,
) -> FiniteModel:
    """Plain convolutions on voxels with ReLU, the mean over voxels, a linear readout: the control of :func:`steerable_cnn`.

    The defaults have as many channels per voxel as the network for Tetris of Weiler et al. (2018), table 1.

    Example:
        >>> net = voxel_cnn().network((1, 36, 36, 36), outputs=8)
        >>> sum(p.numel() for p in net.parameters())  # published: 6 million
        6220882
    """
    if len(channels) != len(strides):
        raise ValueError(f"wanted one stride per layer; got {len(channels)} layers and {len(strides)} strides.")

    def build(shape: tuple[int, ...], width: int, outputs: int) -> nn.Module:
        """One convolution, normalisation, ReLU and low-pass filter per layer."""
        _check_cube("voxel_cnn", shape)
        before = shape[0]
        layers: list[nn.Module] = []
        for wanted, stride in zip(channels, strides, strict=True):
            after = max(1, round(wanted * width / channels[0]))
            layers += [nn.Conv3d(before, after, kernel_size, 1 if low_pass else stride, padding)]
            layers += [nn.BatchNorm3d(after)] if normalise else []
            layers += [nn.ReLU()]
            layers += [LowPass(float(stride))] if low_pass and stride > 1 else []
            before = after
        return nn.Sequential(*layers, VoxelMean(), nn.Dropout(dropout), nn.Linear(before, outputs))

    return FiniteModel("voxel_cnn", build, width=channels[0])


def _check_cube(who: str, shape: tuple[int, ...]) -> None:
    if len(shape) != 4 or len(set(shape[1:])) != 1:
        raise ValueError(f"{who} needs cubes of voxels (channels, d, d, d); got {shape}.")
