"""Pictures of moved and noisy images, read back from their PNG."""

import base64
import io

import numpy as np
import torch
from PIL import Image

from priorscope.probes.stability._pictures import TITLES, as_png, pictures


def read(uri):
    head, code = uri.split(",")
    assert head == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(code))))


def test_levels_channels_and_size_of_a_picture():
    image = torch.tensor([[[0.0, 1.0, 2.0], [3.0, 4.0, 9.0]], [[2.0, 1.0, 0.0], [3.0, -9.0, 9.0]]])
    drawn = read(as_png(image, 1.0, 3.0, side=12))  # grey levels of the mean 1 1 1 / 3 -2.5 9, from 1 to 3, clamped
    assert drawn.shape == (8, 12)  # four times as high and wide
    wanted = np.array([[0, 0, 0], [255, 0, 255]])
    assert (drawn == wanted.repeat(4, 0).repeat(4, 1)).all()
    colour = torch.stack([torch.full((5, 7), v) for v in (0.0, 0.5, 1.0)])
    assert (read(as_png(colour, 0.0, 1.0, side=4)) == np.array([0, 127, 255])).all()
    assert read(as_png(colour, 0.0, 1.0, side=4)).shape == (5, 7, 3)  # never smaller than it is
    assert (read(as_png(torch.full((1, 2, 2), 5.0), 5.0, 5.0)) == 0).all()  # a constant image


def test_each_row_has_the_levels_of_its_first_picture():
    x = torch.tensor([[[[0.0, 1.0]]], [[[1.0, 0.0]]], [[[0.5, 3.0]]]])  # x, moved, noisy: (3, 1, 1, 2)
    chart = pictures(torch.stack([x, 10 * x]), 0.25).to_dict()
    (rows,) = chart["datasets"].values()
    assert [(r["row"], r["column"]) for r in rows] == [(k, t) for k in range(2) for t in TITLES]
    for r, levels in zip(rows, 2 * [[0, 255], [255, 0], [127, 255]]):
        assert read(r["picture"])[0, [0, -1]].tolist() == levels
    assert "0.25" in chart["title"]
    assert chart["height"] == 208
