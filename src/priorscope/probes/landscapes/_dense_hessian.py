"""The two parts of the Hessian of a fully connected network, written down layer by layer: matrix products only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from scipy.linalg.blas import dsyrk
from torch import Tensor

from priorscope.inference.networks import DenseLayer, bend_of, slope_of

__all__ = ["dense_parts"]


class _Pass:
    """Forward pass (n patterns) with what the derivatives need: inputs with a bias column, slopes, bends of each layer."""

    def __init__(self, form: Sequence[DenseLayer], params: Mapping[str, Tensor], x: Tensor) -> None:
        """Run the patterns through the layers and keep inputs, slopes and bends of each."""
        self.W = [params[layer.weight] * layer.scale for layer in form]  # effective weights (out, in)
        self.seen: list[Tensor] = []  # (n, in [+ 1]): derivatives of pre-activations over the layer's parameters
        self.slopes: list[Tensor] = []
        self.bends: list[Tensor | None] = []
        z = x.flatten(1)
        for W, layer in zip(self.W, form):
            a = z @ W.mT
            columns = [layer.scale * z]
            if layer.bias is not None:
                a = a + layer.bias_scale * params[layer.bias]
                columns.append(z.new_full((len(z), 1), layer.bias_scale))
            self.seen.append(torch.cat(columns, 1))
            z, slope = slope_of(layer.activation, a)
            self.slopes.append(slope)
            self.bends.append(bend_of(layer.activation, a))

    def signals(self, start: Tensor) -> list[Tensor]:
        """Derivatives over the pre-activations of each layer of an output combination (n, …, outputs)."""
        back = [start]
        for W, slope in zip(self.W[:0:-1], self.slopes[-2::-1]):
            back.append((back[-1] @ W) * (slope if start.ndim == 2 else slope[:, None]))
        return back[::-1]


def dense_parts(
    form: Sequence[DenseLayer],
    params: Mapping[str, Tensor],
    x: Tensor,
    slope: Tensor,  # (n, outputs), of the loss
    curvature: Tensor,  # (n, outputs, outputs), of the loss
) -> tuple[Tensor, Tensor]:
    r"""Sums over patterns of :math:`J^T\ell''J` and :math:`\ell'\nabla\nabla f`, (N, N) each.

    With pre-activations :math:`a^l = W^l z^{l-1}`, signals :math:`\delta^l = \partial(\ell' f)/\partial a^l`, propagators
    :math:`D^{kl} = \partial z^k/\partial a^l` and curvatures :math:`G^{kl} = \partial^2(\ell' f)/\partial a^k\partial a^l`, for
    :math:`l < k`

    .. math:: \frac{\partial^2(\ell' f)}{\partial W^k_{pq}\,\partial W^l_{ij}} =
        \sum_\mu z^{l-1}_j\big(\delta^k_p D^{k-1,l}_{qi} + G^{kl}_{pi} z^{k-1}_q\big)

    and for :math:`l = k` only the second term: derived here by the chain rule, twice. :math:`G = 0` for activations without
    curvature. A bias is a weight from an input of one.
    """
    run = _Pass(form, params, x)
    blocks = [slice(0, 0)]
    for d, s in zip(run.W, run.seen):
        blocks.append(slice(blocks[-1].stop, blocks[-1].stop + d.shape[0] * s.shape[1]))
    blocks, N = blocks[1:], blocks[-1].stop
    order = _order(form, params)
    first, second = _first(run, curvature, N), torch.zeros(N, N, dtype=x.dtype)
    delta = run.signals(slope)
    G = _curvatures(run, delta)
    for low in range(len(form)):
        D: Tensor | None = None  # (n, h_k, h_l), None while it is the diagonal of slopes
        B: Tensor | None = None  # d a^k / d a^l, None for the identity
        z = run.seen[low]
        for k in range(low, len(form)):
            out, inputs = run.W[k].shape[0], run.seen[k].shape[1]
            block = torch.zeros(out, inputs, run.W[low].shape[0], z.shape[1], dtype=x.dtype)
            if k > low:
                h = run.W[k].shape[1]
                if D is None:
                    left = delta[k][:, :, None] * (form[k].scale * run.slopes[low])[:, None, :]  # (n, p, q = i)
                    found = (left.flatten(1).mT @ z).reshape(out, h, -1)
                    index = torch.arange(h)
                    block[:, index, index] += found
                    D = torch.diag_embed(run.slopes[low])
                else:
                    left = (form[k].scale * delta[k])[:, :, None] * z[:, None, :]  # (n, p, j)
                    found = left.flatten(1).mT @ D.flatten(1)
                    block[:, :h] += found.reshape(out, z.shape[1], h, -1).permute(0, 2, 3, 1)
                B = run.W[k] @ D  # (n, out, h_l)
                D = run.slopes[k][:, :, None] * B
            Gk = G[k]
            if Gk is not None:
                mixed = Gk if B is None else Gk @ B  # (n, p, i)
                pairs = run.seen[k][:, :, None] * z[:, None, :]  # (n, q, j)
                found = mixed.flatten(1).mT @ pairs.flatten(1)
                block += found.reshape(out, -1, inputs, z.shape[1]).transpose(1, 2)
            flat = block.reshape(out * inputs, -1)
            second[blocks[k], blocks[low]] = flat
            if k > low:
                second[blocks[low], blocks[k]] = flat.mT
    return first[order][:, order], second[order][:, order]


def _curvatures(run: _Pass, delta: list[Tensor]) -> list[Tensor | None]:
    """Second derivatives (n, h, h) over the pre-activations of each layer; None where they vanish."""
    found: list[Tensor | None] = [None]
    for k in range(len(run.W) - 2, -1, -1):
        above, bend, slope = found[-1], run.bends[k], run.slopes[k]
        here = None
        if above is not None:
            here = slope[:, :, None] * (run.W[k + 1].mT @ above @ run.W[k + 1]) * slope[:, None, :]
        if bend is not None:
            own = torch.diag_embed(bend * (delta[k + 1] @ run.W[k + 1]))
            here = own if here is None else here + own
        found.append(here)
    return found[::-1]


def _first(run: _Pass, curvature: Tensor, N: int) -> Tensor:
    """The sum of :math:`J^T\\ell''J`: one symmetric product."""
    n, outputs = curvature.shape[:2]
    if outputs == 1 and bool((curvature >= 0).all()):
        signals = run.signals(curvature[:, 0].sqrt())
        J = torch.empty(n, N, dtype=curvature.dtype)
        at = 0
        for d, z in zip(signals, run.seen):
            size = d.shape[1] * z.shape[1]
            torch.mul(d[:, :, None], z[:, None, :], out=J[:, at : at + size].unflatten(1, (d.shape[1], z.shape[1])))
            at += size
        lower = torch.from_numpy(dsyrk(1.0, J.numpy().T))  # the upper triangle, in column order
        return torch.triu(lower) + torch.triu(lower, 1).mT
    signals = run.signals(torch.eye(outputs, dtype=curvature.dtype).expand(n, -1, -1))  # (n, outputs, h)
    pieces = [(d[..., None] * z[:, None, None, :]).flatten(2) for d, z in zip(signals, run.seen)]
    J = torch.cat(pieces, 2)  # (n, outputs, N)
    return J.flatten(0, 1).mT @ (curvature @ J).flatten(0, 1)


def _order(form: Sequence[DenseLayer], params: Mapping[str, Tensor]) -> Tensor:
    """For each flat parameter of the network, its place in ours: layer by layer, rows of weights with their bias last."""
    places, at = {}, 0
    for layer in form:
        out, n_in = params[layer.weight].shape
        columns = n_in + (layer.bias is not None)
        index = torch.arange(at, at + out * columns).reshape(out, columns)
        places[layer.weight] = index[:, :n_in].flatten()
        if layer.bias is not None:
            places[layer.bias] = index[:, n_in]
        at += out * columns
    return torch.cat([places[name] for name in params])
