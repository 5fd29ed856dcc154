"""Networks without a closed-form kernel, made by the same call as those with one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import nn

from priorscope.checks import SEED, SHAPE, checked, optional, whole
from priorscope.models.networks._antisymmetric import Antisymmetric
from priorscope.models.networks._ensemble import Ensemble

__all__ = ["FiniteModel"]

Shape = tuple[int, ...]


@checked(width=whole())
@dataclass(frozen=True)
class FiniteModel:
    """A factory of plain torch modules in torch's own parametrisation and initialisation.

    ``build(input_shape, width, outputs)`` makes one network; ``width`` has the model's own default. Any function of this
    signature can be wrapped, so that your own module is used where priorscope's are.

    Example:
        >>> import torch
        >>> own = FiniteModel("linear", lambda shape, width, outputs: torch.nn.Linear(shape[0], outputs), width=1)
        >>> own.network((3,), outputs=2, seed=0)(torch.zeros(4, 3)).shape
        torch.Size([4, 2])
    """

    name: str
    build: Callable[[Shape, int, int], nn.Module]
    width: int

    @checked(input_shape=SHAPE, width=optional(whole()), outputs=whole(), seed=SEED)
    def network(
        self,
        input_shape: Shape,
        width: int | None = None,
        outputs: int = 1,
        seed: int = 0,
        parametrisation: str = "standard",
        initialisation: str = "gaussian",
        dtype: torch.dtype | None = None,
    ) -> nn.Module:
        """One network of this seed; the global random state is left as it was.

        Example:
            >>> import torch, priorscope as ps
            >>> ps.models.lenet().network((1, 8, 8), outputs=10)(torch.zeros(2, 1, 8, 8)).shape
            torch.Size([2, 10])
        """
        if parametrisation != "standard":
            raise ValueError(
                f"{self.name} exists in torch's own ('standard') parametrisation only; got {parametrisation!r}. "
                "Use an Architecture (fcn, vec, gap, ...) for the NTK or mean-field parametrisation."
            )
        if initialisation not in ("gaussian", "antisymmetric"):
            raise ValueError(
                f"{self.name} has torch's initialisation ('gaussian') or 'antisymmetric'; got {initialisation!r}."
            )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(seed))
            net = self.build(tuple(int(s) for s in input_shape), self.width if width is None else width, outputs)
        if dtype is not None:
            net = net.to(dtype)
        return Antisymmetric(net) if initialisation == "antisymmetric" else net

    @checked(input_shape=SHAPE, width=optional(whole()), outputs=whole())
    def ensemble(
        self,
        input_shape: Shape,
        width: int | None = None,
        outputs: int = 1,
        seeds: Iterable[int] = range(4),
        parametrisation: str = "standard",
        initialisation: str = "gaussian",
        dtype: torch.dtype | None = None,
    ) -> Ensemble:
        """Networks of several seeds in one call.

        Example:
            >>> import priorscope as ps
            >>> len(ps.models.lenet().ensemble((1, 8, 8), outputs=10, seeds=range(2)))
            2
        """
        how = (parametrisation, initialisation, dtype)
        return Ensemble([self.network(input_shape, width, outputs, seed, *how) for seed in seeds])
