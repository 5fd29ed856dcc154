"""How far any module is from equivariant: the error by layer, precision, resolution and nonlinearity."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import pandas as pd
import torch
from torch import Tensor, nn

from priorscope.checks import SEED, SHAPE, each, optional, whole
from priorscope.contracts import guarded
from priorscope.data.groups import GridGroup, Group
from priorscope.data.groups import Move as NamedMove
from priorscope.models import GridMove, group_moves
from priorscope.probes.symmetries._elements import moving_elements

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Equivariance", "equivariance"]

Move: TypeAlias = Callable[[Tensor], Tensor]
Action: TypeAlias = Callable[
    [Move, Tensor], Tensor
]  # an element of the group and a layer's output, moved as it should be

TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-10}  # rounding through some tens of layers stays below
NONLINEARITIES: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
    "none": nn.Identity,
}
POINTWISE = (
    nn.ReLU,
    nn.ReLU6,
    nn.LeakyReLU,
    nn.ELU,
    nn.CELU,
    nn.SELU,
    nn.GELU,
    nn.SiLU,
    nn.Tanh,
    nn.Sigmoid,
    nn.Softplus,
)
WHOLE = "output"
_SIZED = (
    NamedMove.SHIFT,
    NamedMove.SHIFT_DOWN,
    NamedMove.SHIFT_QUARTER,
    NamedMove.DEFORMATION,
)  # by a number of pixels


@dataclass(frozen=True)
class Equivariance:
    """Errors of equivariance, one row per layer, precision, resolution and nonlinearity; ``rows`` as :meth:`table` shows them.

    Example:
        >>> net = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2, 1))
        >>> found = equivariance(net, "p4", input_shape=(1, 6, 6), dtypes=("float64",))
        >>> found.equivariant, found.breaks_at
        (False, '0')
    """

    group: str
    rows: tuple[dict[str, object], ...] = field(repr=False)
    notes: tuple[str, ...] = ()

    def table(self) -> pd.DataFrame:
        """Columns: layer, kind, depth, acts, dtype, side, nonlinearity, error, tolerance."""
        return pd.DataFrame(list(self.rows))

    def _first(self) -> pd.DataFrame:
        """The rows of the module as it is, in its highest precision, at its first resolution."""
        table = self.table()
        table = table[(table.nonlinearity == "own") & (table.side == table.side.iloc[0])]
        found: pd.DataFrame = table[table.dtype == sorted(table.dtype)[-1]]
        return found

    @property
    def error(self) -> float:
        """Δ of the whole module, in its highest precision."""
        rows = self._first()
        return float(rows[rows.layer == WHOLE].error.iloc[0])

    @property
    def equivariant(self) -> bool:
        """Whether the whole module's error is rounding."""
        rows = self._first()
        return bool((rows[rows.layer == WHOLE].error <= rows[rows.layer == WHOLE].tolerance).all())

    @property
    def breaks_at(self) -> str | None:
        """The first layer whose error is more than rounding; None where no layer's is."""
        rows = self._first()
        wrong = rows[rows.error > rows.tolerance]
        return None if wrong.empty else str(wrong.layer.iloc[0])

    @property
    def sentence(self) -> str:
        """What the numbers say, in one sentence."""
        rows = self._first()
        kind = rows[rows.layer == WHOLE].acts.iloc[0]
        if self.equivariant:
            return f"The module is {kind} under {self.group}: its error is {self.error:.1e} in {rows.dtype.iloc[0]}, rounding."
        where = self.breaks_at
        row = rows[rows.layer == where].iloc[0]
        at = "" if where == WHOLE else f"; the first layer that breaks it is {where} ({row.kind}), with {row.error:.2g}"
        return f"The module is not {kind} under {self.group}: its outputs are off by {self.error:.2g} of their deviation{at}."

    def chart(self) -> alt.TopLevelMixin:
        """Error by depth on a log axis, one line per precision, side and nonlinearity."""
        import altair as alt

        table = self.table().assign(error=lambda t: t.error.clip(lower=1e-17))
        name = table.dtype + ", side " + table.side.astype(str) + ", " + table.nonlinearity
        x = alt.X("depth:Q", title="layer")
        y = alt.Y("error:Q", title="equivariance error Δ").scale(type="log")
        lines = alt.Chart(table.assign(run=name)).mark_line(point=True)
        chart: alt.TopLevelMixin = lines.encode(
            x, y, alt.Color("run:N", title=None), tooltip=["layer", "kind", "acts", "error"]
        )
        return chart.properties(width=420, height=240, title=f"Equivariance under {self.group}")


@guarded(input_shape=optional(SHAPE), sides=each(whole()), n_elements=whole(), n_inputs=whole(2), seed=SEED)
def equivariance(
    module: nn.Module,
    group: str | Group,
    inputs: Tensor | None = None,
    *,
    input_shape: tuple[int, ...] | None = None,
    representations: str | Action = "auto",
    dtypes: Sequence[str] = ("float32", "float64"),
    sides: tuple[int, ...] = (),
    nonlinearities: Sequence[str] = (),
    n_elements: int = 4,
    n_inputs: int = 16,
    seed: int = 0,
) -> Equivariance:
    r"""The equivariance error of a module and of every layer in it, for a group that acts on its inputs.

    .. math:: \Delta = \frac1n\sum_i \frac{\mathrm{std}\,(\rho(g_i)\,\Phi(f_i) - \Phi(g_i f_i))}{\mathrm{std}\,\Phi(f_i)}

    Cohen, Geiger, Köhler & Welling (2018), Sec. 5.1; the size of the mean difference is added, so that an offset counts too.

    ``group`` is a name that fits any size ("p4", "p4m", "flips", "mirror", "shifts", "sign"), a group of
    ``priorscope.data.groups`` or one single ``Move`` of them. ``representations`` says what outputs do: "auto" (layers with as
    many spatial axes as the inputs move with them, others stay as they are; all stay under groups that mix channels), "same",
    "invariant", or a function of an element and a layer's output. ``inputs`` are a batch, or random numbers of ``input_shape``.
    ``dtypes``, further ``sides`` of square inputs and ``nonlinearities`` ("relu", "tanh", "gelu", "none", put in place of the
    module's own) are tried besides.

    Example:
        >>> conv = nn.Conv2d(1, 4, 3, padding=1, padding_mode="circular")
        >>> equivariance(conv, "shifts", input_shape=(1, 6, 6), dtypes=("float64",)).sentence[:50]
        'The module is equivariant under shifts: its error '
    """
    if not isinstance(module, nn.Module):
        raise TypeError(
            f"equivariance asks a torch module; got {type(module).__name__}. Wrap functions in an nn.Module."
        )
    if not isinstance(group, str | Group):
        raise TypeError(
            f"equivariance needs a group by name, such as 'p4', or one of priorscope.data.groups; got {type(group).__name__}."
        )
    if isinstance(dtypes, str) or not dtypes:
        raise ValueError(f"dtypes are some of float32, float64, as a tuple; got {dtypes!r}.")
    if representations == "auto" and isinstance(group, Group) and not isinstance(group, GridGroup):
        representations = "invariant"  # what a mix of input channels does to those of a layer cannot be known
    source = torch.Generator().manual_seed(seed)
    x = _batch(inputs, input_shape, n_inputs, source)
    shapes = [tuple(x.shape[1:]), *(_resized(tuple(x.shape[1:]), side) for side in sides)]
    rows: list[dict[str, object]] = []
    notes: list[str] = []
    for shape in shapes:
        batch = x if shape == shapes[0] else torch.randn(len(x), *shape, generator=source)
        moves = _moves(group, shape, n_elements, seed)
        for nonlinearity in ("own", *nonlinearities):
            if shape != shapes[0] and nonlinearity != "own":
                continue
            variant = _variant(module, nonlinearity)
            for dtype in dtypes if nonlinearity == "own" else dtypes[-1:]:
                kind = _dtype(dtype)
                try:
                    found = _errors(copy.deepcopy(variant).to(kind).eval(), batch.to(kind), moves, representations)
                except (RuntimeError, ValueError) as error:
                    if shape == shapes[0]:
                        raise ValueError(
                            f"{type(module).__name__} cannot be asked on inputs {tuple(batch.shape)}: {error}"
                        ) from error
                    notes.append(
                        f"side {shape[-1]}: the module does not take such inputs ({str(error).splitlines()[0]})"
                    )
                    continue
                shared = {"dtype": dtype, "side": shape[-1], "nonlinearity": nonlinearity, "tolerance": TOLERANCE[kind]}
                rows += [row | shared for row in found]
    return Equivariance(group if isinstance(group, str) else group.name, tuple(rows), tuple(dict.fromkeys(notes)))


def _dtype(name: str) -> torch.dtype:
    known = {"float32": torch.float32, "float64": torch.float64}
    if name not in known:
        raise ValueError(f"dtypes are some of {', '.join(known)}; got {name!r}.")
    return known[name]


def _batch(
    inputs: Tensor | None, input_shape: tuple[int, ...] | None, n_inputs: int, source: torch.Generator
) -> Tensor:
    """The inputs that were given, or random ones of a shape."""
    if inputs is None:
        if input_shape is None:
            raise ValueError(
                "equivariance needs inputs, a batch (n, ...), or input_shape for random ones; got neither."
            )
        return torch.randn(n_inputs, *input_shape, generator=source)
    if not isinstance(inputs, Tensor) or inputs.ndim < 2 or len(inputs) == 0 or not bool(inputs.isfinite().all()):
        what = f"shape {tuple(inputs.shape)}" if isinstance(inputs, Tensor) else type(inputs).__name__
        raise ValueError(f"equivariance needs inputs as a tensor (n, ...) of finite numbers, n >= 1; got {what}.")
    if input_shape is not None and tuple(input_shape) != tuple(inputs.shape[1:]):
        raise ValueError(
            f"inputs have shape {tuple(inputs.shape[1:])}, input_shape says {tuple(input_shape)}. Leave one of them out."
        )
    return inputs


def _resized(shape: tuple[int, ...], side: int) -> tuple[int, ...]:
    if len(shape) < 2:
        raise ValueError(f"sides= needs inputs with positions (channels, *space); these have shape {shape}.")
    return (shape[0], *(side for _ in shape[1:]))


def _moves(group: str | Group, shape: tuple[int, ...], n: int, seed: int) -> list[Move]:
    """A few elements that move inputs of a shape."""
    if isinstance(group, NamedMove):
        return [group]
    if isinstance(group, str):
        moves = list(group_moves(group, shape))[1:]
        order = torch.randperm(len(moves), generator=torch.Generator().manual_seed(seed))[:n]
        return [moves[int(i)] for i in order]
    if tuple(group.input_shape) != shape:
        raise ValueError(
            f"the group {group.name} acts on inputs of shape {tuple(group.input_shape)}; these have shape {shape}. Make it for "
            "them, or name a group that fits any size, such as 'p4'."
        )
    return list(moving_elements(group, n, seed))


def _variant(module: nn.Module, nonlinearity: str) -> nn.Module:
    """The module with its pointwise nonlinearities replaced."""
    if nonlinearity == "own":
        return module
    if nonlinearity not in NONLINEARITIES:
        raise ValueError(f"nonlinearities are some of {', '.join(NONLINEARITIES)}; got {nonlinearity!r}.")
    made = copy.deepcopy(module)
    count = 0
    for parent in list(made.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, POINTWISE):
                setattr(parent, name, NONLINEARITIES[nonlinearity]())
                count += 1
    if not count:
        raise ValueError(
            f"{type(module).__name__} has no pointwise nonlinearity as a layer of its own to put {nonlinearity!r} for."
        )
    return made


@torch.no_grad()
def _errors(module: nn.Module, x: Tensor, moves: list[Move], representations: str | Action) -> list[dict[str, object]]:
    """Δ of every leaf's output in the order of calls, then of the whole module's."""
    plain = _outputs(module, x)
    totals = dict.fromkeys(plain, 0.0)
    acts: dict[str, str] = {}
    for move in moves:
        moved = _outputs(module, move(x))
        if len(x) > 1 and (plain[WHOLE][1] == plain[WHOLE][1][:1]).all() and (moved[WHOLE][1] == plain[WHOLE][1]).all():
            raise ValueError("it gives every input the same output, which says nothing about a symmetry.")
        for name, (_, before) in plain.items():
            acts[name], wanted = _acted(move, before, x, representations)
            after = moved[name][1]
            if after.shape != wanted.shape:
                raise ValueError(
                    f"layer {name} gives {tuple(after.shape)} on moved inputs and {tuple(wanted.shape)} where its output is "
                    "moved. Say with representations= what its outputs do."
                )
            spread = float(before.std())
            gap = float((wanted - after).std(correction=0)) + abs(float((wanted - after).mean()))
            totals[name] += gap / spread if spread > 0 else (0.0 if gap == 0 else float("inf"))
    return [
        {"layer": name, "kind": kind, "depth": depth, "acts": acts[name], "error": totals[name] / len(moves)}
        for depth, (name, (kind, _)) in enumerate(plain.items())
    ]


def _outputs(module: nn.Module, x: Tensor) -> dict[str, tuple[str, Tensor]]:
    """Outputs of the leaves, by name in the order of their first call, and of the whole under :data:`WHOLE`."""
    seen: dict[str, tuple[str, Tensor]] = {}

    def hook(name: str, layer: nn.Module) -> Callable[..., None]:
        def keep(_: nn.Module, __: object, output: object) -> None:
            if name not in seen and isinstance(output, Tensor) and output.ndim >= 2 and len(output) == len(x):
                seen[name] = (type(layer).__name__, output)

        return keep

    leaves = [(name, part) for name, part in module.named_modules() if name and not list(part.children())]
    handles = [part.register_forward_hook(hook(name, part)) for name, part in leaves]
    try:
        out = module(x)
    finally:
        for handle in handles:
            handle.remove()
    if not isinstance(out, Tensor) or len(out) != len(x):
        raise ValueError("equivariance needs a module that gives one tensor with a row per input.")
    if not bool(out.isfinite().all()):
        raise ValueError("its outputs are NaN or infinite.")
    return seen | {WHOLE: (type(module).__name__, out)}


def _acted(move: Move, output: Tensor, x: Tensor, representations: str | Action) -> tuple[str, Tensor]:
    """The word for what an output does under a move, and the output moved so."""
    if not isinstance(representations, str):
        return "equivariant", representations(move, output)
    if representations not in ("auto", "same", "invariant"):
        raise ValueError(f"representations is 'auto', 'same', 'invariant' or a function; got {representations!r}.")
    space = output.ndim == x.ndim and x.ndim > 2 and min(output.shape[2:]) > 1
    if representations == "invariant" or (representations == "auto" and not space):
        return "invariant", output
    if move in _SIZED and output.shape[2:] != x.shape[2:]:
        raise ValueError(
            f"what “{move}” of the input does to an output of {tuple(output.shape[2:])} positions cannot be known; name a group, "
            "such as 'shifts', or pass representations='invariant' for the outputs of the whole."
        )
    if isinstance(move, GridMove) and output.ndim == x.ndim:
        move = move.fitted(tuple(x.shape[2:]), tuple(output.shape[2:]))
    try:
        return "equivariant", move(output)
    except ValueError:  # an element made for inputs of one shape: it moves every channel alike
        channels = [
            move(output[:, k : k + 1].expand(-1, x.shape[1], *output.shape[2:]))[:, :1] for k in range(output.shape[1])
        ]
        return "equivariant", torch.cat(channels, 1)
