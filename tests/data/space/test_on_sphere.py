"""Rotations, images and Tetris pieces in space against geometry by hand."""

from __future__ import annotations

import pytest
import torch

import priorscope as ps
from priorscope.data import (
    on_sphere,
    project_images,
    random_rotations,
    sphere_points,
    tetris,
    tetris_points,
    tetris_voxels,
)


def test_rotations_are_uniform():
    R = random_rotations(20_000, seed=1)
    assert (torch.linalg.det(R) - 1).abs().max() < 1e-12
    assert R.mean(0).abs().max() < 5 * (1 / 3 / 20_000) ** 0.5  # entries have mean 0 and variance 1/3
    trace = R.diagonal(dim1=1, dim2=2).sum(1)  # mean 0, mean square 1: the character of a vector
    assert abs(float(trace.square().mean()) - 1) < 5 * (float(trace.square().var()) / 20_000) ** 0.5


def test_the_grid_is_that_of_the_transforms():
    alpha, beta = ps.models.spheres.soft_angles(5)
    x = sphere_points(5)
    torch.testing.assert_close(x[..., 2], beta.cos()[:, None].expand(10, 10))
    torch.testing.assert_close(
        torch.atan2(x[..., 1], x[..., 0]).remainder(2 * torch.pi), alpha.expand(10, 10), atol=1e-12, rtol=0
    )


def test_a_linear_picture_is_sampled_where_the_projection_says():
    side = (torch.arange(101.0).double() + 0.5) / 50.5 - 1
    image = (2 * side[:, None] + 3 * side[None, :])[None, None]  # rows are y, columns x
    x = sphere_points(8)
    north = x[..., 2] > 0
    u, v = x[..., 0] / (1 + x[..., 2]), x[..., 1] / (1 + x[..., 2])
    found = project_images(image, 8)[0, 0]
    assert ((found - (3 * u + 2 * v))[north & (u.abs() < 0.98) & (v.abs() < 0.98)]).abs().max() < 1e-12
    assert (found[~north] == 0).all()


def test_turned_pictures_are_turned_signals():
    """A smooth picture on the cap, turned before sampling and after: equal to the accuracy of its bandwidth."""
    side = (torch.arange(64.0).double() + 0.5) / 32 - 1
    image = (-8 * ((side[:, None] - 0.1) ** 2 + (side[None, :] + 0.2) ** 2)).exp()[None, None]
    R = random_rotations(1, seed=3)
    before, after = (
        project_images(image, 16, R)[0, 0],
        ps.models.spheres.rotate_s2(project_images(image, 16)[0, 0], R[0]),
    )
    assert (before - after).abs().max() < 0.02
    assert (before - ps.models.spheres.rotate_s2(project_images(image, 16)[0, 0], R[0].T)).abs().max() > 0.3


def test_data_sets_on_the_sphere_turn_the_splits_they_are_told():
    data = ps.data.digits().subset(20, n_test=10)
    still, turned = on_sphere(data, 6), on_sphere(data, 6, rotate=("test",))
    assert torch.equal(still.inputs, turned.inputs)
    assert not torch.equal(still.test.inputs, turned.test.inputs)
    assert torch.equal(still.test.targets, turned.test.targets)
    assert (still.test.inputs[..., 6:, :] == 0).all()


def test_pieces_of_tetris_are_eight_shapes_of_which_two_are_mirror_images():
    x = tetris_points()
    distances = torch.cdist(x, x).flatten(1).sort(1).values
    same = (torch.cdist(distances, distances) < 1e-9).nonzero()
    assert {tuple(sorted(p)) for p in same.tolist() if p[0] != p[1]} == {(0, 1)}  # equal distances: mirror images alone
    signed = torch.linalg.det(x[:2, :3])
    assert signed[0].abs() > 1e-6


def test_volumes_hold_four_cubes_and_turn():
    volume = tetris_voxels(tetris_points(), 21, 3.0)
    assert ((volume.sum((1, 2, 3, 4)) / 108 - 1).abs() < 0.02).all()
    quarter = torch.tensor([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]).double().expand(8, 3, 3)
    turned = tetris_voxels(tetris_points(), 21, 3.0, quarter)
    for a, b in zip(volume, turned):
        torch.testing.assert_close(ps.models.steerable.rotate_fields(a, (1,), quarter[0]), b, atol=1e-9, rtol=0)


def test_tetris_data_and_what_is_refused():
    data = tetris("points", 3)
    assert (len(data.train), len(data.test), data.input_shape, data.n_outputs) == (8, 24, (4, 3), 8)
    lengths = torch.cdist(data.test.inputs, data.test.inputs)
    torch.testing.assert_close(lengths, torch.cdist(data.inputs, data.inputs).repeat(3, 1, 1), atol=1e-4, rtol=0)
    for call, words in (
        (lambda: tetris("meshes"), "form is"),
        (lambda: on_sphere(ps.data.digits(), 4, rotate=("all",)), "rotate may name"),
        (lambda: project_images(torch.zeros(1, 1, 4, 5), 4), "square images"),
        (lambda: project_images(torch.zeros(1, 1, 4, 4), 4, torch.eye(3)), "one rotation per image"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_volumes_have_the_side_and_cells_asked_for_and_data_sets_alone_are_taken():
    pieces = tetris_points()
    data = tetris("voxels", 1, size=9, cell=1.5)
    torch.testing.assert_close(data.inputs, tetris_voxels(pieces, 9, 1.5).float())
    turned = tetris_voxels(pieces, 9, 1.5, random_rotations(8, 0))
    torch.testing.assert_close(data.test.inputs, turned.float())
    assert abs(float(data.inputs[0].sum()) / (4 * 1.5**3) - 1) < 0.1
    with pytest.raises(TypeError, match="takes a data set"):
        on_sphere(torch.zeros(2, 1, 4, 4), 4)
    with pytest.raises(ValueError, match="square images"):
        project_images(torch.zeros(4, 4, 4), 4)
