"""Pictures of other kinds than plain ones: read to the grey value, or refused; damage."""

import weakref

import numpy as np
import pytest
import torch
from PIL import Image

from priorscope.data import load
from priorscope.data.formats import _image_folder

PIXELS = np.random.default_rng(0).integers(0, 256, (4, 6, 5), dtype=np.uint8)


def folder(tmp_path, save, suffix=".png"):
    for i, pixels in enumerate(PIXELS):
        place = tmp_path / "ab"[i % 2] / f"{i}{suffix}"
        place.parent.mkdir(exist_ok=True)
        save(pixels, place)
    return tmp_path


def grey(data):
    return sorted((data.inputs[:, 0] * 255).round().int().flatten(1).tolist())


def test_sixteen_bits_are_scaled_not_cut(tmp_path):
    """A 16-bit value v stands for v/65535: 257 times an 8-bit value is that value again."""
    folder(tmp_path, lambda p, place: Image.fromarray(p.astype(np.uint16) * 257).save(place))
    data = load(tmp_path, test_fraction=0)
    assert grey(data) == sorted(PIXELS.reshape(4, -1).tolist())
    assert data.notes == ("4 pictures of 16 bits were brought to 8",)


def test_transparency_and_frames_are_told(tmp_path):
    def save(pixels, place):
        Image.merge("LA", [Image.fromarray(pixels), Image.new("L", (5, 6), 9)]).save(place)

    data = load(folder(tmp_path, save), test_fraction=0)
    assert data.input_shape == (1, 6, 5)
    assert grey(data) == sorted(PIXELS.reshape(4, -1).tolist())
    assert data.notes == ("4 pictures lost their transparency",)
    frames = tmp_path / "moving"
    frames.mkdir()

    def save_gif(pixels, place):
        Image.fromarray(pixels).save(place, save_all=True, append_images=[Image.fromarray(255 - pixels)])

    moving = load(folder(frames, save_gif, ".gif"), test_fraction=0, channels=1)
    assert moving.notes == ("4 pictures have several frames; the first was read",)
    assert grey(moving) == sorted(PIXELS.reshape(4, -1).tolist())


def test_photographs_are_turned_upright(tmp_path):
    def save(pixels, place):
        exif = Image.Exif()
        exif[0x0112] = 3  # upside down
        Image.fromarray(pixels[::-1, ::-1].copy()).save(place, exif=exif)

    data = load(folder(tmp_path, save), test_fraction=0)
    assert grey(data) == sorted(PIXELS.reshape(4, -1).tolist())
    assert "4 photographs were turned upright" in data.notes[0]


def test_small_pictures_keep_their_channels(tmp_path):
    colours = np.random.default_rng(1).integers(0, 256, (4, 3, 3, 3), dtype=np.uint8)
    for i, pixels in enumerate(colours):
        (tmp_path / "ab"[i % 2]).mkdir(exist_ok=True)
        Image.fromarray(pixels).save(tmp_path / "ab"[i % 2] / f"{i}.png")
    data = load(tmp_path, test_fraction=0)
    expected = torch.from_numpy(colours.transpose(0, 3, 1, 2).copy()).float() / 255
    assert sorted(data.inputs.flatten(1).tolist()) == sorted(expected.flatten(1).tolist())


def test_what_is_left_out_is_counted(tmp_path):
    folder(tmp_path, lambda p, place: Image.fromarray(p).save(place))
    (tmp_path / "a" / "readme.txt").write_text("x")
    (tmp_path / "a" / ".hidden.png").write_text("x")
    (tmp_path / "empty").mkdir()
    data = load(tmp_path, test_fraction=0)
    assert data.notes == (
        "1 files in the folders of the classes are no pictures and were not read",
        "1 folders hold no pictures and were not read",
    )


def test_damaged_and_odd_pictures(tmp_path):
    folder(tmp_path, lambda p, place: Image.fromarray(p).save(place))
    one = tmp_path / "a" / "0.png"
    whole = one.read_bytes()
    for raw in (b"", whole[:20], whole[:-30], whole[:40] + b"\xff" * 8 + whole[48:]):
        one.write_bytes(raw)
        with pytest.raises(ValueError, match="a/0.png cannot be read as an image"):
            load(tmp_path)
    one.unlink()
    Image.fromarray(PIXELS[0].astype(np.float32)).save(tmp_path / "a" / "0.tiff")
    with pytest.raises(ValueError, match="a/0.tiff holds floats"):
        load(tmp_path)
    (tmp_path / "a" / "0.tiff").unlink()
    with pytest.raises(ValueError, match="size must be at least 1"):
        load(tmp_path, size=0)
    with pytest.raises(ValueError, match=r"channels must be 1 \(grey\) or 3"):
        load(tmp_path, channels=2)


def test_common_size_holds_for_the_test_part_too(tmp_path):
    for part, side in (("train", 6), ("val", 9)):
        (tmp_path / part).mkdir()
        folder(tmp_path / part, lambda p, place, side=side: Image.fromarray(p).resize((side, side)).save(place))
    data = load(tmp_path, size="common")
    assert (data.input_shape, len(data.test)) == ((1, 6, 6), 4)
    assert data.notes == ("images of 2 sizes were resized to 6×6, the median",)
    with pytest.raises(ValueError, match="must have one size; got 2 sizes, such as 6×6 and 9×9"):
        load(tmp_path)
    for file in (tmp_path / "val").rglob("*.png"):
        file.unlink()
    with pytest.raises(ValueError, match="val holds no pictures"):
        load(tmp_path)


def test_sizes_and_channels_are_those_asked_for(tmp_path):
    folder(tmp_path, lambda p, place: Image.fromarray(p).save(place))
    side = PIXELS.shape[1]
    assert load(tmp_path, size=1).input_shape == (1, 1, 1)
    assert load(tmp_path, size=(2, 3)).input_shape == (1, 2, 3)
    coloured = load(tmp_path, channels=3)
    assert coloured.input_shape == (3, side, PIXELS.shape[2])
    assert torch.equal(coloured.inputs[:, 0], coloured.inputs[:, 2])
    for bad in ((0, 3), (3, 0)):
        with pytest.raises(ValueError, match="size must be at least 1"):
            load(tmp_path, size=bad)
    one = tmp_path / "a" / "0.png"
    Image.fromarray(PIXELS[0]).resize((side + 1, side + 2)).save(one)
    with pytest.raises(ValueError, match=rf"got 2 sizes, such as {side}×{PIXELS.shape[2]} and {side + 2}×{side + 1}"):
        load(tmp_path)


def test_pictures_of_sixteen_bits_span_the_same_range_and_others_are_refused(tmp_path):
    folder(tmp_path, lambda p, place: Image.fromarray(257 * p.astype(np.uint16)).save(place))
    data = load(tmp_path, test_fraction=0)
    expected = torch.from_numpy(PIXELS[:, None].copy()).float() / 255
    assert sorted(data.inputs.flatten(1).tolist()) == sorted(expected.flatten(1).tolist())
    assert any("pictures of 16 bits were brought to 8" in note for note in data.notes)
    for bad in (-1, 65536):
        values = PIXELS[0].astype(np.int32)
        values[0, 0] = bad
        (tmp_path / "a" / "0.png").unlink(missing_ok=True)
        Image.fromarray(values).save(tmp_path / "a" / "0.tiff")
        with pytest.raises(ValueError, match="a/0.tiff holds values from"):
            load(tmp_path)


def test_hidden_folders_and_transparency_are_told(tmp_path):
    folder(tmp_path, lambda p, place: Image.fromarray(p).convert("LA").save(place))
    (tmp_path / ".cache").mkdir()
    Image.fromarray(PIXELS[0]).save(tmp_path / ".cache" / "x.png")
    data = load(tmp_path, test_fraction=0)
    assert data.n_outputs in (1, 2)
    assert set(data.classes) == {"a", "b"}
    assert any("lost their transparency" in note for note in data.notes)


@pytest.mark.parametrize("size", ["common", 4])
def test_one_picture_is_held_at_its_full_size_at_a_time(tmp_path, monkeypatch, size):
    """Eight photographs of 50 megapixels once took 3 GB for an answer of a kilobyte."""
    folder(tmp_path, lambda p, place: Image.fromarray(p).resize((60, 50)).save(place))
    alive, most = [], []
    read = _image_folder._picture

    def counted(file, told):
        picture = read(file, told)
        alive.append(1)
        weakref.finalize(picture, alive.pop)
        most.append(len(alive))
        return picture

    monkeypatch.setattr(_image_folder, "_picture", counted)
    data = load(tmp_path, size=size)
    assert len(most) == len(data.train) + len(data.test) > 2
    assert max(most) <= 2  # the one before goes when the next is there


def test_a_picture_on_its_side_has_the_size_it_has_upright(tmp_path):
    """Sizes are read from headers: those of photographs turned by their EXIF data are those after turning."""
    turned = Image.Exif()
    turned[0x0112] = 6
    folder(tmp_path, lambda p, place: Image.fromarray(p).resize((8, 5)).save(place.with_suffix(".jpg"), exif=turned))
    assert load(tmp_path).input_shape == (1, 8, 5)
    assert load(tmp_path, size="common").input_shape == (1, 8, 5)
