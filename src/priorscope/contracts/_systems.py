"""What a whole learning system, a probe's result and an executor must offer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from priorscope.contracts._data import LabelledData
from priorscope.contracts._inference import Inference
from priorscope.contracts._models import Model

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["Result", "TaskExecutor", "Triple"]


class Triple(Protocol):
    """A learning system as others see it: data, model, inference.

    Example:
        >>> from priorscope.contracts import is_triple
        >>> import priorscope as ps
        >>> data = ps.data.digits(classes="parity").subset(20)
        >>> is_triple(ps.System(data, ps.models.fcn(1), ps.inference.KernelRegression()))
        True
    """

    @property
    def data(self) -> LabelledData:
        """D."""
        ...

    @property
    def model(self) -> Model:
        """M."""
        ...

    @property
    def inference(self) -> Inference:
        """I."""
        ...


class Result(Protocol):
    """What a probe gives: a tidy table and a chart.

    Example:
        >>> from priorscope.contracts import missing
        >>> import numpy as np, priorscope as ps
        >>> missing(ps.probes.spectrum(np.eye(3)), Result)
        ()
    """

    def table(self) -> pd.DataFrame:
        """One row per thing measured."""
        ...

    def chart(self) -> alt.TopLevelMixin:
        """The picture of the result."""
        ...


class TaskExecutor(Protocol):
    """Whatever computes blocks elsewhere: a ``concurrent.futures.Executor``, a ``dask.distributed.Client``, or the like.

    Example:
        >>> from priorscope.contracts import missing
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> missing(ThreadPoolExecutor(1), TaskExecutor)
        ()
    """

    @property
    def submit(self) -> Callable[..., object]:
        """``submit(function, *arguments)`` gives a future."""
        ...
