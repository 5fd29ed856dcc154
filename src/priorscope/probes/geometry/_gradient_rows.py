"""Input gradients of freshly drawn networks, a block at a time: which readout, which engine, how many features."""

from __future__ import annotations

import torch
from torch import Tensor

from priorscope.probes.geometry._draws import Draws
from priorscope.probes.geometry._engine import rows_by_loop, rows_by_vmap, sign_cotangents, stratified_cotangents
from priorscope.probes.geometry._probes import Probes
from priorscope.probes.geometry._readout import Features, find_readout

__all__ = ["GradientRows"]

BLOCK_BYTES = 48_000_000  # gradient rows and stacked parameters held at once
MAX_FEATURES = 8  # features per probe: beyond it, fresh networks tell more than further features of one
LARGE_FEATURES = 1  # the same for large models, where a feature costs as much as a forward pass (measured on ResNet18)
VMAP_LIMIT = 1_500_000  # parameters beyond which a batched convolution is slower than a plain one


class GradientRows:
    """Draws networks and probes, and gives the gradients of features or outputs there.

    The readout is integrated out where there is one and ``readout`` allows it; then the second moment of its weights is
    gathered on the way (:meth:`readout_variance`). ``engine`` "vmap" falls back to the loop where a model cannot be traced.
    """

    def __init__(self, draws: Draws, probes: Probes, readout: str, engine: str) -> None:
        """Look at one network to find its outputs and its readout, and choose the engine and the features per probe."""
        self.draws, self.probes = draws, probes
        self.dtype = next(draws.template.parameters()).dtype
        first = probes.draw(1, draws.generator, self.dtype)[0]
        self.outputs = _outputs(draws.template, first)
        found = find_readout(draws.template, first) if readout == "auto" else None
        self.readout = None if found is not None and found.name == "" else found
        self.features = Features(draws.template, self.readout)
        self.notes = list(draws.notes)
        if any(isinstance(part, torch.nn.modules.batchnorm._BatchNorm) for part in draws.template.modules()):
            self.notes.append("BatchNorm in evaluation mode: at its first running statistics it is the identity")
        large = draws.n_params > VMAP_LIMIT
        self.engine = engine if engine != "auto" else "loop" if large else "vmap"
        if engine == "auto" and large:
            self.notes.append("networks run one by one: this model is large enough that batching does not pay")
        most = LARGE_FEATURES if large else MAX_FEATURES
        self.per_probe = min(-(-self.readout.width // probes.n_probes), most) if self.readout else 1
        self._weights = [0.0, 0.0, 0]  # of the readout: sum of squares, sum, number
        self._seen = 0

    def block_size(self, n_models: int) -> int:
        """Networks that one block may hold: a twentieth of all, within the memory for rows and parameters."""
        rows, D = self.per_probe * self.probes.n_probes, torch.Size(self.probes.shape).numel()
        width = self.readout.width if self.readout else self.outputs
        per_model = 4 * (3 * rows * D + self.draws.n_params + rows * width)
        return max(1, min(-(-n_models // 20), BLOCK_BYTES // per_model))

    def mean(self, n: int) -> Tensor:
        """The mean of gradient times gradient (D, D) over ``n`` fresh networks and their probes."""
        rows = self.rows(n)
        return (rows.mT @ rows).double() / (n * self.probes.n_probes)

    def rows(self, n: int) -> Tensor:
        """Gradients (n · features · probes, D) of ``n`` fresh networks, one network after the other."""
        stacked, generator = self.draws(n), self.draws.generator
        x, P = self.probes.draw(n, generator, self.dtype), self.probes.n_probes
        if self.readout is not None:
            cots = stratified_cotangents(n, P, self.readout.width, self.per_probe, self.dtype, generator)
            for i, value in enumerate(self.features.readout_second_moment(stacked)):
                self._weights[i] += value
        else:
            cots = sign_cotangents(n, P, self.outputs, self.dtype, generator)
        rows = self._rows(stacked, x, cots)
        self._seen += n
        return rows

    def _rows(self, stacked: dict[str, Tensor], x: Tensor, cots: Tensor) -> Tensor:
        if self.engine == "vmap":
            try:
                return rows_by_vmap(self.features, stacked, x, cots)
            except Exception as error:  # torch raises many kinds
                if self._seen:
                    raise
                self.engine = "loop"
                kind = type(error).__name__
                self.notes.append(f"vmap could not trace this model ({kind}); networks run one by one")
        return rows_by_loop(self.features, stacked, x, cots)

    def readout_variance(self) -> float:
        """Second moment of a readout weight, by which the sum over features counts; 1 where no readout is integrated out."""
        if self.readout is None:
            return 1.0
        squares, total, count = self._weights
        variance, mean = squares / count, total / count
        if abs(mean) > 6 * (variance / count) ** 0.5:
            raise ValueError(
                f"readout weights have mean {mean:.3g}, not zero, so they cannot be integrated out; use readout='sample'."
            )
        return variance


def _outputs(template: torch.nn.Module, x: Tensor) -> int:
    """Number of outputs of a network on these probes; a model that cannot take them, or gives no matrix, is refused."""
    try:
        with torch.no_grad():
            out = template(x)
    except RuntimeError as error:
        raise ValueError(f"the model does not take inputs of shape {tuple(x.shape[1:])}: {error}") from error
    if out.ndim != 2 or len(out) != len(x):
        raise ValueError(
            f"the model must map (n, *input_shape) to (n, outputs); got outputs of shape {tuple(out.shape)}."
        )
    return int(out.shape[1])
