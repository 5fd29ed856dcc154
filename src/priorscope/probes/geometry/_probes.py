"""The points at which gradients are taken: given ones, or Gaussian ones of a given size."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from priorscope.checks import SHAPE, check
from priorscope.printing import printed

__all__ = ["Probes"]


@printed
@dataclass(frozen=True)
class Probes:
    """``n_probes`` points per network: random rows of ``points``, or antithetic pairs of :math:`N(0, \\sigma_P^2 I)`.

    Example:
        >>> drawn = Probes.of((3,), n_probes=4, std=1.0).draw(2, torch.Generator().manual_seed(0), torch.float32)
        >>> tuple(drawn.shape), bool((drawn.sum(1).abs() < 1e-6).all())  # each point with its opposite
        ((2, 4, 3), True)
    """

    shape: tuple[int, ...]
    points: Tensor | None
    n_probes: int
    std: float

    @classmethod
    def of(cls, probe: Tensor | tuple[int, ...], n_probes: int, std: float) -> Probes:
        """Probes from a batch of points, or from the shape of one input."""
        if isinstance(probe, Tensor):
            if probe.ndim < 2 or len(probe) == 0 or not torch.isfinite(probe).all():
                raise ValueError(f"probe points must be finite with shape (n, *input_shape); got {tuple(probe.shape)}.")
            return cls(tuple(probe.shape[1:]), probe, n_probes, std)
        check("a probe", "shape", probe, SHAPE)
        return cls(tuple(int(s) for s in probe), None, n_probes, std)

    def draw(self, n: int, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
        """Probes (n, P, *shape) of ``n`` networks."""
        if self.points is not None:
            return self.points[torch.randint(len(self.points), (n, self.n_probes), generator=generator)].to(dtype)
        half = self.std * torch.randn(n, (self.n_probes + 1) // 2, *self.shape, generator=generator, dtype=dtype)
        return torch.cat([half, -half], 1)[:, : self.n_probes]
