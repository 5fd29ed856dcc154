r"""Gradients in the inputs of functions :math:`f(x) = \sum_j K(x, z_j)\,c_j` whose kernel is that of an architecture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.kernels._reference import reference_kernel
from priorscope.models.layers._flatten import Flatten

if TYPE_CHECKING:
    from priorscope.models.architectures._architecture import Architecture

__all__ = ["check_expansion", "expansion_gradients", "outer_mean", "pair_slopes"]

PAIRS = 500_000  # pairs of inputs whose slopes are computed at once
ENTRIES = 4_000_000  # covariances that one layer holds where gradients go through the whole reference


def check_expansion(x: Tensor, anchors: Tensor, coefficients: Tensor) -> None:
    """Refuse inputs, anchors and coefficients that do not fit each other."""
    if x.shape[1:] != anchors.shape[1:]:
        raise ValueError(
            f"gradients need inputs and anchors of one shape; got {tuple(x.shape[1:])} and {tuple(anchors.shape[1:])}."
        )
    if coefficients.ndim != 2 or len(coefficients) != len(anchors):
        raise ValueError(
            f"gradients need coefficients (anchors, outputs) for {len(anchors)} anchors; got {tuple(coefficients.shape)}."
        )


def expansion_gradients(arch: Architecture, x: Tensor, anchors: Tensor, coefficients: Tensor, kind: str) -> Tensor:
    r"""Gradients (n, outputs, *input_shape) of :math:`\sum_j K(x, z_j)\,c_j` at each x, in float64.

    Without pixels the kernel is a function of three numbers, :math:`K = \kappa(s, q, q')` with :math:`s = x\cdot z/d` and
    :math:`q = \|x\|^2/d`, so that

    .. math:: \nabla_x K = \frac{1}{d}\left(\kappa_s\, z + 2\kappa_q\, x\right)

    (derived by the chain rule); with pixels the gradient goes through the reference, output by output. Where x is an anchor
    of a kernel with a kink there, the kink counts as flat.
    """
    check_expansion(x, anchors, coefficients)
    x, z, c = x.double(), anchors.double(), coefficients.double()
    flat = x.ndim == 2 or type(arch.layers[0]) is Flatten
    if not flat:
        return _through_reference(arch, x, z, c, kind)
    shape = x.shape[1:]
    x, z = x.flatten(1), z.flatten(1)
    d, outputs = x.shape[1], c.shape[1]
    weighted = (c[:, :, None] * z[:, None, :]).reshape(len(z), outputs * d)  # (m, outputs d)
    out = torch.empty(len(x), outputs, d, dtype=torch.float64)
    step = max(1, PAIRS // len(z))
    for start in range(0, len(x), step):
        rows = x[start : start + step]
        by_product, by_norm = pair_slopes(arch, rows, z, kind)
        along = (by_product @ weighted).reshape(len(rows), outputs, d)
        out[start : start + step] = (along + 2 * (by_norm @ c)[:, :, None] * rows[:, None, :]) / d
    return out.reshape(len(x), outputs, *shape)


def pair_slopes(arch: Architecture, x: Tensor, z: Tensor, kind: str) -> tuple[Tensor, Tensor]:
    r"""Derivatives :math:`\kappa_s` and :math:`\kappa_q` (n, m) of a kernel without pixels, by one pass back over all pairs."""
    d, shape = x.shape[1], (len(x), len(z))
    product = (x @ z.mT / d).reshape(-1).requires_grad_(True)
    first = (x.square().sum(1) / d)[:, None].expand(shape).reshape(-1).clone().requires_grad_(True)
    second = (z.square().sum(1) / d)[None].expand(shape).reshape(-1)
    zero = torch.zeros_like(product) if kind == "ntk" else None
    cov = Covariance(product, zero, first, second, (), Need.NONE, paired=True)
    for layer, need in zip(arch.layers, arch.body.needs(Need.NONE)[1:]):
        cov = layer.propagate(cov, need)
    value = cov.ntk if kind == "ntk" else cov.cross
    assert value is not None
    slopes = torch.autograd.grad(value.sum(), (product, first), allow_unused=True)
    found = [torch.zeros(shape, dtype=x.dtype) if s is None else s.reshape(shape) for s in slopes]
    return found[0], found[1]


def _through_reference(arch: Architecture, x: Tensor, z: Tensor, c: Tensor, kind: str) -> Tensor:
    """The same with pixels: automatic differentiation of the reference, rows in blocks."""
    pixels = x[0, 0].numel()
    full = arch.body.needs(Need.NONE)[0] is Need.FULL
    step = max(1, ENTRIES // (len(z) * pixels * (pixels if full else 1)))
    found = []
    for start in range(0, len(x), step):
        rows = x[start : start + step].detach().requires_grad_(True)
        pair = reference_kernel(arch, rows, z, (kind,))
        f = (pair.ntk if kind == "ntk" else pair.nngp) @ c  # (rows, outputs)
        last = f.shape[1] - 1
        columns = [torch.autograd.grad(f[:, o].sum(), rows, retain_graph=o < last)[0] for o in range(f.shape[1])]
        found.append(torch.stack(columns, 1))
    return torch.cat(found)


def outer_mean(gradients: Tensor) -> Tensor:
    """Mean of g gᵀ (D, D) over rows and outputs of gradients (n, outputs, D)."""
    rows = gradients.reshape(-1, gradients.shape[-1])
    return rows.mT @ rows / len(rows)
