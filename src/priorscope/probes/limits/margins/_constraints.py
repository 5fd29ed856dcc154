"""The margins of a classifier as functions of its weights: their values, gradients and products with Jacobians."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call, jvp

__all__ = ["Constraints"]


class Constraints:
    """Margins of a network: y f for one output and signs; output of the class minus every other output, for several.

    ``rows`` and ``rivals`` say of each margin which sample it belongs to and which output stands against the class (−1 for
    one output).
    """

    def __init__(
        self, network: nn.Module, weights: Mapping[str, Tensor], inputs: Tensor, classes: Tensor, block: int
    ) -> None:
        """Call the network once on all inputs, and list its margins."""
        self.network, self.weights, self.x, self.block = network, dict(weights), inputs, block
        self.classes = classes  # (n,): ±1 for one output, else the class
        with torch.no_grad():
            self.outputs = torch.cat([self._call(self.weights, part) for part in self._parts()])
        n, count = self.outputs.shape
        self.single = count == 1
        if self.single:
            self.rows, self.rivals = torch.arange(n), torch.full((n,), -1)
        else:
            grid = torch.arange(count).expand(n, count)
            apart = grid != classes[:, None]
            self.rows, self.rivals = torch.arange(n)[:, None].expand(n, count)[apart], grid[apart]
        self.values = self.of(self.outputs, torch.arange(len(self.rows)))

    def __len__(self) -> int:
        return len(self.rows)

    def _parts(self) -> list[Tensor]:
        return list(self.x.split(self.block))

    def _call(self, weights: Mapping[str, Tensor], x: Tensor) -> Tensor:
        out = functional_call(self.network, dict(weights), (x,))
        found: Tensor = out.reshape(len(x), -1)
        return found

    def of(self, outputs: Tensor, which: Tensor) -> Tensor:
        """Some of the margins, of outputs (or of changes of outputs) of all samples."""
        rows = self.rows[which]
        if self.single:
            return self.classes[rows] * outputs[rows, 0]
        return outputs[rows, self.classes[rows]] - outputs[rows, self.rivals[which]]

    def gradients(self, which: Tensor) -> Tensor:
        """Gradients (k, P) of some of the margins, one sample at a time."""
        found = []
        for k in which.tolist():
            i = int(self.rows[k])

            def margin(weights: dict[str, Tensor], i: int = i, k: int = k) -> Tensor:
                out = self._call(weights, self.x[i : i + 1])[0]
                if self.single:
                    return self.classes[i] * out[0]
                return out[self.classes[i]] - out[self.rivals[k]]

            slopes = torch.func.grad(margin)(self.weights)
            found.append(torch.cat([slopes[name].reshape(-1) for name in self.weights]))
        return torch.stack(found)

    def along(self, direction: Tensor) -> Tensor:
        """Products of the gradients of all margins with one direction (P,) of the weights, by forward differentiation."""
        sizes = [w.numel() for w in self.weights.values()]
        parts = direction.split(sizes)
        tangent = {name: part.reshape(w.shape) for (name, w), part in zip(self.weights.items(), parts, strict=True)}

        def push(x: Tensor) -> Tensor:
            call: Callable[[dict[str, Tensor]], Tensor] = lambda weights: self._call(weights, x)  # noqa: E731
            moved: Tensor = jvp(call, (self.weights,), (tangent,))[1]
            return moved

        return self.of(torch.cat([push(part) for part in self._parts()]).detach(), torch.arange(len(self)))
