"""How papers read published images, on made-up ones in their place: signs, scales, halves, temperatures."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from priorscope.data import Dataset, Split
from priorscope.data.deformations import mean_displacement
from priorscope.papers.curse_of_dimensionality import _systems
from priorscope.papers.diffeomorphisms import _runs
from priorscope.papers.jamming import _images as jamming
from priorscope.papers.kernel_curves import _images as curves
from priorscope.papers.lazy_feature import _data as lazy


def made_up(classes="classes", *, channels=1, size=6, n_train=40, n_test=20, seed=0, **_):
    g = torch.Generator().manual_seed(seed)
    parts, labels = [], []
    for n in (n_train, n_test):
        label = torch.randint(10, (n,), generator=g)
        x = 0.5 + 0.2 * torch.randn(n, channels, size, size, generator=g) + 0.1 * label[:, None, None, None]
        parity = 1.0 - 2 * (label % 2)[:, None].float()
        parts.append(Split(x, parity if classes == "parity" else torch.eye(10)[label]))
        labels.append(label)
    names = tuple(str(i) for i in range(10))
    return Dataset(parts[0], parts[1], "made-up", names, labels[0], labels[1])


def test_two_classes_are_parity_and_pixels_have_unit_variance_or_are_bytes(monkeypatch):
    curves._all.cache_clear()
    for name in ("mnist", "cifar10", "digits"):
        monkeypatch.setattr(curves, name, made_up)
    whole = made_up()
    labels = torch.cat([whole.train_labels, whole.test_labels])
    rows = torch.cat([whole.inputs, whole.test.inputs]).flatten(1).double()
    order = np.random.default_rng(3).permutation(60)
    for name, signs in (
        ("mnist", torch.where(labels % 2 == 1, 1.0, -1.0)),
        ("cifar10", torch.where(labels % 2 == 1, 1.0, -1.0)),
        ("digits", torch.where(labels % 2 == 1, 1.0, -1.0)),
    ):
        x, y, x_test, y_test = curves.two_classes(name, 30, 10, 3, "variance")
        torch.testing.assert_close(torch.cat([y, y_test]), signs[order[:40]].double())
        torch.testing.assert_close(torch.cat([x, x_test]), ((rows - rows.mean()) / rows.std())[order[:40]])
        assert (len(x), len(x_test)) == (30, 10)
        in_bytes = curves.two_classes(name, 30, 10, 3, "bytes")[0]
        torch.testing.assert_close(in_bytes, rows[order[:30]] * 255)
    curves._all.cache_clear()


def test_components_are_white_of_norm_root_d_and_halves_alternate(monkeypatch):
    jamming.components.cache_clear()
    monkeypatch.setattr(jamming, "mnist", made_up)
    x, y = jamming.components("mnist", 4)
    whole = made_up("parity")
    rows = torch.cat([whole.inputs, whole.test.inputs]).flatten(1).double()
    rows = rows - rows.mean(0)
    _, s, v = torch.linalg.svd(rows, full_matrices=False)
    z = rows @ v[:4].mT / (s[:4] / 60**0.5)
    z = z / z.norm(dim=1, keepdim=True) * 2
    torch.testing.assert_close(x.abs(), z.abs(), atol=1e-4, rtol=1e-4)  # signs of components are free
    assert torch.equal(y, torch.cat([whole.targets, whole.test.targets])[:, 0].double())
    train, test = jamming.parity("mnist", 12, 8, 0, dim=4)
    assert train.targets[:, 0].tolist() == [1.0, -1.0] * 6
    assert float(test.targets.sum()) == 0
    assert not (train.inputs[:, None] == test.inputs).all(2).any()
    few, _ = jamming.parity("mnist", 6, 8, 0, dim=4)
    assert torch.equal(few.inputs, train.inputs[:6])
    with pytest.raises(ValueError, match="balanced examples"):
        jamming.parity("mnist", 60, 8, 0, dim=4)
    jamming.components.cache_clear()


@pytest.mark.parametrize("kind", ["conv", "dense"])
def test_images_are_centred_together_and_of_norm_root_d(monkeypatch, kind):
    monkeypatch.setitem(lazy.SOURCES, "mnist", made_up)
    point = {"data": "mnist", "kind": kind, "side": 5, "n_train": 12, "n_test": 7, "seed": 2}
    train, test = lazy.images(point)
    raw = made_up("parity", size=5, n_train=12, n_test=7, seed=2)
    rows = torch.cat([raw.inputs, raw.test.inputs])
    rows = rows - rows.mean(0)
    rows = rows / rows.flatten(1).norm(dim=1)[:, None, None, None] * 5
    wanted = rows if kind == "conv" else rows.flatten(1).double()
    torch.testing.assert_close(torch.cat([train.inputs, test.inputs]), wanted)
    assert torch.equal(torch.cat([train.targets, test.targets]).float(), torch.cat([raw.targets, raw.test.targets]))


def test_points_say_which_images_and_how_many(monkeypatch):
    for name in ("mnist", "fashion_mnist", "cifar10"):
        monkeypatch.setattr(_runs, name, lambda name=name, **options: made_up(size=len(name), **options))
    for name in ("mnist", "fashion-mnist", "cifar10"):
        data = _runs.data_of({"data": name, "n_train": 15, "n_test": 5, "seed": 1})
        raw = made_up(size=len(name), n_train=15, n_test=5, seed=1).standardised()
        assert torch.equal(data.inputs, raw.inputs)
        assert torch.equal(data.test.inputs, raw.test.inputs)
    monkeypatch.setattr("priorscope.data.cifar10", made_up)
    _systems.images.cache_clear()
    found = _systems.images("cifar10", 5, 14, 6, 3)
    raw = made_up(size=5, n_train=14, n_test=6, seed=3).standardised()
    assert torch.equal(found.inputs, raw.inputs)
    assert (len(found.train), len(found.test)) == (14, 6)
    _systems.images.cache_clear()


def test_augmentation_is_at_the_published_temperature():
    """δ over the image at T = 1e-2 and cutoff 1, exactly."""
    assert _runs.augmentation("none", 28) is None
    found = _runs.augmentation("diffeo", 28)
    assert found is not None
    assert found.delta == pytest.approx(28 * (1e-2 / 4) ** 0.5)
    assert found.delta == pytest.approx(mean_displacement(1e-2, 1, 28, kind="image"), rel=0.05)
    assert [_runs.learning_rate(m) for m in ("dense-2", "lenet", "max-bn", "resnet18")] == [1e-3, 0.05, 0.01, 0.05]
