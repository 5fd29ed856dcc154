"""Nonlinearities of fields that commute with rotations: gates, norms, products."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from priorscope.checks import checked, each, whole
from priorscope.models.equivariant.steerable._basis import intertwiner
from priorscope.models.equivariant.steerable._fields import channels_of, check_fields

__all__ = ["Gate", "NormReLU", "TensorProduct", "split_fields"]


def split_fields(values: Tensor, fields: Sequence[int]) -> list[Tensor]:
    """Channels (n, channels, …) as one tensor (n, fields, 2l+1, …) per order."""
    if values.shape[1] != channels_of(fields):
        raise ValueError(f"wanted fields {tuple(fields)}: {channels_of(fields)} channels; got {values.shape[1]}.")
    parts = values.split([(2 * l + 1) * m for l, m in enumerate(fields)], 1)
    return [part.unflatten(1, (-1, 2 * l + 1)) if part.shape[1] else part[:, :, None] for l, part in enumerate(parts)]


@checked(fields=each(whole(0)))
class Gate(nn.Module):
    r"""ReLU on scalars; every other field is multiplied by the sigmoid of a scalar of its own.

    It takes :attr:`fields_in`, which has one scalar more per field of order l > 0, and gives ``fields`` (Weiler et al. 2018,
    section 3.4: of four nonlinearities the one that worked best).

    Example:
        >>> gate = Gate((8, 4, 2))
        >>> gate.fields_in
        (14, 4, 2)
        >>> gate(torch.zeros(1, 36, 3, 3, 3)).shape
        torch.Size([1, 30, 3, 3, 3])
    """

    fields: tuple[int, ...]
    fields_in: tuple[int, ...]

    def __init__(self, fields: Sequence[int]) -> None:
        super().__init__()
        self.fields = check_fields(fields)
        self.gates = sum(self.fields[1:])
        self.fields_in = (self.fields[0] + self.gates, *self.fields[1:])

    def forward(self, x: Tensor) -> Tensor:
        scalars, *others = split_fields(x, self.fields_in)
        kept, gates = scalars[:, : self.fields[0], 0], scalars[:, self.fields[0] :].sigmoid()
        found, done = [kept.relu()], 0
        for part in others:
            count = part.shape[1]
            found.append((part * gates[:, done : done + count]).flatten(1, 2))
            done += count
        return torch.cat(found, 1)


@checked(fields=each(whole(0)))
class NormReLU(nn.Module):
    r"""Every field shrinks: :math:`f \mapsto \mathrm{ReLU}(|f| - \beta)\, f/|f|`, a learned β > 0 per field; ReLU on scalars.

    (Worrall et al. 2017; tried by Weiler et al. 2018, appendix, where it learned more slowly than gates.) β starts at 0.1.

    Example:
        >>> out = NormReLU((0, 1))(torch.tensor([3.0, 0.0, 4.0]).reshape(1, 3, 1, 1, 1))
        >>> round(float(out.detach().norm()), 4)  # 5 - 0.1
        4.9
    """

    fields: tuple[int, ...]
    fields_in: tuple[int, ...]

    def __init__(self, fields: Sequence[int]) -> None:
        super().__init__()
        self.fields = self.fields_in = check_fields(fields)
        start = torch.tensor(0.1).expm1().log()  # softplus gives 0.1
        self.raw = nn.Parameter(torch.full((sum(self.fields[1:]),), float(start)))

    def forward(self, x: Tensor) -> Tensor:
        scalars, *others = split_fields(x, self.fields)
        beta = functional.softplus(self.raw)
        found, done = [scalars.flatten(1, 2).relu()], 0
        for part in others:
            norm = part.square().sum(2, keepdim=True).add(1e-24).sqrt()
            threshold = beta[done : done + part.shape[1]].reshape(1, -1, 1, *[1] * (x.ndim - 2))
            found.append((part * ((norm - threshold).relu() / norm)).flatten(1, 2))
            done += part.shape[1]
        return torch.cat(found, 1)


@checked(fields=each(whole(0)), max_order=whole(0))
class TensorProduct(nn.Module):
    r"""Products of fields with each other, taken apart into fields: :math:`[f_1 \otimes f_2]^J = Q_J^T\,\mathrm{vec}(f_1 f_2^T)`.

    (Weiler et al. 2018, appendix; :attr:`fields` is what comes out.) Fields of each pair of orders l₁ ≤ l₂ are paired in their
    order, as many as the rarer has; the result keeps the orders up to ``max_order``. Antisymmetric products of a field with
    itself are zero and left out. The fields themselves come along unchanged.

    Example:
        >>> product = TensorProduct((0, 2), max_order=2)
        >>> product.fields  # two squared lengths, the vectors themselves, two of order 2
        (2, 2, 2)
        >>> product(torch.zeros(1, 6, 3, 3, 3)).shape
        torch.Size([1, 18, 3, 3, 3])
    """

    def __init__(self, fields: Sequence[int], max_order: int = 2) -> None:
        """List the products that are kept and count the fields that come out."""
        super().__init__()
        self.fields_in = check_fields(fields)
        self.paths: list[tuple[int, int, int, int]] = []  # l1, l2, J, how many
        counts = [*self.fields_in[: max_order + 1], *[0] * (max_order + 1 - len(self.fields_in))]
        for l1, m1 in enumerate(self.fields_in):
            for l2, m2 in list(enumerate(self.fields_in))[l1:]:
                for J in range(l2 - l1, min(l1 + l2, max_order) + 1):
                    if min(m1, m2) and not (l1 == l2 and (l1 + l2 - J) % 2):
                        self.paths.append((l1, l2, J, min(m1, m2)))
                        counts[J] += min(m1, m2)
        self.fields = check_fields(counts)

    def forward(self, x: Tensor) -> Tensor:
        parts = split_fields(x, self.fields_in)
        found: list[list[Tensor]] = [[part.flatten(1, 2)] for part in parts[: len(self.fields)]]
        found += [[] for _ in range(len(self.fields) - len(found))]
        for l1, l2, J, count in self.paths:
            Q = intertwiner(l1, l2, J)
            assert Q is not None
            cube = Q.to(x).reshape(2 * l1 + 1, 2 * l2 + 1, 2 * J + 1)
            product = torch.einsum("zca...,zcb...,abk->zck...", parts[l1][:, :count], parts[l2][:, :count], cube)
            found[J].append(product.flatten(1, 2))
        return torch.cat([piece for order in found for piece in order], 1)
