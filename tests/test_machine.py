"""Free memory, by the system's own account."""

from __future__ import annotations

import os

import pytest

from priorscope import machine


def test_free_memory_is_what_the_system_tells(tmp_path, monkeypatch):
    told = tmp_path / "meminfo"
    told.write_text("MemTotal: 100 kB\nMemFree: 5 kB\nMemAvailable:      42 kB\nBuffers: 7 kB\n")
    monkeypatch.setattr(machine, "_MEMINFO", told)
    assert machine.free_memory() == 42 * 1024  # neither the total nor the free without caches


def test_without_that_account_it_is_all_there_is(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "_MEMINFO", tmp_path / "none")
    if not hasattr(os, "sysconf"):
        pytest.skip("no sysconf on this system")
    assert machine.free_memory() == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def test_where_nothing_is_told_it_is_modest(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "_MEMINFO", tmp_path / "none")

    def untold(name):
        raise ValueError(name)

    monkeypatch.setattr(machine.os, "sysconf", untold)
    assert machine.free_memory() == 4 * 2**30
