"""Does a network learn eigenfunctions of its kernel at the rates of their eigenvalues, off the training set?"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from priorscope.checks import POSITIVE, SEED, number, optional, whole
from priorscope.contracts import guarded, is_kernel_model, is_network_stack, kernel_matrix
from priorscope.inference import FourthOrderFlow
from priorscope.probes.spectra.bias._result import Array, SpectralBias
from priorscope.probes.spectra.eigenfunctions._modes import Modes
from priorscope.probes.tangent import empirical_ntk
from priorscope.system import System, check_system

__all__ = ["spectral_bias"]

MOST_KERNEL_POINTS = 300  # held-out points on which K_t is compared with K_0


@guarded(k=whole(), time=optional(number(above=0, infinite=True)), n_times=whole(), step=POSITIVE, seed=SEED)
def spectral_bias(
    system: System,
    k: int = 6,
    *,
    modes: Modes | None = None,
    time: float | None = None,
    n_times: int = 10,
    step: float = 0.2,
    seed: int = 0,
) -> SpectralBias:
    r"""Residuals of a network on held-out points along gradient flow, against the ideal flow of its kernel.

    Gradient flow on :math:`\frac{1}{2n}\|r\|^2` obeys :math:`\partial_t r_t = -T_n^t r_t`; at infinite width and data
    :math:`\langle r_t, \phi_i\rangle = e^{-\sigma_i t}\langle r_0, \phi_i\rangle`. Theorem 1 of Bowman & Montúfar (2022):

    .. math:: \|P_k(r_t - e^{-T_K t} r_0)\|^2 \le \Big[\frac{1 - e^{-\sigma_k t}}{\sigma_k}\Big]^2
              \big[4\|f^*\|_\infty^2 \|K - K_0\|^2 + \epsilon\big]

    The input measure is that of the test inputs: take many more of them than training inputs. K is the model's
    infinite-width tangent kernel, or the network's own at the start where the model has none.

    Args:
        system: data with one output, a model, and a width; its inference is not used, training is gradient flow.
        k: number of eigenfunctions.
        modes: exact ones (``circle_modes`` and the like) for the projections; those of the test inputs' Gram unless given.
        time: end of training. Default the smaller of 2/(eigenvalue k) and 100/(eigenvalue 1), ours.
        n_times: recorded times besides 0, evenly spaced on a log axis from 0.2/(eigenvalue 1).
        step: integration step in units of the fastest decay.
        seed: of the network.

    Holds: at infinite width and with the test inputs as training set, ``projections`` equals ``ideal``.

    Example:
        >>> import priorscope as ps
        >>> sample = lambda n, seed: ps.data.sphere(n, 2, seed=seed)
        >>> data = ps.data.from_function(sample, lambda x: x[:, 0] + 1, n_train=64, n_test=64)
        >>> system = ps.System(data, ps.models.fcn(1, "erf"), ps.inference.GradientFlow(), width=64)
        >>> result = spectral_bias(system, k=2, n_times=2)
        >>> bool((result.test_error[-1] < result.test_error[0]))
        True
    """
    check_system("spectral_bias", system)
    x, y, points, target = _data(system)
    network = system.network(seed)
    if not isinstance(network, nn.Module) or is_network_stack(network):
        raise ValueError("spectral_bias follows one network; make the system with members=1.")
    network = network.double()
    start = empirical_ntk(network, points).numpy()
    gram = kernel_matrix(system.model, points).numpy() if is_kernel_model(system.model) else start
    n_points = len(points)
    lam, u = np.linalg.eigh((gram + gram.T) / (2 * n_points))
    lam, phi = np.clip(lam[::-1], 0, None), u[:, ::-1] * np.sqrt(n_points)  # orthonormal under the points' measure
    if not 1 <= k <= n_points or lam[k - 1] <= 1e-12 * lam[0]:
        raise ValueError(f"the kernel has fewer than k = {k} eigenvalues above round-off on these {n_points} points.")
    sigma, basis = (lam[:k], phi[:, :k]) if modes is None else (modes.eigenvalues[:k], modes(points)[:, :k])
    end = min(2 / sigma[k - 1], 100 / sigma[0]) if time is None else time
    times = np.concatenate([[0.0], np.geomspace(min(0.2 / sigma[0], end / 2), end, n_times)])
    largest = float(torch.linalg.eigvalsh(empirical_ntk(network, x))[-1]) / len(x)
    few = slice(None, None, -(-n_points // MOST_KERNEL_POINTS))
    first = start[few, few]
    residuals, change = [], []
    for moved in FourthOrderFlow(network, x, y, largest, step).to(times.tolist()):
        with torch.no_grad():
            residuals.append(moved(points).reshape(-1).numpy() - target)
        now = empirical_ntk(moved, points[few]).numpy()
        change.append(np.linalg.norm(now - first) / np.linalg.norm(first))
    r = np.stack(residuals)  # (s, points)
    whole = r @ phi / n_points  # coefficients in the points' own basis
    gap = whole - whole[0] * np.exp(-times[:, None] * lam)
    projections = r @ basis / n_points
    ideal = projections[0] * np.exp(-times[:, None] * sigma)
    bound, distance = float(np.abs(target).max()), float(np.sqrt(((gram - start) ** 2).mean()))
    free = 4 * bound**2 * distance**2
    factors = -np.expm1(-times[:, None] * sigma) / sigma
    return SpectralBias(
        times,
        np.asarray(sigma),
        projections,
        ideal,
        np.cumsum((projections - ideal) ** 2, 1),
        factors**2 * free,
        (gap**2).sum(1),
        times**2 * free,
        (r**2).mean(1),
        np.array(change),
        distance,
        bound,
    )


def _data(system: System) -> tuple[Tensor, Tensor, Tensor, Array]:
    """Training inputs and targets, held-out inputs and targets, in double precision."""
    data = system.data
    if data.n_outputs != 1:
        raise ValueError(
            f"spectral_bias needs data with one output; got {data.n_outputs}. Use classes='parity' or 'one-vs-rest:…'."
        )
    if len(data.test.inputs) < 2:
        raise ValueError("spectral_bias needs held-out points: data with a test set of at least 2 inputs; got none.")
    target = data.test.targets.double().reshape(-1).numpy()
    if not np.abs(target).max() > 0:
        raise ValueError("spectral_bias needs targets that are not all zero.")
    return data.inputs.double(), data.targets.double(), data.test.inputs.double(), target
