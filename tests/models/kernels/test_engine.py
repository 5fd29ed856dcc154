"""Blocks, files that resume, executors, estimates, refusals: all give the one answer."""

import json
import multiprocessing
import subprocess
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.models.kernels import _engine

M = ps.models
X = torch.randn(11, 2, 5, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
Y = torch.randn(4, 2, 5, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
ARCH = M.gap(2)


def same(a, b):
    for kind in ("nngp", "ntk"):
        np.testing.assert_allclose(np.asarray(getattr(a, kind)[:]), np.asarray(getattr(b, kind)[:]), rtol=1e-13)


@pytest.mark.parametrize("path", ["fused", "reference"])
@pytest.mark.parametrize("second", [None, Y])
def test_blocks_and_executors_give_the_same_matrix(path, second):
    whole = ARCH.kernel(X, second, path=path)
    same(ARCH.kernel(X, second, path=path, block=4), whole)
    with ThreadPoolExecutor(2) as pool:
        same(ARCH.kernel(X, second, path=path, block=3, executor=pool), whole)


@pytest.mark.slow
def test_processes_and_a_cluster_give_the_same_matrix():
    whole = ARCH.kernel(X)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        same(ARCH.kernel(X, block=4, executor=pool), whole)
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        same(ARCH.kernel(X, block=4, executor=client), whole)


@pytest.mark.parametrize("suffix", ["npy", "zarr"])
def test_a_killed_run_goes_on_where_it_was(tmp_path, monkeypatch, suffix):
    whole, out = ARCH.kernel(X), tmp_path / f"k.{suffix}"
    done = []

    def dying(*args):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(1)
        return compute(*args)

    compute = _engine.compute_block
    monkeypatch.setattr(_engine, "compute_block", dying)
    with pytest.raises(KeyboardInterrupt):
        ARCH.kernel(X, out=out, block=4)
    record = out.with_name(out.name + ".blocks")
    with open(record, "a") as file:
        file.write("[0, 4, 8")  # a line cut off by the kill does not count
    counted = []
    monkeypatch.setattr(_engine, "compute_block", lambda *args: counted.append(1) or compute(*args))
    same(ARCH.kernel(X, out=out, block=4), whole)
    assert len(counted) == 6 - 3  # 3 x 3 blocks, upper triangle, three were finished
    counted.clear()
    same(ARCH.kernel(X, out=out, block=4), whole)
    assert not counted


def test_files_and_executors_get_pieces_without_being_told(tmp_path, monkeypatch):
    whole = ARCH.kernel(X)
    counted, compute = [], _engine.compute_block
    monkeypatch.setattr(_engine, "compute_block", lambda *args: counted.append(1) or compute(*args))
    with ThreadPoolExecutor(2) as pool:
        same(ARCH.kernel(X, executor=pool, out=tmp_path / "k.npy"), whole)
    assert len(counted) == 10  # four blocks a side
    counted.clear()
    same(ARCH.kernel(X, out=tmp_path / "k.npy"), whole)  # the file's own block is kept: nothing left to do
    assert not counted
    assert M.gap(3).estimate(2000, None, (3, 8, 8), on_disk=True).block < 400
    # long work is cut too, so that the bar moves
    assert M.gap(3).estimate(5000, None, (3, 16, 16)).block < 500
    assert M.gap(3).estimate(20, None, (3, 8, 8)).block == 20


def test_a_process_killed_outright_loses_only_its_block(tmp_path):
    program = """
import os, torch, priorscope as ps
from priorscope.models.kernels import _engine
x = torch.randn(11, 2, 5, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
compute, n = _engine.compute_block, [0]
def dying(*args):
    n[0] += 1
    return os._exit(9) if n[0] == 3 else compute(*args)
_engine.compute_block = dying
ps.models.gap(2).kernel(x, out="k.npy", block=4)
"""
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, timeout=120)
    assert run.returncode == 9
    assert len((tmp_path / "k.npy.blocks").read_text().splitlines()) == 1 + 2
    same(ARCH.kernel(X, out=tmp_path / "k.npy", block=4), ARCH.kernel(X))


def test_a_file_of_another_kernel_is_refused(tmp_path):
    out = tmp_path / "k.npy"
    ARCH.kernel(X, out=out, block=4)
    with pytest.raises(ValueError, match="other inputs or architecture"):
        ARCH.kernel(X + 1, out=out, block=4)
    with pytest.raises(ValueError, match="other inputs or architecture"):
        M.gap(3).kernel(X, out=out, block=4)
    with pytest.raises(ValueError, match="other block"):
        ARCH.kernel(X, out=out, block=5)
    (tmp_path / "k.npy.blocks").unlink()
    with pytest.raises(FileExistsError, match="no record"):
        ARCH.kernel(X, out=out, block=4)
    with pytest.raises(ValueError, match="npy or .zarr"):
        ARCH.kernel(X, out=tmp_path / "k.csv")
    with pytest.raises(FileNotFoundError, match="folder"):
        ARCH.kernel(X, out=tmp_path / "no" / "k.npy")


def test_a_dead_executor_loses_nothing_that_was_finished(tmp_path):
    class Dying(ThreadPoolExecutor):
        def submit(self, fn, *args, **kwargs):
            if self._work_queue.qsize() > 100 or getattr(self, "count", 0) >= 4:
                raise RuntimeError("cluster went away")
            self.count = getattr(self, "count", 0) + 1
            future = super().submit(fn, *args, **kwargs)
            future.result()
            return future

    with pytest.raises(TypeError, match="submit"):
        ARCH.kernel(X, executor=object())
    with Dying(1) as pool, pytest.raises(RuntimeError, match="went away"):
        ARCH.kernel(X, out=tmp_path / "k.npy", block=4, executor=pool)
    same(ARCH.kernel(X, out=tmp_path / "k.npy", block=4), ARCH.kernel(X))


def test_memory_is_kept_to_and_refused_when_it_cannot_suffice():
    small = ARCH.estimate(1000, None, (2, 5, 5), memory=2e7, on_disk=True)
    assert small.block < 1000
    assert small.fits
    with pytest.raises(MemoryError, match="out="):
        ARCH.kernel(X, memory=1000)
    with pytest.raises(ValueError, match="positive"):
        ARCH.kernel(X, memory=-1)
    lean, wide = (arch(2, padding="zeros").estimate(100, None, (3, 16, 16)) for arch in (M.vec, M.gap))
    assert wide.seconds > 100 * lean.seconds  # 256 displacements instead of one
    heavy = M.gap(2).estimate(64, None, (3, 16, 16), path="reference", block=64)
    assert heavy.memory > 64**2 * 256**2 * 8  # the reference holds all pixel pairs of all pairs


def test_bad_inputs_are_refused():
    with pytest.raises(ValueError, match="same input shape"):
        ARCH.kernel(X, X[:, :, :4])
    with pytest.raises(ValueError, match="at least one input"):
        ARCH.kernel(X[:0])
    with pytest.raises(ValueError, match="block must be"):
        ARCH.kernel(X, block=0)
    with pytest.raises(ValueError, match="path must be"):
        ARCH.kernel(X, path="quick")
    with pytest.raises(ValueError, match="NaN"):
        ARCH.kernel(X * float("nan"))
    with pytest.raises(ValueError, match="gradients are asked for"):
        ARCH.kernel(X.clone().requires_grad_(), path="fused")
    with pytest.raises(ValueError, match="no fused step for"):
        M.fcn(1, activation=torch.tanh).kernel(X, path="fused")
    with pytest.raises(ValueError, match="Gaussian"):
        M.Architecture("two", (M.Dense(), M.Activation("relu"), M.Activation("relu"), M.Dense())).kernel(X.flatten(1))


def test_what_has_no_fused_step_takes_the_reference_by_itself():
    x = X[:3, :, :4, :4].clone().requires_grad_()
    M.gap(1).kernel(x).ntk.sum().backward()
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()
    arch = M.fcn(1, activation=torch.tanh)
    assert torch.equal(arch.kernel(X).ntk, arch.kernel(X, path="reference").ntk)


def test_dtype_and_kinds():
    assert ARCH.kernel(X, dtype=torch.float32).ntk.dtype == torch.float32
    only = ARCH.kernel(X.float(), kinds="ntk")
    assert only.nngp is None
    assert only.ntk.dtype == torch.float32


def test_the_command_writes_a_matrix(tmp_path):
    from priorscope.cli import main

    out = tmp_path / "k.npy"
    options = ["kernel", "--arch", "gap", "--depth", "1", "--data", "digits", "--n", "6", "--kind", "ntk", "--out"]
    with pytest.raises(SystemExit) as ended:
        main([*options, str(out)])
    assert ended.value.code == 0
    with pytest.raises(SystemExit) as ended:
        main(["kernel", "--arch", "transformer"])
    assert ended.value.code == 2
    assert np.load(out).shape == (6, 6)
    assert json.loads((tmp_path / "k.npy.blocks").read_text().splitlines()[0])["kinds"] == ["ntk"]


def test_sizes_out_of_proportion_are_refused_or_told_at_once():
    image = torch.ones(1, 1, 3, 3)
    strided = M.Architecture("strided", (M.Conv(3, 2**40, "zeros"), M.Activation("relu"), M.Flatten(), M.Dense()))
    assert strided.kernel(image).ntk.shape == (1, 1)  # one pixel is left
    with pytest.raises(MemoryError, match="GB"):
        M.gap(1).kernel(torch.zeros(1, 1, 1024, 1024))  # all pairs of a million pixels
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # so that the work does not begin
        with pytest.raises(UserWarning, match="hours"):
            M.gap(100).kernel(torch.zeros(5, 1, 256, 256))
