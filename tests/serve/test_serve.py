"""The served page: token, this machine only, read-only, hostile text shown as text, news in a browser."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from priorscope.lab import Store
from priorscope.papers import load
from priorscope.serve import application, serve
from priorscope.serve._progress import progress

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    uvicorn = pytest.importorskip("uvicorn")
    path = tmp_path_factory.mktemp("serve") / "store.sqlite"
    with Store(path) as store:
        for seed in range(3):
            store.put("toy", 1, {"seed": seed, "name": EVIL}, {"error": 0.5 + seed}, seconds=0.1)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = uvicorn.Config(application(path, "sesame"), host="127.0.0.1", port=port, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}", path
    server.should_exit = True
    thread.join(5)


def _get(url: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method, headers=headers)) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_token_host_and_method_are_checked(address: tuple[str, Path]) -> None:
    base, _ = address
    assert _get(f"{base}/sesame/")[0] == 200
    assert _get(f"{base}/open/")[0] == 403
    assert _get(f"{base}/open/progress.json")[0] == 403
    assert _get(f"{base}/open/claims")[0] == 403
    assert _get(f"{base}/")[0] == 404
    assert _get(f"{base}/sesame/", Host="evil.example")[0] == 403
    assert _get(f"{base}/sesame/", method="POST")[0] == 405
    assert _get(f"{base}/sesame/paper/nothing")[0] == 404


def test_runs_are_filtered_and_escaped_and_the_store_is_untouched(address: tuple[str, Path]) -> None:
    base, path = address
    before = path.read_bytes()
    status, text = _get(f"{base}/sesame/paper/toy")
    assert status == 200
    assert "<img" not in text
    assert "&lt;img" in text
    assert "3 of 3 runs" in text
    assert "1 of 3 runs" in _get(f"{base}/sesame/paper/toy?q=2.5")[1]
    assert "1 of 3 runs" in _get(f"{base}/sesame/paper/toy?q=seed%3D2+onerror")[1]
    assert "0 of 3 runs" in _get(f"{base}/sesame/paper/toy?q=seed%3D2+error%3D0.5")[1]
    assert "<img" not in _get(f"{base}/sesame/paper/toy?q=%22%3E%3Cimg%3E")[1]
    assert path.read_bytes() == before


def test_claims_of_the_record_are_found_by_their_verdict(address: tuple[str, Path]) -> None:
    from priorscope.lab import read_ledger

    record = read_ledger()
    failed = [name for name, claim in record.items() if claim.verdict == "fails"]
    _, text = _get(f"{address[0]}/sesame/claims?q=verdict%3Dfails")
    assert f"{len(failed)} of {len(record)} claims" in text
    assert all(f'<dt id="{name}">' in text for name in failed)
    assert text.count("<dt id=") == len(failed)


def test_an_unfinished_sweep_with_news_is_running_and_a_stale_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper = load("sphere-spectrum")
    first, *rest = paper.points("tiny")
    with Store(tmp_path / "store.sqlite") as store:
        store.put(paper.name, paper.version, first, {"error": 0.5}, seconds=0.1, scale="tiny")
        row = next(r for r in progress(store) if r["paper"] == paper.name)
        assert (row["running"], row["scale"], row["done"], row["wanted"]) == (True, "tiny", 1, 1 + len(rest))
        now = time.time()
        monkeypatch.setattr("priorscope.serve._progress.time.time", lambda: now + 3600)
        assert not next(r for r in progress(store) if r["paper"] == paper.name)["running"]


def test_points_that_a_smaller_scale_ran_start_no_sweep(tmp_path: Path) -> None:
    paper = load("sphere-spectrum")
    shared = {paper.key(point) for point in paper.points("tiny")} & {
        paper.key(point) for point in paper.points("small")
    }
    assert shared
    with Store(tmp_path / "store.sqlite") as store:
        for point in paper.points("tiny"):
            store.put(paper.name, paper.version, point, {"error": 0.5}, seconds=0.1, scale="tiny")
        row = next(r for r in progress(store) if r["paper"] == paper.name)
        assert not row["running"]
        assert f"small {len(shared)}/" in row["text"]
        store.mark_scale(shared, "small")  # what a sweep of the small scale does first
        row = next(r for r in progress(store) if r["paper"] == paper.name)
        assert (row["running"], row["scale"], row["done"]) == (True, "small", len(shared))


def test_progress_is_live_in_a_browser(address: tuple[str, Path], browser: Any) -> None:
    base, path = address
    page = browser.new_page()
    trouble: list[str] = []
    page.on("console", lambda m: trouble.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: trouble.append(str(error)))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{base}/sesame/")
    page.wait_for_selector("html[data-live=yes]", timeout=20000)
    assert "3 runs" in page.locator("#runs-toy").inner_text()
    assert "No sweep is running" in page.locator("#running").inner_text()
    with Store(path) as store:
        store.put("toy", 1, {"seed": 9, "name": "plain"}, {"error": 1.0}, seconds=0.1)
    page.locator("#runs-toy", has_text="4 runs").wait_for(timeout=10000)
    page.get_by_role("link", name="toy").click()
    page.wait_for_selector("text=4 of 4 runs", timeout=10000)
    assert page.locator("img").count() == 0
    assert trouble == []
    assert all(url.startswith((base, "data:")) for url in asked)
    page.close()


def test_messages(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="reproduce NAME"):
        serve(tmp_path / "none.sqlite")
    file = tmp_path / "store.sqlite"
    file.touch()
    with pytest.raises(ValueError, match="port"):
        serve(file, port=0)


def test_a_port_that_is_taken_and_a_file_that_is_no_store_are_told_before_an_address_is(tmp_path: Path) -> None:
    said: list[str] = []
    store = tmp_path / "runs.sqlite"
    Store(store).close()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=rf"port {port} cannot be used \(Address already in use\); choose another"):
            serve(store, port=port, announce=said.append)
        (tmp_path / "text.sqlite").write_text("not a store" * 200)
        with pytest.raises((ValueError, RuntimeError, OSError)):
            serve(tmp_path / "text.sqlite", port=port, announce=said.append)
    assert said == []


def test_the_announced_address_answers(tmp_path: Path) -> None:
    Store(tmp_path / "runs.sqlite").close()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["-c", "from priorscope.cli import main; main()", "serve", "--store", "runs.sqlite", "--port", str(port)]
    with subprocess.Popen([sys.executable, "-u", *words], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().removeprefix("serving at ").strip()
        status, text = 0, ""
        for _ in range(200):
            try:
                status, text = _get(address)
                break
            except urllib.error.URLError:
                time.sleep(0.05)
        server.terminate()
    assert status == 200
    assert "<html" in text
