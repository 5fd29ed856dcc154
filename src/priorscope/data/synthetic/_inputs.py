"""Synthetic inputs with known laws: spheres, products of spheres, Gaussians, cubes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from priorscope.checks import ANY_NUMBER, NOT_NEGATIVE, POSITIVE, SEED, SHAPE, checked, each, optional, whole
from priorscope.data._dataset import Dataset, Split
from priorscope.data._memory import check_memory

__all__ = ["cube", "from_function", "gaussian", "hypercube", "product_of_spheres", "sphere"]


def _check(n: int, dim: int) -> None:
    check_memory(8 * n * dim, f"{n} inputs of {dim} numbers")


@checked(n=whole(), dim=whole(), radius=POSITIVE, seed=SEED)
def sphere(n: int, dim: int, *, radius: float = 1.0, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    """``n`` points (n, dim) uniform on the sphere of the given radius in R^dim.

    Example:
        >>> x = sphere(5, 3, radius=2.0)
        >>> bool(torch.allclose(x.norm(dim=1), torch.tensor(2.0)))
        True
    """
    _check(n, dim)
    x = torch.randn(n, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    found: Tensor = (radius * x / x.norm(dim=1, keepdim=True)).to(dtype)
    return found


@checked(n=whole(), dims=SHAPE, radii=optional(each(POSITIVE)), seed=SEED)
def product_of_spheres(
    n: int,
    dims: Sequence[int],
    *,
    radii: Sequence[float] | None = None,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """``n`` points (n, sum(dims)): independent uniform points on spheres in R^{d_1}, R^{d_2}, …, side by side.

    Example:
        >>> x = product_of_spheres(4, (2, 3), radii=(1.0, 2.0))
        >>> [round(v, 4) for v in (x[0, :2].norm().item(), x[0, 2:].norm().item())]
        [1.0, 2.0]
    """
    sizes = tuple(radii) if radii is not None else (1.0,) * len(dims)
    if len(sizes) != len(dims):
        raise ValueError(f"product_of_spheres needs one radius a sphere; got {len(dims)} dims and {len(sizes)} radii.")
    blocks = []
    generator = torch.Generator().manual_seed(seed)
    for dim, radius in zip(dims, sizes):
        _check(n, dim)
        x = torch.randn(n, dim, generator=generator, dtype=torch.float64)
        blocks.append(radius * x / x.norm(dim=1, keepdim=True))
    return torch.cat(blocks, 1).to(dtype)


@checked(n=whole(0), seed=SEED)
def gaussian(
    n: int,
    covariance: int | Tensor,
    *,
    mean: Tensor | None = None,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """``n`` points (n, dim) of N(mean, covariance); an integer ``covariance`` is the dimension of a standard normal.

    The covariance may be singular; an eigenvalue below −1e-6 of the largest raises.

    Example:
        >>> x = gaussian(1000, torch.diag(torch.tensor([1.0, 0.0])), seed=1)
        >>> x.shape, bool(x[:, 1].abs().max() < 1e-6)
        (torch.Size([1000, 2]), True)
    """
    dim = covariance if isinstance(covariance, int) else len(covariance)
    _check(n, dim)
    x = torch.randn(n, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    if not isinstance(covariance, int):
        cov = covariance.to(torch.float64)
        if (
            cov.ndim != 2
            or cov.shape[0] != cov.shape[1]
            or not torch.allclose(cov, cov.mT, atol=1e-6 * float(cov.abs().max()))
        ):
            raise ValueError(f"covariance must be a symmetric (dim, dim) matrix; got shape {tuple(cov.shape)}.")
        lam, vectors = torch.linalg.eigh(cov)
        if float(lam[0]) < -1e-6 * float(lam[-1].abs()):
            raise ValueError(
                f"covariance must be positive semidefinite; its smallest eigenvalue is {float(lam[0]):.3g}."
            )
        x = (x * lam.clamp(min=0).sqrt()) @ vectors.mT
    if mean is not None:
        x = x + mean.to(torch.float64)
    return x.to(dtype)


@checked(n=whole(), dim=whole(), low=ANY_NUMBER, high=ANY_NUMBER, seed=SEED)
def cube(
    n: int, dim: int, *, low: float = -1.0, high: float = 1.0, seed: int = 0, dtype: torch.dtype = torch.float32
) -> Tensor:
    """``n`` points (n, dim) uniform in the cube [low, high]^dim.

    Example:
        >>> bool((cube(10, 2).abs() <= 1).all())
        True
    """
    _check(n, dim)
    if not high > low:
        raise ValueError(f"cube needs low < high; got {low} and {high}.")
    u = torch.rand(n, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (low + (high - low) * u).to(dtype)


@checked(n=whole(), dim=whole(), seed=SEED)
def hypercube(n: int, dim: int, *, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    """``n`` points (n, dim) uniform on the corners {−1, +1}^dim.

    Example:
        >>> sorted(set(hypercube(50, 2).flatten().tolist()))
        [-1.0, 1.0]
    """
    _check(n, dim)
    bits = torch.randint(0, 2, (n, dim), generator=torch.Generator().manual_seed(seed))
    return (2 * bits - 1).to(dtype)


@checked(n_train=whole(2), n_test=whole(), seed=SEED, noise=NOT_NEGATIVE)
def from_function(
    sample: Callable[[int, int], Tensor],
    target: Callable[[Tensor], Tensor],
    n_train: int,
    n_test: int = 1000,
    *,
    seed: int = 0,
    noise: float = 0.0,
    name: str = "synthetic",
) -> Dataset:
    """A data set of inputs ``sample(n, seed)`` with targets ``target(inputs)``, training ones plus N(0, noise²).

    Training and test inputs come from different seeds (2·seed and 2·seed + 1).

    Example:
        >>> data = from_function(lambda n, seed: sphere(n, 3, seed=seed), lambda x: x[:, 0], n_train=10, n_test=20)
        >>> len(data.train), len(data.test), data.task
        (10, 20, 'regression')
    """
    train, test = sample(n_train, 2 * seed), sample(n_test, 2 * seed + 1)
    y_train, y_test = target(train).to(train.dtype), target(test).to(test.dtype)
    if noise:
        generator = torch.Generator().manual_seed(2 * seed)
        y_train = y_train + noise * torch.randn(y_train.shape, generator=generator, dtype=train.dtype)
    return Dataset(Split(train, y_train), Split(test, y_test), name)
