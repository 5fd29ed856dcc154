"""Which of several named arrays are the inputs and which the targets: by the names people give them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product

__all__: list[str] = []

INPUTS = ("x", "xs", "input", "inputs", "data", "image", "images", "feature", "features")
TARGETS = ("y", "ys", "target", "targets", "label", "labels")
_PARTS = {
    "train": ("train", "training", "tr"),
    "test": ("test", "testing", "te"),
    "val": ("val", "valid", "validation"),
}


@dataclass(frozen=True)
class Roles:
    """The names of the arrays that are inputs and targets, and those of the test part (None where there is none)."""

    x: str
    y: str
    test: tuple[str, str] | None = None
    notes: tuple[str, ...] = field(default=())


def _known() -> dict[str, tuple[str, str]]:
    """Every spelling, without signs between its words, with its role and part."""
    known = {name: (role, "") for role, names in (("x", INPUTS), ("y", TARGETS)) for name in names}
    for (role, names), (part, words) in product((("x", INPUTS), ("y", TARGETS)), _PARTS.items()):
        for name, word in product(names, words):
            known[name + word] = known[word + name] = (role, part)
    return known


_KNOWN = _known()


def assign_roles(
    names: Sequence[str], shape: Callable[[str], tuple[int, ...]], file: str, target: str | int | None = None
) -> Roles:
    """Find the inputs and the targets among arrays called ``names``; what could be read two ways is refused.

    Names such as x, inputs, data, images or features, and y, targets or labels, in any case, with train, test or val before
    or after. Two arrays of other names are told apart when one has one number per row; ``target`` names that of the targets.

    Example:
        >>> assign_roles(["X_train", "y_train", "X_test", "y_test"], lambda name: (4,), "a.npz").test
        ('X_test', 'y_test')
    """
    if isinstance(target, int):
        raise ValueError(
            f"{file} holds named arrays ({', '.join(names)}); target must be one of the names, not {target}."
        )
    if target is not None and target not in names:
        raise ValueError(f"{file} has no array {target!r} for the targets; it holds {', '.join(names) or 'nothing'}.")
    found: dict[tuple[str, str], list[str]] = {}
    for name in names:
        role = _KNOWN.get(re.sub(r"[^a-z0-9]", "", name.lower()))
        if role is not None and not (target is not None and role == ("y", "")):
            found.setdefault(role, []).append(name)
    if target is not None:
        for role in list(found):
            found[role] = [name for name in found[role] if name != target]
        part = "train" if found.get(("x", "train")) and not found.get(("x", "")) else ""
        found[("y", part)] = [target]
    for several in found.values():
        if len(several) > 1:
            raise ValueError(
                f"{file} holds {' and '.join(several)}, which could be the same thing. Keep one of them, or rename the rest."
            )
    one = {role: several[0] for role, several in found.items() if several}
    for part in ("train", ""):
        x, y = one.get(("x", part)), one.get(("y", part))
        if x is not None and y is not None:
            return _with_test(x, y, one, names, file)
    if len(names) == 2 and not (one.keys() & {("x", "test"), ("y", "test"), ("x", "val"), ("y", "val")}):
        guess = _two(names, shape, target)
        if guess is not None:
            return Roles(*guess, notes=(f"inputs: the array {guess[0]}; targets: the array {guess[1]}",))
    raise ValueError(
        f"{file} needs arrays for inputs ({', '.join(INPUTS)}) and targets ({', '.join(TARGETS)}), plain or with _train and "
        f"_test; it holds {', '.join(names) or 'nothing'}. Rename them, or pass target= with the name of the targets."
    )


def _two(names: Sequence[str], shape: Callable[[str], tuple[int, ...]], target: str | None) -> tuple[str, str] | None:
    """Choose the targets among two arrays with as many rows: the one with one number per row; None where both or neither have."""
    shapes = {name: shape(name) for name in names}
    if any(not s for s in shapes.values()) or len({s[0] for s in shapes.values()}) != 1:
        return None
    if target is not None:
        return next(name for name in names if name != target), target
    columns = [name for name in names if len(shapes[name]) == 1 or shapes[name][1:] == (1,)]
    if len(columns) != 1:
        return None
    (column,) = columns
    return next(n for n in names if n != column), column


def _with_test(x: str, y: str, one: dict[tuple[str, str], str], names: Sequence[str], file: str) -> Roles:
    """Roles with the test part where both its halves are there; arrays that are not read are told."""
    notes: list[str] = []
    test = None
    for part in ("test", "val"):
        xt, yt = one.get(("x", part)), one.get(("y", part))
        if (xt is None) != (yt is None):
            raise ValueError(
                f"{file} holds {xt or yt} and not the other half of the {part} part. Add it, or leave both out."
            )
        if xt is not None and yt is not None and test is None:
            test = (xt, yt)
            if part == "val":
                notes.append(f"the test part is {xt}, {yt}")
    left = [name for name in names if name not in (x, y, *(test or ()))]
    if left:
        notes.append(f"arrays that are not read: {', '.join(left)}")
    return Roles(x, y, test, tuple(notes))
