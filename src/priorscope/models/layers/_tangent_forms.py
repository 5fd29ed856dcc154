"""Tangent forms: the gradient of one parameter as the tangent kernel wants it, without a Jacobian where factors will do.

A finite layer says its own by a method ``tangent_forms(entered, deltas, names)``: the forms of its parameters ``names``, given
what went in, (n, ...), and the gradients of the network's outputs at what came out, (n, C, ...). A layer that does not say is
differentiated by itself (:mod:`priorscope.probes.tangent`), and so is a subclass that does not say it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import torch
from torch import Tensor

__all__ = [
    "Explicit",
    "Form",
    "Local",
    "Outputs",
    "Product",
    "TangentLayer",
    "cheaper",
    "combine",
    "concatenate",
    "convolution_forms",
    "inner_products",
    "linear_forms",
    "scaled_forms",
]

Outputs = Literal["sum", "full", "logit"]


@dataclass(frozen=True)
class Product:
    r"""Gradient of a weight used at P positions, :math:`J_{nc} = \sum_p b_{ncp} \otimes a_{np}`, as its two factors."""

    activations: Tensor  # (n, P, I)
    deltas: Tensor  # (n, C, P, O)

    @property
    def n_bytes(self) -> int:
        """Bytes held."""
        return _bytes(self.activations) + _bytes(self.deltas)

    def explicit(self) -> Explicit:
        """The same gradient written out."""
        jacobian = torch.einsum("ncpo,npi->ncoi", self.deltas, self.activations)
        return Explicit(jacobian.flatten(2))

    def gram(self, other: Product, outputs: Outputs) -> Tensor:
        r"""Sum over positions p, q of :math:`(a_p \cdot a_q)(b_p \cdot b_q)`; one position: two small Grams."""
        if self.activations.shape[1] == other.activations.shape[1] == 1:
            inner = self.activations[:, 0] @ other.activations[:, 0].mT  # (n, m)
            outer = inner_products(self.deltas[:, :, 0], other.deltas[:, :, 0], outputs)
            return inner.reshape(*inner.shape, *(1,) * (outer.ndim - 2)) * outer
        inner = torch.einsum("npi,mqi->nmpq", self.activations, other.activations)
        pattern = {
            "sum": "nmpq,ncpo,mcqo->nm",
            "logit": "nmpq,ncpo,mcqo->nmc",
            "full": "nmpq,ncpo,mdqo->nmcd",
        }[outputs]
        out = [self._row(inner[i : i + 1], i, other, pattern) for i in range(len(inner))]
        return torch.cat(out)

    def _row(self, inner: Tensor, i: int, other: Product, pattern: str) -> Tensor:
        """One sample against all: (1, m, p, q) times deltas, in the order that keeps the intermediate small."""
        carried = torch.einsum("nmpq,ncpo->nmcqo", inner, self.deltas[i : i + 1])
        tail = pattern.split(",")[2].replace("->", " ").split()
        return torch.einsum(f"nmcqo,{tail[0]}->{tail[1]}", carried, other.deltas)


@dataclass(frozen=True)
class Local:
    """Gradient of a weight of its own at each position (locally connected): one outer product per position, not summed."""

    activations: Tensor  # (n, P, I)
    deltas: Tensor  # (n, C, P, O)

    @property
    def n_bytes(self) -> int:
        """Bytes held."""
        return _bytes(self.activations) + _bytes(self.deltas)

    def explicit(self) -> Explicit:
        """The same gradient written out."""
        return Explicit(torch.einsum("ncpo,npi->ncpoi", self.deltas, self.activations).flatten(2))

    def gram(self, other: Local, outputs: Outputs) -> Tensor:
        """Sum over positions of the product of the two Grams at that position."""
        inner = torch.einsum("npi,mpi->pnm", self.activations, other.activations)
        total: Tensor | float = 0.0
        for p, block in enumerate(inner):
            outer = inner_products(self.deltas[:, :, p], other.deltas[:, :, p], outputs)
            total = total + block.reshape(*block.shape, *(1,) * (outer.ndim - 2)) * outer
        assert isinstance(total, Tensor)
        return total


@dataclass(frozen=True)
class Explicit:
    """Gradient written out, for parameters where that is the cheapest."""

    jacobian: Tensor  # (n, C, q)

    @property
    def n_bytes(self) -> int:
        """Bytes held."""
        return _bytes(self.jacobian)

    def explicit(self) -> Explicit:
        """Itself."""
        return self

    def gram(self, other: Explicit, outputs: Outputs) -> Tensor:
        """Inner products of the rows."""
        return inner_products(self.jacobian, other.jacobian, outputs)


Form = Product | Local | Explicit


@runtime_checkable
class TangentLayer(Protocol):
    """A finite layer that says the tangent forms of its own parameters."""

    def tangent_forms(self, entered: Tensor, deltas: Tensor, names: tuple[str, ...]) -> dict[str, Form]:
        """Forms of the parameters ``names``; input ``entered`` (n, ...), ``deltas`` (n, C, ...) at the output."""
        ...


def linear_forms(entered: Tensor, deltas: Tensor, names: tuple[str, ...]) -> dict[str, Form]:
    """Forms of a weight (out, in) that acts on the last axis, and of its bias."""
    n, n_out = deltas.shape[:2]
    activations = entered.reshape(n, -1, entered.shape[-1])
    flat = deltas.reshape(n, n_out, activations.shape[1], deltas.shape[-1])
    forms: dict[str, Form] = {}
    if "weight" in names:
        forms["weight"] = Product(activations, flat)
    if "bias" in names:
        forms["bias"] = Explicit(flat.sum(2))
    return forms


def convolution_forms(patches: Tensor, deltas: Tensor, names: tuple[str, ...]) -> dict[str, Form]:
    """Forms of a filter that sees ``patches`` (n, P, channels x taps), in the order of its weight, and of its bias."""
    flat = deltas.flatten(3)  # (n, C, channels, P)
    forms: dict[str, Form] = {}
    if "weight" in names:
        forms["weight"] = Product(patches, flat.mT)
    if "bias" in names:
        forms["bias"] = Explicit(flat.sum(3))
    return forms


def scaled_forms(forms: dict[str, Form], scale: float, bias_scale: float) -> dict[str, Form]:
    """Forms of weights and biases that the forward pass multiplies by constants: the constant goes on the smaller factor."""
    weight, bias = forms.get("weight"), forms.get("bias")
    if isinstance(weight, Product | Local) and scale != 1:  # no copy without need
        forms["weight"] = type(weight)(weight.activations * scale, weight.deltas)
    if isinstance(bias, Explicit):
        forms["bias"] = Explicit(bias.jacobian.flatten(2) * bias_scale)
    return forms


def inner_products(left: Tensor, right: Tensor, outputs: Outputs) -> Tensor:
    """Inner products of (n, C, q) with (m, C, q): (n, m) summed over outputs, (n, m, C) per output, or (n, m, C, C)."""
    n, m, n_out = len(left), len(right), left.shape[1]
    if outputs == "sum" or n_out == 1:  # one product of matrices, faster than what follows
        flat = left.flatten(1) @ right.flatten(1).mT
        return flat if outputs == "sum" else flat.reshape(n, m, *(1,) * (1 if outputs == "logit" else 2))
    if outputs == "logit":
        return torch.einsum("ncq,mcq->nmc", left, right)
    table = left.flatten(0, 1) @ right.flatten(0, 1).mT  # (n C, m C)
    return table.reshape(n, n_out, m, n_out).transpose(1, 2).contiguous()


def combine(forms: list[Form]) -> Form:
    """One form for a parameter used several times: gradients add; products at more positions are still a product."""
    if len(forms) == 1:
        (only,) = forms
        return only
    if all(isinstance(form, Product) for form in forms):
        products = [form for form in forms if isinstance(form, Product)]
        return Product(
            torch.cat([form.activations for form in products], 1), torch.cat([form.deltas for form in products], 2)
        )
    return Explicit(torch.stack([form.explicit().jacobian for form in forms]).sum(0))


def cheaper(form: Form, outputs: Outputs) -> Form:
    """A product over several positions, written out if that makes the Gram of a pair cheaper."""
    if not isinstance(form, Product):
        return form
    positions, n_in = form.activations.shape[1:]
    n_out, width = form.deltas.shape[1], form.deltas.shape[3]
    if positions == 1:
        return form
    blocks = n_out**2 if outputs == "full" else n_out
    by_pairs = positions**2 * (n_in + n_out * width) + blocks * positions * width
    return form if by_pairs < blocks * width * n_in else form.explicit()


def concatenate(parts: list[Form]) -> Form:
    """The same parameter's form over consecutive batches of samples, joined."""
    first, *rest = parts
    if not rest:
        return first
    if isinstance(first, Explicit):
        return Explicit(torch.cat([part.jacobian for part in parts if isinstance(part, Explicit)]))
    activations = torch.cat([part.activations for part in parts if not isinstance(part, Explicit)])
    deltas = torch.cat([part.deltas for part in parts if not isinstance(part, Explicit)])
    return type(first)(activations, deltas)


def _bytes(tensor: Tensor) -> int:
    return tensor.element_size() * tensor.nelement()
