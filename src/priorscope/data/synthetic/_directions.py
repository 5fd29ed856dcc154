"""Two-class data whose only signal lies along chosen directions of the input space, noise everywhere else."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from priorscope.checks import ANY_NUMBER, NOT_NEGATIVE, POSITIVE, SEED, SHAPE, checked, each, optional, whole
from priorscope.data._dataset import Dataset, Split

__all__ = ["circles", "directional", "linear_plus_circle"]


def _orthonormal(directions: Tensor, count: int, what: str) -> Tensor:
    """The directions as rows (count, D) in float64, checked to be orthonormal."""
    rows: Tensor = torch.atleast_2d(directions.to(torch.float64)).flatten(1)
    if len(rows) != count or rows.shape[1] < count:
        raise ValueError(
            f"{what} needs {count} direction(s) of at least {count} numbers; got {tuple(directions.shape)}."
        )
    if not torch.allclose(rows @ rows.mT, torch.eye(count, dtype=torch.float64), atol=1e-4):
        raise ValueError(f"{what} needs orthonormal directions (unit length, at right angles); normalise them first.")
    return rows


def _noise(n: int, basis: Tensor, std: float, generator: torch.Generator) -> Tensor:
    """N(0, std²) in the orthogonal complement of the rows of ``basis``."""
    omega = std * torch.randn(n, basis.shape[1], generator=generator, dtype=torch.float64)
    return omega - (omega @ basis.mT) @ basis


def _signs(n: int, generator: torch.Generator) -> Tensor:
    """As many +1 as −1 (one more of +1 for odd n), shuffled."""
    signs = torch.where(torch.arange(n) % 2 == 0, 1.0, -1.0).to(torch.float64)
    return signs[torch.randperm(n, generator=generator)]


def _ring(signs: Tensor, radii: tuple[float, float], generator: torch.Generator) -> Tensor:
    """Points (n, 2) on circles: radius ``radii[0]`` for −1 and ``radii[1]`` for +1."""
    angle = 2 * math.pi * torch.rand(len(signs), generator=generator, dtype=torch.float64)
    radius = torch.where(signs > 0, radii[1], radii[0])
    return radius[:, None] * torch.stack([angle.cos(), angle.sin()], 1)


def _assemble(parts: list[tuple[Tensor, Tensor]], name: str, shape: Sequence[int] | None) -> Dataset:
    splits, labels = [], []
    for x, y in parts:
        x = x.to(torch.float32)
        splits.append(Split(x if shape is None else x.reshape(-1, *shape), y.to(torch.float32)[:, None]))
        labels.append((y > 0).long())
    return Dataset(splits[0], splits[1], name, ("-1", "+1"), labels[0], labels[1])


@checked(
    n_train=whole(2), n_test=whole(0), radii=each(POSITIVE), noise=NOT_NEGATIVE, seed=SEED, input_shape=optional(SHAPE)
)
def circles(
    plane: Tensor,
    n_train: int = 1000,
    n_test: int = 1000,
    *,
    radii: tuple[float, float] = (1.0, 2.0),
    noise: float = 1.0,
    seed: int = 0,
    input_shape: Sequence[int] | None = None,
) -> Dataset:
    """Two concentric circles in the plane of two orthonormal directions (2, D), N(0, noise²) in the other D − 2.

    The class is the radius: −1 for ``radii[0]``, +1 for ``radii[1]``. ``input_shape`` folds the inputs into images.
    Source: Geometric invariance hypothesis paper, Fig. 1.

    Example:
        >>> data = circles(torch.eye(5)[:2], n_train=4, n_test=2, radii=(1.0, 3.0))
        >>> sorted(round(r, 3) for r in data.inputs[:, :2].norm(dim=1).tolist())
        [1.0, 1.0, 3.0, 3.0]
    """
    basis = _orthonormal(plane, 2, "circles")
    if radii[0] == radii[1]:
        raise ValueError(f"circles needs two different radii, one per class; got {radii}.")
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for n in (n_train, n_test):
        y = _signs(n, generator)
        parts.append((_ring(y, radii, generator) @ basis + _noise(n, basis, noise, generator), y))
    return _assemble(parts, "circles", input_shape)


@checked(
    n_train=whole(2),
    n_test=whole(0),
    strength=optional(ANY_NUMBER),
    noise=NOT_NEGATIVE,
    offset=optional(ANY_NUMBER),
    frequency=ANY_NUMBER,
    seed=SEED,
    input_shape=optional(SHAPE),
)
def directional(
    direction: Tensor,
    kind: str = "linear",
    n_train: int = 1000,
    n_test: int = 1000,
    *,
    strength: float | None = None,
    noise: float = 1.0,
    offset: float | None = None,
    frequency: float = 1.0,
    seed: int = 0,
    input_shape: Sequence[int] | None = None,
) -> Dataset:
    r"""Inputs :math:`x = \epsilon\alpha u + \omega` with :math:`\alpha\sim N(0,1)` and noise at right angles to u.

    Labels are :math:`\mathrm{sgn}(s + b)` ("linear"), :math:`\mathrm{sgn}(s^2 + b)` ("quadratic") or
    :math:`\mathrm{sgn}(\sin \nu s + b)` ("sinusoidal", with :math:`\nu` the ``frequency``) of :math:`s = x\cdot u`. The
    strength ε is 0.9, 2.0 and 2.1 by default, from the paper (App. A.7); the offset b balances the classes: 0, −ε²·0.4549
    (the median of χ²₁) and 0.

    Example:
        >>> u = torch.eye(4)[0]
        >>> data = directional(u, "quadratic", n_train=2000)
        >>> round(float((data.targets > 0).float().mean()), 1)
        0.5
    """
    strengths = {"linear": 0.9, "quadratic": 2.0, "sinusoidal": 2.1}
    if kind not in strengths:
        raise ValueError(f"directional knows the kinds {', '.join(strengths)}; got {kind!r}.")
    basis = _orthonormal(direction.flatten(), 1, "directional")
    epsilon = strengths[kind] if strength is None else strength
    b = offset if offset is not None else {"quadratic": -0.4549364 * epsilon**2}.get(kind, 0.0)
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for n in (n_train, n_test):
        s = epsilon * torch.randn(n, generator=generator, dtype=torch.float64)
        value = {"linear": s, "quadratic": s**2, "sinusoidal": (frequency * s).sin()}[kind] + b
        y = torch.where(value >= 0, 1.0, -1.0).to(torch.float64)
        parts.append((s[:, None] @ basis + _noise(n, basis, noise, generator), y))
    return _assemble(parts, f"directional-{kind}", input_shape)


@checked(
    n_train=whole(2),
    n_test=whole(0),
    strength=ANY_NUMBER,
    radii=each(POSITIVE),
    noise=NOT_NEGATIVE,
    seed=SEED,
    input_shape=optional(SHAPE),
)
def linear_plus_circle(
    linear: Tensor,
    plane: Tensor,
    n_train: int = 1000,
    n_test: int = 1000,
    *,
    strength: float = 1.0,
    radii: tuple[float, float] = (1.0, 2.0),
    noise: float = 1.0,
    keep: str = "both",
    seed: int = 0,
    input_shape: Sequence[int] | None = None,
) -> Dataset:
    r"""Two features that both tell the class: :math:`x = \epsilon\,u_1 y + z_y(u_2, u_3) + \omega`.

    ``keep`` says which of them still tells the class in the *test* split: "both", "linear" (the circle is drawn with
    another label) or "circle": the accuracies on the last two show which feature a model trained on both relies on.

    Example:
        >>> data = linear_plus_circle(torch.eye(6)[0], torch.eye(6)[1:3], n_test=200, keep="linear")
        >>> bool((data.test.inputs[:, 0].sign() == data.test.targets[:, 0]).all())
        True
    """
    if keep not in ("both", "linear", "circle"):
        raise ValueError(f"keep must be 'both', 'linear' or 'circle'; got {keep!r}.")
    flat = torch.cat([torch.atleast_2d(linear.flatten()), plane.flatten(1)])
    basis = _orthonormal(flat, 3, "linear_plus_circle")
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for n, test in ((n_train, False), (n_test, True)):
        y = _signs(n, generator)
        other = _signs(n, generator)
        along = other if test and keep == "circle" else y
        around = other if test and keep == "linear" else y
        signal = torch.cat([strength * along[:, None], _ring(around, radii, generator)], 1)
        parts.append((signal @ basis + _noise(n, basis, noise, generator), y))
    return _assemble(parts, f"linear-plus-circle ({keep})", input_shape)
