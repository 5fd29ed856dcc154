"""Makes a kept call again: what it gives, says, raises and changes in its arguments."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import signal
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from recorder._calls import Call, Raw, function_of
from recorder._summary import summary
from recorder._text import Reader


class TooLong(BaseException):
    """The call takes longer than a kept call may."""


def stop(signum: int, frame: Any) -> None:
    raise TooLong


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Stops what takes more processor time, or four times as much of the clock."""
    before = signal.signal(signal.SIGPROF, stop), signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 8 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGPROF, before[0])
        signal.signal(signal.SIGALRM, before[1])


@contextlib.contextmanager
def quiet_room() -> Iterator[Path]:
    """An empty folder to work in, fixed seeds, nothing left behind."""
    room, home = Path(tempfile.mkdtemp(prefix="replay")), os.getcwd()
    os.chdir(room)
    kept = torch.get_default_dtype(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    torch.manual_seed(0)
    try:
        yield room
    finally:
        os.chdir(home)
        torch.set_default_dtype(kept[0])
        np.random.set_state(kept[1])  # noqa: NPY002
        torch.set_rng_state(kept[2])
        shutil.rmtree(room, ignore_errors=True)


def replayed(call: Call, seconds: float = 10.0, raw: Raw | None = None) -> tuple[dict[str, Any], float]:
    """The summary of a call and its processor seconds."""
    raw = raw or function_of(call.function)
    given = call.arguments
    with quiet_room() as room, warnings.catch_warnings(record=True) as said, within(seconds):
        warnings.simplefilter("always")
        read = Reader(room)  # one for all arguments: what was the same object is the same again
        positional = [read(v) for v in given["positional"]]
        keywords = {k: read(v) for k, v in given.get("only", {}).items()}
        positional += [read(v) for v in given.get("rest", [])]
        keywords |= {k: read(v) for k, v in given.get("keywords", {}).items()}
        before = json.dumps(summary([positional, keywords], room))
        out, told = io.StringIO(), {}
        start = time.process_time()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                with torch.set_grad_enabled(given.get("grad", True)):
                    told["gives"] = summary(raw.call(*positional, **keywords), room)
            except (Exception, SystemExit) as error:
                told["raises"] = {type(error).__name__: summary(str(error), room)}
        took = time.process_time() - start
        after = summary([positional, keywords], room)
        if json.dumps(after) != before:
            told["leaves"] = after
        if out.getvalue():
            told["prints"] = summary(out.getvalue(), room)
        words = sorted({str(w.message) for w in said if issubclass(w.category, UserWarning)})
        if words:
            told["warns"] = [summary(w, room) for w in words]
        return json.loads(json.dumps(told)), took
