"""Scores, pruning and feature removal against hand-made geometries."""

import pytest
import torch

from priorscope.data import Dataset, Split
from priorscope.probes import AverageGeometry, prune, remove_features, sample_scores


def data(n: int = 200) -> Dataset:
    x = torch.randn(n, 4, generator=torch.Generator().manual_seed(0)) * torch.tensor([1.0, 2.0, 3.0, 4.0])
    return Dataset(Split(x, x[:, 0]), Split(x[:50], x[:50, 0]), "made-up")


def geometry(*diagonal: float) -> AverageGeometry:
    return AverageGeometry(torch.diag(torch.tensor(diagonal)), torch.zeros(4, 4), (4,), 1)


def test_scores_are_the_rayleigh_quotient_and_pruning_drops_the_lowest():
    d = data()
    scores = sample_scores(d, None, geometry=geometry(1.0, 0, 0, 0))
    expected = d.inputs[:, 0] ** 2 / (d.inputs**2).sum(1)
    torch.testing.assert_close(scores.scores.float(), expected)
    kept = prune(d, 0.75, scores)
    assert len(kept.train) == 50
    threshold = expected.sort().values[150]
    assert torch.equal(kept.inputs, d.inputs[expected >= threshold])
    by_model = prune(d, 0.75, model=torch.nn.Linear(4, 1), geometry=geometry(1.0, 0, 0, 0))
    assert torch.equal(by_model.inputs, kept.inputs)
    assert len(prune(d, 0.5).train) == 100
    assert not torch.equal(prune(d, 0.5, seed=1).inputs, prune(d, 0.5, seed=2).inputs)
    assert scores.chart().to_dict()["$schema"]
    assert scores.table()["score"].idxmin() == int(scores.order()[0])


def test_pruning_by_class_keeps_the_shares_of_the_classes():
    x = torch.arange(1.0, 41.0)[:, None]
    labels = (torch.arange(40) >= 30).long()  # class 1 has the ten highest scores
    d = Dataset(Split(x, x), Split(x, x), "made-up", ("a", "b"), labels, labels)
    kept = prune(d, 0.5, x[:, 0], by_class=True)
    assert kept.inputs[:, 0].tolist() == [*range(16, 31), *range(36, 41)]
    assert prune(d, 0.5, x[:, 0]).train_labels.bincount().tolist() == [10, 10]
    assert prune(d, 0.5, by_class=True, seed=1).train_labels.bincount().tolist() == [15, 5]


def test_removed_features_are_those_with_least_geometry_per_variance():
    d = data(4000)
    # G/S along the axes is about 8, 1, 1/9 and 1/2: the third axis goes first, then the fourth
    cut = remove_features(d, 2, geometry=geometry(8.0, 4.0, 1.0, 8.0))
    subspace = cut.removed[:, [2, 3]].double()
    torch.testing.assert_close(subspace @ subspace.mT, torch.eye(2, dtype=torch.float64), atol=0.01, rtol=0)
    one = remove_features(d, 1, geometry=geometry(8.0, 4.0, 1.0, 8.0))
    assert one.removed[0].abs().argmax() == 2
    assert float((cut.data.inputs.double() @ cut.removed.mT).abs().max()) < 1e-4
    assert one.control_variance_removed >= one.variance_removed
    gram = cut.removed_at_random @ cut.removed_at_random.mT
    torch.testing.assert_close(gram, torch.eye(len(gram), dtype=torch.float64))
    assert cut.table()["variance"].iloc[0] == pytest.approx(25 / 30, abs=0.05)
    assert cut.chart().to_dict()["$schema"]


def test_bad_input():
    d = data()
    with pytest.raises(ValueError, match="0 <= fraction < 1"):
        prune(d, 1.0)
    with pytest.raises(ValueError, match=r"one score per training sample \(200\)"):
        prune(d, 0.5, torch.zeros(3))
    with pytest.raises(ValueError, match="by class needs labels"):
        prune(d, 0.5, by_class=True)
    with pytest.raises(ValueError, match="1 <= k < 4"):
        remove_features(d, 4, geometry=geometry(1.0, 1, 1, 1))
    with pytest.raises(ValueError, match="a model or a geometry"):
        remove_features(d, 1)


def test_the_control_removes_as_few_random_directions_as_reach_the_share():
    """The same directions again: rows of Q of a seeded Gaussian matrix, until the share of the variance is reached."""
    d = data()
    flat = d.inputs.flatten(1).double()
    for k in (1, 2, 3):
        cut = remove_features(d, k, geometry=geometry(8.0, 4.0, 1.0, 8.0), seed=3)
        random = torch.linalg.qr(
            torch.randn(4, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
        ).Q.mT
        total = float(flat.square().sum())
        gone = [float((flat @ random[: i + 1].mT).square().sum()) / total for i in range(4)]
        count = next((i + 1 for i in range(3) if gone[i] >= cut.variance_removed), 3)
        assert len(cut.removed_at_random) == count
        assert cut.control_variance_removed == pytest.approx(gone[count - 1])
        left = (flat - flat @ random[:count].mT @ random[:count]).reshape(d.inputs.shape)
        torch.testing.assert_close(cut.control.inputs.double(), left, atol=1e-5, rtol=1e-5)
