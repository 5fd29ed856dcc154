"""Inputs with several named parts, such as tokens and their mask, as rows of numbers and back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from priorscope.contracts._data import Shape

__all__ = ["Field", "Fields"]

_MASK = "attention_mask"
_EXACT = 2**24  # whole numbers up to here are exact in float32


@dataclass(frozen=True)
class Field:
    """One part of an input: its name, the shape of one row, and whether it holds whole numbers.

    Example:
        >>> Field("input_ids", (16,), True).size
        16
    """

    name: str
    shape: Shape
    whole: bool

    @property
    def size(self) -> int:
        """How many numbers one row has."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Fields:
    """The parts of an input in their order, laid one after the other in a row of numbers.

    A row of numbers can be divided, shuffled and kept as any other; networks get the parts by name (``unpacked``). Whole
    numbers stay whole: those beyond 2²⁴, which float32 does not have, are refused.

    Example:
        >>> fields, rows = Fields.packed({"input_ids": [[3, 1], [2]], "size": [0.5, 2.0]})
        >>> fields.names, rows.tolist()
        (('input_ids', 'attention_mask', 'size'), [[3.0, 1.0, 1.0, 1.0, 0.5], [2.0, 0.0, 1.0, 0.0, 2.0]])
        >>> fields.unpacked(rows)["attention_mask"].tolist()
        [[1, 1], [1, 0]]
    """

    parts: tuple[Field, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts."""
        return tuple(part.name for part in self.parts)

    @property
    def size(self) -> int:
        """How many numbers a row has."""
        return sum(part.size for part in self.parts)

    @classmethod
    def packed(cls, given: Mapping[str, object]) -> tuple[Fields, Tensor]:
        """Parts and rows (n, size); sequences of several lengths are padded with zeros, told apart by a mask."""
        values: dict[str, Tensor] = {}
        for name, value in given.items():
            tensor, mask = _tensor(str(name), value)
            values[str(name)] = tensor
            if mask is not None and not any("mask" in str(other) for other in given):
                values[_MASK] = mask
        counts = {name: len(value) for name, value in values.items()}
        if not values or len(set(counts.values())) != 1:
            raise ValueError(
                f"inputs by name need parts with one row per sample; got {counts or 'none'}. Give each part all rows."
            )
        fields = cls(tuple(Field(name, tuple(v.shape[1:]), _whole(v)) for name, v in values.items()))
        return fields, fields.rows(values)

    def rows(self, values: Mapping[str, object]) -> Tensor:
        """Rows (n, size) of new parts; sequences are padded or, where padding is all they lose, cut to the known length."""
        pieces: list[Tensor] = []
        lacking = [part.name for part in self.parts if part.name not in values and part.name != _MASK]
        if lacking:
            raise ValueError(f"the inputs lack {', '.join(lacking)}; got {', '.join(map(str, values))}.")
        made: dict[str, Tensor] = {}
        for name, value in values.items():
            made[str(name)], mask = _tensor(str(name), value)
            if mask is not None:
                made.setdefault(_MASK, mask)
        for part in self.parts:
            value = made.get(part.name)
            if value is None:  # a mask that nothing needed padding for
                value = torch.ones(len(pieces[0]), *part.shape)
            pieces.append(_fitted(value, part).reshape(len(value), part.size))
        return torch.cat([piece.float() for piece in pieces], 1)

    def unpacked(self, rows: Tensor) -> dict[str, Tensor]:
        """The parts by name, whole numbers as integers."""
        found = {}
        for part, piece in zip(self.parts, rows.split([p.size for p in self.parts], 1), strict=True):
            shaped = piece.reshape(len(rows), *part.shape)
            found[part.name] = shaped.round().long() if part.whole else shaped
        return found

    def __iter__(self) -> Iterator[Field]:
        return iter(self.parts)


def _whole(value: Tensor) -> bool:
    return not value.is_floating_point()


def _tensor(name: str, value: object) -> tuple[Tensor, Tensor | None]:
    """One part as a tensor (n, …), with a mask (n, length) where sequences of several lengths were padded."""
    if isinstance(value, Tensor):
        tensor = value.detach().cpu()
    else:
        items = list(value) if isinstance(value, Sequence | np.ndarray) else None
        if items is None:
            raise TypeError(f"the part {name!r} of the inputs is a {type(value).__name__}; wanted an array or a list.")
        arrays = [np.asarray(v.detach().cpu() if isinstance(v, Tensor) else v) for v in items]
        if any(a.dtype.kind not in "buif" for a in arrays):
            raise TypeError(
                f"the part {name!r} of the inputs holds {arrays[0].dtype}; wanted numbers. Words become numbers by a "
                "tokenizer, before they come here."
            )
        lengths = [len(a) for a in arrays if a.ndim]
        if len(lengths) == len(arrays) and len(set(lengths)) > 1:
            longest = max(lengths)
            padded = [np.pad(a, [(0, longest - len(a))] + [(0, 0)] * (a.ndim - 1)) for a in arrays]
            mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
            return _checked(name, torch.from_numpy(np.stack(padded))), mask.long()
        tensor = torch.from_numpy(np.stack(arrays)) if arrays else torch.zeros(0)
    return _checked(name, tensor), None


def _checked(name: str, tensor: Tensor) -> Tensor:
    if tensor.ndim == 0:
        raise ValueError(f"the part {name!r} of the inputs is one number; wanted one row per sample.")
    if tensor.is_floating_point():
        if not bool(tensor.isfinite().all()):
            raise ValueError(f"the part {name!r} of the inputs holds NaN or infinite values. Fill them in first.")
        return tensor.float()
    tensor = tensor.long()
    if len(tensor) and int(tensor.abs().max()) > _EXACT:
        raise ValueError(
            f"the part {name!r} of the inputs holds whole numbers beyond {_EXACT}, which would be rounded."
        )
    return tensor


def _fitted(value: Tensor, part: Field) -> Tensor:
    """A part at the length it has: shorter sequences are padded with zeros, longer ones cut where only zeros are lost."""
    if tuple(value.shape[1:]) == part.shape:
        return value
    if value.ndim - 1 != len(part.shape) or value.ndim < 2 or tuple(value.shape[2:]) != part.shape[1:]:
        raise ValueError(
            f"the part {part.name!r} has rows of shape {tuple(value.shape[1:])}; the network was fitted to {part.shape}."
        )
    want, have = part.shape[0], value.shape[1]
    if have > want and bool(value[:, want:].any()):
        raise ValueError(
            f"the part {part.name!r} has sequences of {have}; the longest that the network was fitted to has {want}. Cut "
            "them, or pad the training rows to the longest."
        )
    longer = torch.zeros(len(value), max(want, have), *part.shape[1:], dtype=value.dtype)
    longer[:, :have] = value
    return longer[:, :want]
