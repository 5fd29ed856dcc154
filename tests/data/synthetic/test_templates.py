"""Deformed templates: classes by construction, each argument where it acts."""

from __future__ import annotations

import torch

from priorscope.data import deform, deformed_templates


def test_samples_are_templates_deformed_and_in_noise():
    options = {"size": 8, "n_classes": 3, "seed": 5}
    plain = deformed_templates(60, 40, temperature=0.0, noise=0.0, **options)
    templates = torch.randn(3, 1, 8, 8, generator=torch.Generator().manual_seed(5))
    for split, labels in ((plain.train, plain.train_labels), (plain.test, plain.test_labels)):
        torch.testing.assert_close(split.inputs, templates[labels])
        assert torch.equal(split.targets.argmax(1), labels)
    assert (len(plain.train), len(plain.test)) == (60, 40)
    assert plain.classes == ("template 0", "template 1", "template 2")
    noisy = deformed_templates(60, 40, temperature=0.0, noise=0.3, **options)
    added = noisy.inputs - templates[noisy.train_labels]
    assert abs(float(added.std()) - 0.3) < 5 * 0.3 / (2 * added.numel()) ** 0.5
    g = torch.Generator().manual_seed(5)
    torch.randn(3, 1, 8, 8, generator=g)
    labels = torch.randint(3, (60,), generator=g)
    moved = deform(templates[labels], 0.05, 3, seed=g, folds="allow")
    torch.testing.assert_close(
        deformed_templates(60, 4, temperature=0.05, cutoff=3, noise=0.0, **options).inputs, moved
    )


def test_sizes_unless_told():
    data = deformed_templates()
    assert (len(data.train), len(data.test), data.input_shape, data.n_outputs) == (1000, 500, (1, 20, 20), 40)
