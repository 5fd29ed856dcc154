"""Deform images: every image of a batch by a field of its own, in one call."""

from __future__ import annotations

import warnings
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from priorscope.checks import SHAPE, checked
from priorscope.data._checks import check_finite
from priorscope.data.deformations._admissible import highest_temperature
from priorscope.data.deformations._fields import Fields, sample_fields
from priorscope.data.deformations._interpolation import Interpolation, displaced
from priorscope.data.deformations._modes import CUTOFF, ModeRule

__all__ = ["FoldWarning", "check_images", "check_tensor", "deform", "image_side"]

BLOCK = 2**17  # numbers of images deformed at once on the CPU
Folds: TypeAlias = Literal["warn", "allow", "refuse"]


class FoldWarning(UserWarning):
    """Warns that many fields of this temperature fold the image over itself.

    Example:
        >>> issubclass(FoldWarning, UserWarning)
        True
    """


@checked(cutoff=CUTOFF)
def deform(
    images: Tensor,
    temperature: float | Tensor,
    cutoff: float = 3,
    *,
    interpolation: Interpolation = "bilinear",
    rule: ModeRule = "padded",
    seed: int | torch.Generator | None = None,
    folds: Folds = "warn",
) -> Tensor:
    r"""Images :math:`(\tau x)(s) = x(s - \tau(s))`, each with its own random field; channels share theirs.

    ``images`` are square: (n, n), (C, n, n), or a batch (N, C, n, n) whose images get fields of their own. Fields are those of
    :func:`sample_fields` at ``temperature`` (see :func:`temperature_for`); the frame stays where it is.
    Above :func:`highest_temperature` images fold: ``folds`` says whether to "warn", "allow" or "refuse". Differentiable in the
    images and in a temperature that is a tensor. Petrini et al. (2021), Sec. 2.

    Example:
        >>> import torch
        >>> x = torch.rand(8, 3, 16, 16, generator=torch.Generator().manual_seed(0))
        >>> moved = deform(x, temperature=4e-3, cutoff=3, seed=0)
        >>> moved.shape, bool((moved[..., 0, :] == x[..., 0, :]).all())
        (torch.Size([8, 3, 16, 16]), True)
    """
    check_tensor(images)
    image_side(tuple(images.shape), cutoff)
    check_images(images)
    _check_folds(float(temperature.detach() if isinstance(temperature, Tensor) else temperature), cutoff, folds)
    batch = images[(None,) * (4 - images.ndim)]
    work = batch if batch.dtype in (torch.float32, torch.float64) else batch.float()
    fields = sample_fields(len(work), cutoff, temperature, rule=rule, seed=seed, dtype=work.dtype, device=work.device)
    return _in_blocks(work, fields, interpolation).to(images.dtype).reshape(images.shape)


def _in_blocks(images: Tensor, fields: Fields, interpolation: Interpolation) -> Tensor:
    """Some images at a time, whose positions stay in the processor's cache: twice as fast as all at once."""
    n = images.shape[-1]
    at_once = max(1, BLOCK // images[0].numel())
    if images.requires_grad or fields.coefficients.requires_grad or len(images) <= at_once or images.is_cuda:
        return displaced(images, fields.pixels(n), interpolation)
    out = torch.empty_like(images)
    for start in range(0, len(images), at_once):
        part = slice(start, start + at_once)
        out[part] = displaced(images[part], Fields(fields.coefficients[part]).pixels(n), interpolation)
    return out


@checked(shape=SHAPE, cutoff=CUTOFF)
def image_side(shape: tuple[int, ...], cutoff: float) -> int:
    """The side of square images with shape (…, n, n), checked against the cutoff.

    Modes of n − 1 half waves or more vanish or wrap round on the pixels and are refused; above n/2 the field is rough on the
    scale of a pixel, and a warning says so.

    Example:
        >>> image_side((10, 3, 32, 32), 3)
        32
        >>> image_side((3, 32, 24), 3)
        Traceback (most recent call last):
        ...
        ValueError: deformations need square images (n, n), (channels, n, n) or (batch, channels, n, n); got (3, 32, 24). ...
    """
    if len(shape) not in (2, 3, 4) or shape[-1] != shape[-2]:
        raise ValueError(
            "deformations need square images (n, n), (channels, n, n) or (batch, channels, n, n); "
            f"got {shape}. Crop or pad the images to squares first."
        )
    n = int(shape[-1])
    if n < 3:
        raise ValueError(f"deformations keep the frame fixed and need at least 3 × 3 pixels; got {n} × {n}.")
    if cutoff > n - 2:
        raise ValueError(
            f"cutoff {cutoff:g} is too high for images of {n} × {n} pixels: modes above {n - 2} cannot be told apart on "
            f"the pixels. Use a cutoff of {n // 2} or less."
        )
    if cutoff > n / 2:
        warnings.warn(
            f"cutoff {cutoff:g} is above n/2 = {n / 2:g}: half waves shorter than two pixels are no smooth deformation "
            "on this grid.",
            stacklevel=3,
        )
    return n


def check_tensor(images: object) -> None:
    """Raise for arrays, lists and pictures of other libraries."""
    if not isinstance(images, Tensor):
        raise TypeError(
            f"deformations take a torch tensor of images; got {type(images).__name__}. Convert it first: "
            "torch.as_tensor(array), or torchvision's ToTensor() for pictures."
        )


def check_images(images: Tensor) -> None:
    """Raise for images that are no finite floating-point numbers."""
    if not images.is_floating_point():
        raise ValueError(
            f"deformations interpolate and need floating-point images; got {images.dtype}. "
            "Convert them first, for bytes by images.float() / 255."
        )
    if not bool(torch.isfinite(images.sum())):  # one quick pass; the slow one names the row
        check_finite(images, "images")


def _check_folds(temperature: float, cutoff: float, folds: Folds) -> None:
    if folds not in ("warn", "allow", "refuse"):
        raise ValueError(f"folds must be 'warn', 'allow' or 'refuse'; got {folds!r}.")
    if not 0 <= temperature < float("inf"):
        raise ValueError(f"deform needs a finite temperature >= 0; got {temperature!r}.")
    bound = highest_temperature(cutoff)
    if temperature <= bound or folds == "allow":
        return
    said = (
        f"temperature {temperature:.3g} is above T_max = {bound:.3g} at cutoff {cutoff:g} ({temperature / bound:.2g} times): "
        "many fields fold the image over itself and are no deformations. Use a smaller displacement or cutoff."
    )
    if folds == "refuse":
        raise ValueError(said)
    warnings.warn(said, FoldWarning, stacklevel=3)
