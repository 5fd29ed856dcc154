"""Rays to meshes against distances and angles by hand; solids that turn."""

from __future__ import annotations

import pytest
import torch

import priorscope as ps
from priorscope.data import SOLIDS, cast_rays, mesh_on_sphere, random_rotations, shapes, solid, sphere_points


def test_rays_meet_a_cube_where_geometry_says():
    vertices, faces = solid("box")
    length, cosine, sine = cast_rays(0.5 * vertices, faces, 8)
    x = sphere_points(8)
    largest, axis = x.abs().max(-1)
    torch.testing.assert_close(
        length, 1 - 0.5 / largest, atol=1e-9, rtol=0
    )  # the face where the largest coordinate is 1/2
    torch.testing.assert_close(cosine, largest, atol=1e-9, rtol=0)
    torch.testing.assert_close(sine.square() + cosine.square(), torch.ones_like(sine))
    assert axis.unique().tolist() == [0, 1, 2]


def test_the_first_of_two_surfaces_counts_and_misses_are_told():
    vertices, faces = solid("box")
    both = torch.cat([0.3 * vertices, 0.5 * vertices]), torch.cat([faces, faces + len(vertices)])
    torch.testing.assert_close(cast_rays(*both, 5), cast_rays(0.5 * vertices, faces, 5))
    alone = cast_rays(0.5 * vertices, faces[:2], 5)  # one side: most rays miss
    missed = alone[0] == 1
    assert 0.5 < float(missed.double().mean()) < 1
    assert (alone[1:][:, missed] == 0).all()


def test_a_convex_solid_is_its_hull_and_others_are_not():
    for name in SOLIDS:
        six = mesh_on_sphere(*solid(name), 6)
        same = bool((six[0] - six[3]).abs().max() < 1e-6)
        assert same == (name not in ("torus", "L-block")), name
        assert (six[0] >= six[3] - 1e-9).all()  # nothing lies outside the hull


def test_turned_solids_are_turned_signals():
    R = random_rotations(1, seed=2)[0]
    vertices, faces = solid("ellipsoid")
    stretched = vertices * torch.tensor([1.0, 0.8, 0.6], dtype=torch.float64)
    still, turned = mesh_on_sphere(stretched, faces, 16), mesh_on_sphere(stretched, faces, 16, R)
    assert (ps.models.spheres.rotate_s2(still[0], R) - turned[0]).abs().max() < 0.02
    assert (still[0] - turned[0]).abs().max() > 0.1


def test_shapes_are_a_data_set_of_eight_classes():
    data = shapes(16, 8, bandwidth=4, rotate=())
    assert data.classes == SOLIDS
    assert data.train_labels.bincount().tolist() == [2] * 8
    again = shapes(16, 8, bandwidth=4, rotate=("test",))
    assert torch.equal(data.inputs, again.inputs)
    assert not torch.equal(data.test.inputs, again.test.inputs)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cast_rays(torch.zeros(3, 3), torch.zeros(0, 3, dtype=torch.int64), 4), "at least one face"),
        (lambda: cast_rays(torch.zeros(3, 3), torch.tensor([[0, 1, 3]]), 4), "0 to 2"),
        (lambda: mesh_on_sphere(torch.zeros(3, 3), torch.tensor([[0, 1, 2]]), 4), "coincide"),
        (lambda: solid("teapot"), "there is no solid 'teapot'"),
        (lambda: shapes(8, 8, rotate=("all",)), "rotate may name"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_solids_without_stretch_are_themselves():
    data = shapes(8, 8, bandwidth=3, stretch=0.0, rotate=())
    for i, name in enumerate(SOLIDS):
        torch.testing.assert_close(data.inputs[i], mesh_on_sphere(*solid(name), 3).float(), atol=1e-5, rtol=0)
    assert not torch.allclose(shapes(8, 8, bandwidth=3, stretch=0.5, rotate=()).inputs, data.inputs, atol=0.01)


def test_a_mesh_needs_corners_in_space_and_faces_of_three():
    vertices, faces = solid("box")
    for bad in ((vertices[:, :2], faces), (vertices[None], faces), (vertices, faces[:, :2]), (vertices, faces[0])):
        with pytest.raises(ValueError, match="at least one face"):
            cast_rays(*bad, 3)
    for bad in ((vertices * torch.nan, faces), (vertices, faces - 1), (vertices, faces + 1)):
        with pytest.raises(ValueError, match="0 to 7"):
            cast_rays(*bad, 3)
