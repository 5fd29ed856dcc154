from __future__ import annotations

import pytest

from priorscope.lab import Store, dask_executor, sweep


def test_no_scheduler_is_said_plainly():
    with (
        pytest.raises(ConnectionError, match="no Dask scheduler answers at tcp://127.0.0.1:1"),
        dask_executor("tcp://127.0.0.1:1", timeout=0.2),
    ):
        pass


def test_a_cluster_sweep_survives_the_death_of_a_worker(toy, tmp_path):
    from distributed import LocalCluster

    points = [{"x": x, "seed": 0, "folder": str(tmp_path)} for x in range(12)]
    store = Store(tmp_path / "s.sqlite")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        dask_executor(cluster.scheduler_address) as executor,
    ):
        summary = sweep(toy.paper(toy.die_once), points, store, executor)
    assert (tmp_path / "tried-1").exists()  # the point did kill its worker
    assert (summary.ran, summary.failed) == (12, 0)
    assert store.table("die_once").sort_values("x")["square"].tolist() == [x * x for x in range(12)]
