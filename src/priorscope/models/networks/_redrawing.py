"""A finished module drawn again: by the law it was drawn by where that can be known, and not at all where it cannot."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from priorscope.models.networks._antisymmetric import Antisymmetric
from priorscope.models.networks._initial_law import InitialLaw, StatesLaws

__all__ = ["Redrawing", "follows_torch"]

_AFFINE = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
_NORMS = (nn.LayerNorm, nn.GroupNorm, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_RESETS = 8  # draws of a foreign part's own law, against which its weights are held
_ERRORS = 6.0  # standard errors beyond which weights are not by that law


@runtime_checkable
class _Resets(Protocol):
    def reset_parameters(self) -> None: ...


@dataclass(frozen=True)
class Redrawing:
    """New networks like a given one, of other weights.

    Layers of this library state their law. torch's Linear, Conv and normalisations, and other parts with a
    ``reset_parameters``, are drawn again by it when their present weights do not contradict it: range, mean and mean square
    are compared, up to six standard errors. Parameters that hold one value throughout keep it. Anything else (trained
    weights, another initialisation) is refused, since its law cannot be read off: give a factory instead. ``note`` says what
    is done.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> like = Redrawing.of(nn.Linear(100, 100))
        >>> like.note
        'drawn again by the initial law of its parts, which its present weights do not contradict'
        >>> bool(like.network(0).weight.abs().max() <= 0.1)
        True
        >>> net = nn.Linear(100, 100)
        >>> _ = nn.init.normal_(net.weight)
        >>> Redrawing.of(net)
        Traceback (most recent call last):
        ...
        ValueError: cannot draw this module again: its parameter 'weight' has mean square ..., ...
    """

    template: nn.Module
    laws: dict[str, InitialLaw]  # of the parameters whose law is known as such
    foreign: tuple[str, ...]  # parts drawn by their own reset_parameters
    note: str

    @classmethod
    def of(cls, module: nn.Module) -> Redrawing:
        """Read the laws of a module's parameters, or refuse."""
        laws: dict[str, InitialLaw] = {}
        foreign: list[str] = []
        for prefix, part in module.named_modules():
            own = dict(part.named_parameters(recurse=False))
            if not own:
                continue
            dot = f"{prefix}." if prefix else ""
            if isinstance(part, StatesLaws):
                laws |= {dot + name: part.laws[name] for name in own}
                continue
            if type(part) in _AFFINE or type(part) in _NORMS:
                expected = _torch_laws(part)
                known = {name: _constant(p) or expected[name] for name, p in own.items()}
                for name, p in own.items():
                    _check_law(known[name], p, dot + name, type(part).__name__)
                laws |= {dot + name: law for name, law in known.items()}
                continue
            if not _resets(part):
                raise ValueError(
                    f"cannot draw this module again: its part {prefix or type(part).__name__!r} has parameters but no "
                    "reset_parameters. Pass a factory seed -> Module instead."
                )
            held = {dot + name: law for name, p in own.items() if (law := _constant(p)) is not None}
            _check_reset(part, [name for name in own if dot + name not in held], dot)
            laws |= held
            foreign.append(prefix)
        if not laws and not foreign:
            raise ValueError("the model has no parameters, so there is nothing to draw again.")
        by = (
            "by the law it states"
            if _all_stated(module)
            else "by the initial law of its parts, which its present weights do not contradict"
        )
        return cls(module, laws, tuple(foreign), f"drawn again {by}")

    @property
    def in_one_call(self) -> bool:
        """Whether all parameters are drawn as stacks, without building modules."""
        twins = any(isinstance(part, Antisymmetric) for part in self.template.modules())
        return not self.foreign and not twins

    def stacked(self, n: int, generator: torch.Generator) -> dict[str, Tensor]:
        """Parameters of ``n`` networks by name, each (n, ...); only where ``in_one_call``."""
        assert self.in_one_call
        return {
            name: self.laws[name].draw(tuple(p.shape), generator, p.dtype, n)
            for name, p in self.template.named_parameters()
        }

    def network(self, seed: int) -> nn.Module:
        """A copy with weights of this seed; torch's global random state is left as it was."""
        fresh = copy.deepcopy(self.template)
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(seed)
            for part in fresh.modules():
                own = any(True for _ in part.parameters(recurse=False))
                if own and not isinstance(part, StatesLaws):
                    _reset(part)
                elif own:
                    assert isinstance(part, StatesLaws)
                    for name, p in part.named_parameters(recurse=False):
                        p.copy_(part.laws[name].draw(tuple(p.shape), None, p.dtype))
            for name, p in fresh.named_parameters():
                if name in self.laws and self.laws[name].kind == "constant":
                    p.fill_(self.laws[name].size)
            for part in fresh.modules():
                if isinstance(part, Antisymmetric):
                    part.minus.load_state_dict(part.plus.state_dict())
        return fresh


def _resets(part: nn.Module) -> bool:
    return isinstance(part, _Resets | nn.MultiheadAttention)


def _reset(part: nn.Module) -> None:
    """Draw a part by its own law; torch's attention keeps its own under another name."""
    if isinstance(part, nn.MultiheadAttention):
        part._reset_parameters()
    else:
        assert isinstance(part, _Resets)
        part.reset_parameters()


def _all_stated(module: nn.Module) -> bool:
    return all(isinstance(p, StatesLaws) for p in module.modules() if any(True for _ in p.parameters(recurse=False)))


def _constant(parameter: Tensor) -> InitialLaw | None:
    """The law of a parameter that holds one value throughout; a single entry tells only when it is 0 or 1."""
    values = parameter.detach()
    first = float(values.flatten()[0])
    if bool((values == first).all()) and (values.numel() > 1 or first in (0.0, 1.0)):
        return InitialLaw("constant", first)
    return None


def _torch_laws(part: nn.Module) -> dict[str, InitialLaw]:
    """Laws of torch's own reset_parameters."""
    own = dict(part.named_parameters(recurse=False))
    if type(part) in _NORMS:
        return {name: InitialLaw("constant", float(name == "weight")) for name in own}
    bound = 1 / math.sqrt(math.prod(own["weight"].shape[1:]))
    return dict.fromkeys(own, InitialLaw("uniform", bound))


def follows_torch(part: nn.Module) -> bool:
    """Whether the weights and biases of a Linear or Conv may be draws by torch's own law.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> layer = nn.Linear(100, 1)
        >>> follows_torch(layer), follows_torch(layer.requires_grad_(False).apply(lambda m: m.weight.mul_(2)))
        (True, False)
    """
    laws = _torch_laws(part)
    try:
        for name, p in part.named_parameters(recurse=False):
            _check_law(laws[name], p, name, type(part).__name__)
    except ValueError:
        return False
    return True


def _check_law(law: InitialLaw, parameter: Tensor, name: str, kind: str) -> None:
    """Refuse values that a uniform or constant law cannot have given."""
    w, s = parameter.detach().double(), law.size
    if law.kind == "constant":
        if not bool((w == s).all()):
            raise _contradicted(name, kind, float(w.square().mean()), law.mean_square)
        return
    n = w.numel()
    square, mean = float(w.square().mean()), float(w.mean())
    inside = float(w.abs().max()) <= s * (1 + 1e-3)  # half precision rounds up
    even = abs(square - s**2 / 3) <= _ERRORS * s**2 * math.sqrt(4 / 45 / n)  # variance of u² for u in (-1, 1): 4/45
    if not (inside and even and abs(mean) <= _ERRORS * s / math.sqrt(3 * n)):
        raise _contradicted(name, kind, square, law.mean_square)


def _check_reset(part: nn.Module, names: list[str], dot: str) -> None:
    """Refuse values that differ from those of the part's own reset_parameters in mean or mean square."""
    copies: dict[str, list[Tensor]] = {name: [] for name in names}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for _ in range(_RESETS):
            fresh = copy.deepcopy(part)
            _reset(fresh)
            for name, p in fresh.named_parameters(recurse=False):
                if name in copies:
                    copies[name].append(p.detach().double().flatten())
    for name in names:
        drawn, w = torch.stack(copies[name]), part.get_parameter(name).detach().double().flatten()
        wide = _ERRORS * (1 + 10 / len(w)) * math.sqrt((1 + 1 / _RESETS) / len(w))  # few entries: heavier tails
        for power in (1, 2):
            now, then = w**power, drawn**power
            limit = wide * float(then.std()) + 1e-6 * float(then.abs().mean())
            if abs(float(now.mean() - then.mean())) > limit:
                square = float(drawn.square().mean())
                raise _contradicted(dot + name, type(part).__name__, float(w.square().mean()), square)


def _contradicted(name: str, kind: str, found: float, expected: float) -> ValueError:
    return ValueError(
        f"cannot draw this module again: its parameter {name!r} has mean square {found:.3g}, and by the law of {kind} "
        f"{expected:.3g}. It was trained or drawn by another law, which its weights do not tell; pass a factory "
        "seed -> Module that builds and initialises it."
    )
