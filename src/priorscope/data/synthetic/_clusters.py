"""Gaussian clusters around random centres, several per class."""

from __future__ import annotations

import torch

from priorscope.checks import NOT_NEGATIVE, SEED, checked, whole
from priorscope.data._dataset import Dataset, Split
from priorscope.data._labels import encode_labels

__all__ = ["gaussian_clusters"]


@checked(
    n_train=whole(2),
    n_test=whole(0),
    classes=whole(2),
    components=whole(),
    dim=whole(),
    spread=NOT_NEGATIVE,
    seed=SEED,
)
def gaussian_clusters(
    n_train: int = 600,
    n_test: int = 0,
    *,
    classes: int = 3,
    components: int = 2,
    dim: int = 20,
    spread: float = 0.1,
    seed: int = 0,
) -> Dataset:
    r"""A mixture of ``classes`` × ``components`` Gaussians with centres on the unit sphere, equally many samples of each.

    Around its centre a sample is spread by :math:`N(0, \text{spread}^2/d)` per coordinate, so that ``spread`` is the length
    of the deviation. The mixture of Soltanolkotabi's talk on early stopping (2019), K classes of C components each with a small
    variance; the sizes are ours, for the talk gives none. In float64, in random order.

    Example:
        >>> data = gaussian_clusters(12, classes=2, components=3, dim=5)
        >>> data.inputs.shape, data.train_labels.bincount().tolist()
        (torch.Size([12, 5]), [6, 6])
    """
    g = torch.Generator().manual_seed(seed)
    centres = torch.randn(classes * components, dim, generator=g, dtype=torch.float64)
    centres = centres / centres.norm(dim=1, keepdim=True)
    names = tuple(str(c) for c in range(classes))

    def draw(n: int) -> tuple[Split, torch.Tensor]:
        which = torch.arange(n)[torch.randperm(n, generator=g)] % len(centres)
        noise = torch.randn(n, dim, generator=g, dtype=torch.float64)
        labels = which % classes
        x = centres[which] + spread / dim**0.5 * noise
        return Split(x, encode_labels(labels, "classes", names, torch.float64)), labels

    (train, train_labels), (test, test_labels) = draw(n_train), draw(n_test)
    return Dataset(train, test, "gaussian-clusters", names, train_labels, test_labels)
