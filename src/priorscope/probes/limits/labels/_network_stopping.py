"""When to stop training a network, from its tangent kernel on the samples it will be trained on."""

from __future__ import annotations

import copy

from torch import Tensor, nn

from priorscope.checks import FRACTION, SEED, whole
from priorscope.contracts import guarded
from priorscope.probes.limits.labels._early_stopping import EarlyStopping, early_stopping
from priorscope.probes.tangent._empirical_ntk import empirical_ntk

__all__ = ["network_stopping"]

LARGEST = 1500  # samples × outputs up to which the kernel between all outputs is taken


@guarded(folds=whole(2), level=FRACTION, seed=SEED)
def network_stopping(
    network: nn.Module, inputs: Tensor, targets: Tensor, *, folds: int = 5, level: float = 0.9, seed: int = 0
) -> EarlyStopping:
    r""":func:`early_stopping` of any module before it is trained on these samples, (n, …) and (n, outputs).

    The kernel is that of the network as it stands, :math:`\Theta_{ab} = \nabla f_a\cdot\nabla f_b` between all outputs;
    beyond 1,500 samples × outputs its mean over outputs :math:`\frac1C\sum_a\Theta_{aa}`. ``.steps(learning_rate)`` says
    after how many steps of full-batch gradient descent on half the mean squared error to stop, as long as the network
    stays near its linearisation. Outputs are taken to start at zero (train f − f₀, such as ``GradientDescent(centre=True)``).

    Example:
        >>> import torch
        >>> _ = torch.manual_seed(0)
        >>> x = torch.randn(60, 4)
        >>> y = x[:, :1].sign() * torch.where(torch.rand(60, 1) < 0.3, -1.0, 1.0)  # three in ten labels are wrong
        >>> net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 1))
        >>> found = network_stopping(net, x, y)
        >>> found.time.low <= found.time.value <= found.time.high
        True
    """
    y = targets.reshape(len(targets), -1)
    if len(y) != len(inputs):
        raise ValueError(f"network_stopping needs one target per input; got {len(y)} for {len(inputs)}.")
    exact = copy.deepcopy(network).double()  # small eigenvalues drown in the rounding of single precision
    x = inputs.double() if inputs.is_floating_point() else inputs
    if y.numel() <= LARGEST:
        gram = empirical_ntk(exact, x, outputs="full")
    else:
        gram = empirical_ntk(exact, x) / y.shape[1]
    return early_stopping(gram.detach().cpu().numpy(), y.cpu().numpy(), folds=folds, level=level, seed=seed)
