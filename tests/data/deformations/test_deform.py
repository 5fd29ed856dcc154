"""Batches, channels, types, derivatives, seeds in worker processes, and what is refused."""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from priorscope.data import Deform, Deformed, deform
from priorscope.data.deformations import FoldWarning, Shift, displaced, sample_fields, temperature_for


def batch(n=12, N=6, C=3, dtype=torch.float32):
    return torch.randn(N, C, n, n, generator=torch.Generator().manual_seed(1), dtype=dtype)


def test_every_image_gets_its_own_field_and_channels_share_it():
    one = batch()[:1, :1].expand(6, 3, 12, 12)
    moved = deform(one, 8e-3, 3, seed=0)
    assert torch.equal(moved[:, 0], moved[:, 1])
    assert min(float((moved[i] - moved[j]).abs().max()) for i in range(6) for j in range(i)) > 0.1
    fields = sample_fields(6, 3, 8e-3, seed=0)
    assert torch.equal(moved, displaced(one, fields.pixels(12)))


def test_large_batches_go_in_blocks_with_the_same_answer():
    x = batch(16, 700, 1)  # two blocks
    moved = deform(x, 4e-3, 3, seed=2)
    torch.testing.assert_close(moved, deform(x.clone().requires_grad_(), 4e-3, 3, seed=2).detach(), rtol=0, atol=1e-5)
    assert (moved[512:] - x[512:]).abs().max() > 0.1


def test_single_images_are_batches_of_one():
    x = batch()
    whole = deform(x[:1], 8e-3, 3, seed=4)
    assert torch.equal(deform(x[0], 8e-3, 3, seed=4), whole[0])
    assert torch.equal(deform(x[0, 0], 8e-3, 3, seed=4), whole[0, 0])


@pytest.mark.parametrize("interpolation", ["bilinear", "gaussian"])
def test_zero_temperature_is_the_identity_of_the_interpolation(interpolation):
    x = batch()
    still = deform(x, 0.0, 3, interpolation=interpolation, seed=0)
    assert torch.equal(still, displaced(x, torch.zeros(6, 2, 12, 12), interpolation))
    assert torch.equal(still, x) is (interpolation == "bilinear")


def test_types_and_frames():
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        x = batch(dtype=dtype)
        moved = deform(x, 8e-3, 3, seed=0)
        assert moved.dtype == dtype
        for side in (0, -1):
            assert torch.equal(moved[..., side], x[..., side])
            assert torch.equal(moved[..., side, :], x[..., side, :])


def test_derivatives_in_images_and_temperature():
    x = batch(6, 1, 1, torch.float64).requires_grad_()
    T = torch.tensor(8e-3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, t: deform(a, t, 2, seed=3), (x, T), eps=1e-7, atol=1e-5)
    torch.testing.assert_close(deform(x, T, 2, seed=3), deform(x, 8e-3, 2, seed=3), rtol=0, atol=1e-14)


def test_the_transform_takes_its_temperature_from_the_size():
    for n in (12, 28):
        x = batch(n)
        assert torch.equal(Deform(0.5, 2, seed=3)(x), deform(x, temperature_for(0.5, 2, n), 2, seed=3))
    coarse = Deform(0.8, 1, kind="image", folds="refuse")
    assert coarse.temperature(32) == temperature_for(0.8, 1, 32, kind="image")


def test_the_transform_moves_on_and_copies_start_over():
    x, augment = batch(), Deform(0.5, 2, seed=3)
    first, second = augment(x), augment(x)
    assert not torch.equal(first, second)
    for other in (Deform(0.5, 2, seed=3), copy.deepcopy(augment), pickle.loads(pickle.dumps(augment))):
        assert torch.equal(other(x), first)
    assert other == augment
    torch.manual_seed(0)
    a = Deform(0.5, 2)(x)
    torch.manual_seed(0)
    assert torch.equal(Deform(0.5, 2)(x), a)


class Same(torch.utils.data.Dataset):
    """Eight times the same image, deformed when it is asked for."""

    def __init__(self, transform):
        self.image, self.transform = batch(N=1)[0], transform

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return self.transform(self.image)


def run(data, workers, seed=0):
    loader = DataLoader(data, batch_size=2, num_workers=workers, generator=torch.Generator().manual_seed(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's remark on the number of workers
        return torch.cat(list(loader)), torch.cat(list(loader))


@pytest.mark.parametrize("seed", [None, 7])
def test_workers_and_epochs_never_repeat_each_other_and_runs_do(seed):
    first, second = run(Same(Deform(0.5, 2, seed=seed)), workers=2)
    drawn = torch.cat([first, second]).flatten(1)
    apart = torch.cdist(drawn, drawn) + torch.eye(16) * 9
    assert apart.min() > 0.1  # sixteen different fields
    again, _ = run(Same(Deform(0.5, 2, seed=seed)), workers=2)
    assert torch.equal(again, first)


def test_fields_of_a_deformed_data_set_depend_on_image_and_epoch_only():
    data = Deformed(TensorDataset(batch(N=1).expand(8, 3, 12, 12), torch.arange(8)), Deform(0.5, 2), seed=5)

    def images(workers, persistent=False):
        loader = DataLoader(data, batch_size=2, num_workers=workers, persistent_workers=persistent)
        data.set_epoch(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first = torch.cat([x for x, _ in loader])
            data.set_epoch(1)
            return first, torch.cat([x for x, _ in loader])

    alone, later = images(0)
    for workers in (1, 2):
        assert all(torch.equal(a, b) for a, b in zip(images(workers, persistent=True), (alone, later)))
    drawn = torch.cat([alone, later]).flatten(1)
    assert (torch.cdist(drawn, drawn) + torch.eye(16) * 9).min() > 0.1
    assert data[3][1] == 3
    assert torch.equal(data[-1][0], data[7][0])
    assert Deformed(batch())[2].shape == (3, 12, 12)


@pytest.mark.parametrize(
    ("images", "cutoff", "words"),
    [
        (torch.rand(2, 3, 8, 6), 2, "square images .* got \\(2, 3, 8, 6\\). Crop or pad"),
        (torch.rand(8), 2, "square images"),
        (
            torch.zeros(2, 3, 8, 8, dtype=torch.uint8),
            2,
            "floating-point images; got torch.uint8.*images.float\\(\\) / 255",
        ),
        (torch.full((2, 1, 8, 8), torch.nan), 2, "images must be finite; 2 of 2 rows"),
        (torch.rand(1, 1, 1, 1), 1, "at least 3 × 3 pixels; got 1 × 1"),
        (torch.rand(1, 1, 8, 8), 7, "cutoff 7 is too high for images of 8 × 8 pixels.*Use a cutoff of 4 or less"),
        (torch.rand(1, 1, 8, 8), 0, "cutoff >= 1"),
    ],
)
def test_bad_images_are_told_what_was_wanted(images, cutoff, words):
    with pytest.raises(ValueError, match=words):
        deform(images, 1e-3, cutoff)


@pytest.mark.parametrize("move", [Deform(0.5, 2), Shift(0.5), lambda images: deform(images, 1e-3, 2)])
@pytest.mark.parametrize("images", [torch.rand(3, 8, 8).numpy(), [[0.0] * 8] * 8])
def test_arrays_and_lists_are_no_tensors(move, images):
    with pytest.raises(TypeError, match=f"take a torch tensor of images; got {type(images).__name__}"):
        move(images)


def test_images_beyond_the_largest_sum_are_finite():
    assert torch.isfinite(deform(torch.full((1, 1, 8, 8), 3e38), 1e-3, 2, seed=0)).all()


def test_temperatures_that_fold_warn_with_the_number():
    x = batch(32)
    with pytest.warns(FoldWarning, match="temperature 0.05 is above T_max = 0.013 at cutoff 3 \\(3.8 times\\)"):
        deform(x, 0.05, 3)
    with pytest.raises(ValueError, match="above T_max = 0.013"):
        deform(x, 0.05, 3, folds="refuse")
    deform(x, 0.05, 3, folds="allow")
    with pytest.warns(UserWarning, match="cutoff 18 is above n/2 = 16"):
        deform(x, 1e-5, 18)
    with pytest.raises(ValueError, match="folds must be"):
        deform(x, 0.05, 3, folds="never")
    with pytest.raises(ValueError, match="finite temperature"):
        deform(x, float("nan"))
    with pytest.raises(ValueError, match="finite delta >= 0"):
        Deform(-1.0)
    with pytest.raises(ValueError, match="whole number seed"):
        Deform(seed=0.5)
