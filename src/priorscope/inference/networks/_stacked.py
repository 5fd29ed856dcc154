"""Training many networks of one shape at once, each on its own data where wanted: SGD with momentum, logistic loss."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap

from priorscope.checks import NOT_NEGATIVE, SEED, checked, number, whole
from priorscope.inference.networks._descent import Batches, descend
from priorscope.inference.networks._optimiser import Momentum

__all__ = ["can_batch", "over_networks", "stacked_accuracy", "train_stacked"]

Stacked = dict[str, Tensor]  # parameters and buffers by name, networks along the first axis
LOOP_FROM = (
    16_384  # numbers in a batch of one network: beyond, convolutions batched over networks are slower (measured)
)


@checked(
    epochs=whole(),
    learning_rate=NOT_NEGATIVE,
    momentum=number(least=0, below=1),
    batch=whole(),
    weight_decay=NOT_NEGATIVE,
    clip=number(above=0, infinite=True),
    seed=SEED,
)
def train_stacked(
    template: nn.Module,
    stacked: Stacked,
    x: Tensor,
    y: Tensor,
    *,
    epochs: int,
    learning_rate: float = 0.1,
    momentum: float = 0.9,
    batch: int = 128,
    weight_decay: float = 0.0,
    clip: float = 5.0,
    decay: bool = False,
    seed: int = 0,
    batched: bool = True,
    watch: Callable[[int, Stacked, float], None] | None = None,
) -> Stacked:
    """The trained parameters of K networks.

    ``stacked`` holds the parameters of all networks by name, with a first axis of length K, and ``template`` is a module of
    their shape. ``x`` is (K, n, *shape), one data set per network; ``y`` is (K, n) with targets ±1 for the logistic
    loss, or whole numbers for cross-entropy. Batches are shared by number, not by content. ``watch(epoch, params, loss)``
    is called before training (epoch 0) and after every epoch. Gradients are clipped to norm ``clip`` per network, so that
    no step runs away; ``decay`` lets the rate fall linearly to zero over all steps. Small batches of three networks or more
    are one call of ``vmap``; others run one by one, which is up to twice as fast for convolutions, and so do all
    without ``batched``.

    Example:
        >>> x = torch.tensor([[[1.0], [-1.0]], [[1.0], [-1.0]]])  # two networks, two samples each
        >>> y = torch.tensor([[1.0, -1.0], [-1.0, 1.0]])  # of opposite classes
        >>> start = {"weight": torch.zeros(2, 1, 1), "bias": torch.zeros(2, 1)}
        >>> trained = train_stacked(nn.Linear(1, 1), start, x, y, epochs=20)
        >>> trained["weight"].flatten().sign().tolist()
        [1.0, -1.0]
    """
    classes = not y.is_floating_point()

    def loss(params: Stacked, fixed: Stacked, xb: Tensor, yb: Tensor) -> Tensor:
        out = functional_call(template, {**params, **fixed}, (xb,))
        if classes:
            return nn.functional.cross_entropy(out, yb)
        return nn.functional.softplus(-yb * out[:, 0]).mean()

    one_by_one = not batched or len(x) <= 2 or min(batch, x.shape[1]) * x[0, 0].numel() >= LOOP_FROM
    step = _by_loop(loss) if one_by_one else vmap(grad_and_value(loss))
    trained = {name for name, _ in template.named_parameters()}
    params = {k: v.clone() for k, v in stacked.items() if k in trained}
    fixed = {k: v for k, v in stacked.items() if k not in trained}  # buffers
    optimisers = {k: Momentum(v, momentum, (0.0, 0.0)) for k, v in params.items()}
    batches = Batches(x.shape[1], batch, torch.Generator().manual_seed(seed))
    steps = epochs * batches.per_epoch
    losses: list[float] = []  # of the batches of this epoch, each with its share of the samples

    def look(w: Stacked, done: int) -> bool:
        if watch and done % batches.per_epoch == 0:
            watch(done // batches.per_epoch, {**w, **fixed}, sum(losses) if done else float("nan"))
            losses.clear()
        return False

    def gradient(w: Stacked, done: int) -> Stacked:
        rows = batches(done)
        gradients, value = step(w, fixed, x[:, rows], y[:, rows])
        losses.append(float(value.mean()) * len(rows) / x.shape[1])
        square = sum(g.flatten(1).square().sum(1) for g in gradients.values())
        scale = (clip / torch.as_tensor(square).sqrt().clamp(min=1e-12)).clamp(max=1.0)  # (K,)
        pulls = {k: g * scale.reshape(-1, *(1,) * (g.ndim - 1)) for k, g in gradients.items()}
        return pulls if weight_decay == 0 else {k: pull + weight_decay * w[k] for k, pull in pulls.items()}

    def update(w: Stacked, g: Stacked, done: int) -> Stacked:
        rate = learning_rate * (1 - (done + 1) / steps) if decay else learning_rate
        return {k: v + optimisers[k].change(g[k], rate) for k, v in w.items()}

    return {**descend(params, gradient, update, steps, look)[0], **fixed}


def _by_loop(loss: Callable[[Stacked, Stacked, Tensor, Tensor], Tensor]) -> Callable[..., tuple[Stacked, Tensor]]:
    """Gradients and losses of K networks one after another, stacked: what ``vmap(grad_and_value(loss))`` gives."""

    def step(params: Stacked, fixed: Stacked, x: Tensor, y: Tensor) -> tuple[Stacked, Tensor]:
        rows, values = [], []
        for i in range(len(x)):
            leaves = {k: v[i].detach().requires_grad_() for k, v in params.items()}
            value = loss(leaves, {k: v[i] for k, v in fixed.items()}, x[i], y[i])
            rows.append(torch.autograd.grad(value, list(leaves.values())))
            values.append(value.detach())
        return {k: torch.stack(g) for k, g in zip(params, zip(*rows))}, torch.stack(values)

    return step


def can_batch(template: nn.Module, stacked: Stacked, points: Tensor) -> bool:
    """Whether ``vmap`` can trace the model: no data-dependent branches, no calls of ``.item()``.

    Example:
        >>> can_batch(nn.Linear(2, 1), {"weight": torch.zeros(3, 1, 2), "bias": torch.zeros(3, 1)}, torch.zeros(4, 2))
        True
    """
    try:
        with torch.no_grad():
            vmap(lambda p: functional_call(template, p, (points,)))(stacked)
    except Exception:  # torch raises many kinds
        return False
    return True


def over_networks(fn: Callable[..., Tensor], batched: bool) -> Callable[..., Tensor]:
    """``fn`` of one network's parameters and data, for K of them: in one call of ``vmap``, or one after another.

    Example:
        >>> sizes = over_networks(lambda params: params["weight"].sum(), batched=False)
        >>> sizes({"weight": torch.tensor([[1.0, 2.0], [3.0, 4.0]])}).tolist()
        [3.0, 7.0]
    """
    if batched:
        return vmap(fn)

    def loop(stacked: Stacked, *data: Tensor) -> Tensor:
        K = len(next(iter(stacked.values())))
        return torch.stack([fn({k: v[i] for k, v in stacked.items()}, *(d[i] for d in data)) for i in range(K)])

    return loop


def stacked_accuracy(template: nn.Module, params: Stacked, x: Tensor, y: Tensor, batched: bool = True) -> Tensor:
    """Share of right answers of each network (K,), in blocks of 500 inputs; ``x`` and ``y`` as for training.

    Example:
        >>> params = {"weight": torch.tensor([[[1.0]], [[-1.0]]]), "bias": torch.zeros(2, 1)}
        >>> x, y = torch.tensor([[[1.0], [-1.0]]] * 2), torch.tensor([[1.0, -1.0]] * 2)
        >>> stacked_accuracy(nn.Linear(1, 1), params, x, y).tolist()
        [1.0, 0.0]
    """
    right = torch.zeros(len(x))
    predict = over_networks(lambda p, z: functional_call(template, p, (z,)), batched)
    with torch.no_grad():
        for rows in torch.arange(x.shape[1]).split(500):
            out = predict(params, x[:, rows])
            guess = out.argmax(-1) if not y.is_floating_point() else out[..., 0].sign()
            right += (guess == y[:, rows]).float().sum(1)
    return right / x.shape[1]
