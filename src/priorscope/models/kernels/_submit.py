"""Work handed to an executor: how blocks are sent, and how the first that is done is waited for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Protocol, TypeAlias, cast

from torch import Tensor

from priorscope.contracts import TaskExecutor, require

__all__ = ["Task", "submitter"]


class Task(Protocol):
    """A block that is being computed: a future of ``concurrent.futures`` or of Dask."""

    def result(self) -> dict[str, Tensor]:
        """Its kernels, when it is done."""
        ...

    def cancel(self) -> object:
        """Give it up."""
        ...

    def __hash__(self) -> int: ...


Submit: TypeAlias = Callable[..., Task]
FirstDone: TypeAlias = Callable[[Iterable[Task]], list[Task]]


def submitter(executor: TaskExecutor) -> tuple[Submit, FirstDone]:
    """How to hand work to a concurrent.futures executor or a Dask client, and how to wait for the first that is done."""
    wanted = "an executor with a submit method"
    require(executor, TaskExecutor, wanted, "Take a concurrent.futures.Executor or a dask.distributed.Client.")
    dask = sys.modules.get("distributed")  # whoever has a client has imported it
    if dask is not None and isinstance(executor, dask.Client):
        return (
            lambda fn, *args: cast(Task, executor.submit(fn, *args, pure=False)),
            lambda waiting: list(dask.wait(list(waiting), return_when="FIRST_COMPLETED").done),
        )

    def first_done(waiting: Iterable[Task]) -> list[Task]:
        futures = cast("Iterable[Future[dict[str, Tensor]]]", waiting)
        return [cast(Task, done) for done in wait(futures, return_when=FIRST_COMPLETED).done]

    return cast(Submit, executor.submit), first_done
