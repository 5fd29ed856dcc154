"""Parametrisations (a, b, c): how weights, their start and their rate scale with the width, and the networks built so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from priorscope.checks import POSITIVE, SEED, checked, whole
from priorscope.models.nonlinearities import nonlinearity

__all__ = ["ABCNetwork", "ABCParametrisation", "abc_parametrisation"]


@dataclass(frozen=True)
class ABCParametrisation:
    r"""Exponents of a fully connected network of width h: one ``a`` and ``b`` per layer of weights, and one ``c``.

    .. math:: W^l = h^{-a_l}w^l, \qquad w^l \sim N(0, h^{-2b_l}), \qquad \text{rate } \eta\,h^{-c}

    Yang & Hu (2021), "Tensor programs IV". ``update`` is their r: in the first steps hidden features move by :math:`h^{-r}`.

    Example:
        >>> abc_parametrisation("ntk", 2).update, abc_parametrisation("mup", 2).update
        (0.5, 0.0)
        >>> abc_parametrisation("mup", 2).regime
        'feature'
    """

    name: str
    a: tuple[float, ...]
    b: tuple[float, ...]
    c: float

    def __post_init__(self) -> None:
        if len(self.a) != len(self.b) or len(self.a) < 2:
            raise ValueError(
                f"a parametrisation needs one a and one b per layer of weights, two or more; got {self.a} and {self.b}."
            )

    @property
    def update(self) -> float:
        r"""r = min(a_{L+1} + b_{L+1}, 2a_{L+1} + c) + c − 1 + min_l(2a_l + [l = 1]): Yang & Hu (2021), Definition 3.2."""
        last = min(self.a[-1] + self.b[-1], 2 * self.a[-1] + self.c)
        return last + self.c - 1 + min(2 * a + (1 if l == 0 else 0) for l, a in enumerate(self.a[:-1]))

    @property
    def regime(self) -> Literal["unstable", "trivial", "kernel", "feature"]:
        """What the limit of infinite width does: Yang & Hu (2021), Theorem 3.3 (stability) and their dynamical dichotomy."""
        a, b, near = self.a, self.b, 1e-12
        start = abs(a[0] + b[0]) < near and all(abs(x + y - 0.5) < near for x, y in zip(a[1:-1], b[1:-1]))
        finite = a[-1] + b[-1] > 0.5 - near and self.update > -near
        output = 2 * a[-1] + self.c > 1 - near and a[-1] + b[-1] + self.update > 1 - near
        if not (start and finite and output):
            return "unstable"
        moves = abs(a[-1] + b[-1] + self.update - 1) < near or abs(2 * a[-1] + self.c - 1) < near
        if not moves:
            return "trivial"
        return "feature" if abs(self.update) < near else "kernel"


@checked(depth=whole())
def abc_parametrisation(name: str, depth: int) -> ABCParametrisation:
    """A named parametrisation for ``depth`` hidden layers: "standard", "ntk" or "mup".

    The last is maximal update, with one hidden layer the mean field.
    Standard has c = 1, the largest rate at which it stays stable. Yang & Hu (2021), Table 1.

    Example:
        >>> abc_parametrisation("standard", 2).regime, abc_parametrisation("mup", 1).a
        ('kernel', (-0.5, 0.5))
    """
    hidden = depth - 1
    known = {
        "standard": ((0.0,) * (depth + 1), (0.0, *(0.5,) * depth), 1.0),
        "ntk": ((0.0, *(0.5,) * depth), (0.0,) * (depth + 1), 0.0),
        "mup": ((-0.5, *(0.0,) * hidden, 0.5), (0.5,) * (depth + 1), 0.0),
    }
    if name not in known:
        raise ValueError(f"a parametrisation is one of {', '.join(map(repr, known))}; got {name!r}.")
    a, b, c = known[name]
    return ABCParametrisation(name, a, b, c)


class _Scaled(nn.Module):
    """Weights (out, in) with a factor in front."""

    def __init__(self, weight: Tensor, factor: float) -> None:
        super().__init__()
        self.weight, self.factor = nn.Parameter(weight), factor

    def forward(self, x: Tensor) -> Tensor:
        return x @ (self.factor * self.weight).mT


class ABCNetwork(nn.Sequential):
    r"""A fully connected network in a parametrisation, to be trained by plain gradient descent at one rate.

    The rate's exponent is absorbed: :math:`(a, b, c)` and :math:`(a + c/2, b - c/2, 0)` train alike (the symmetry
    of such parametrisations in Yang & Hu 2021). Gaussian weights of variance ``gain`` (default 2, for ReLU) over the inputs'
    dimension in the first layer.

    Example:
        >>> net = ABCNetwork(abc_parametrisation("mup", 2), 3, 16, seed=0)
        >>> net(torch.zeros(4, 3)).shape
        torch.Size([4, 1])
    """

    @checked(dim=whole(), width=whole(), outputs=whole(), gain=POSITIVE, seed=SEED)
    def __init__(
        self,
        parametrisation: ABCParametrisation,
        dim: int,
        width: int,
        *,
        outputs: int = 1,
        activation: str = "relu",
        gain: float = 2.0,
        seed: int = 0,
    ) -> None:
        """Draw the weights layer by layer, with the factors that the parametrisation gives each."""
        generator = torch.Generator().manual_seed(seed)
        shift = parametrisation.c / 2
        layers: list[nn.Module] = []
        depth = len(parametrisation.a) - 1
        for l, (a, b) in enumerate(zip(parametrisation.a, parametrisation.b)):
            n_in, n_out = dim if l == 0 else width, outputs if l == depth else width
            size = gain**0.5 / (dim**0.5 if l == 0 else 1.0)
            omega = torch.randn(n_out, n_in, generator=generator) * width ** -(b - shift)
            layers.append(_Scaled(omega, size * width ** -(a + shift)))
            if l < depth:
                layers.append(_Phi(activation))
        super().__init__(*layers)


class _Phi(nn.Module):
    """A nonlinearity by name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.phi = nonlinearity(name)

    def forward(self, x: Tensor) -> Tensor:
        return self.phi(x)
