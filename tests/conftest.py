"""A real browser for the pages and charts, started once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium through playwright; tests that ask for it are skipped where there is none."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium on this machine")
    sync = pytest.importorskip("playwright.sync_api")
    with sync.sync_playwright() as play:
        running = play.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield running
        running.close()
