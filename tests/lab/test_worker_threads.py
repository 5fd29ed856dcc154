"""Workers of a pool keep to one thread and still compile: numba refuses when its variable changes after its threads began."""

import os
import subprocess
import sys

import pytest

WORKER = """
{first}
import os
from priorscope.lab._executors import _start_worker
_start_worker(None)
import numba
numba.set_num_threads(1)

@numba.njit
def double(y):
    return 2 * y

print(double(21), numba.get_num_threads(), os.environ["OMP_NUM_THREADS"])
"""


@pytest.mark.parametrize("first", ["", "import numba"])
def test_a_worker_compiles_whether_numba_was_there_before_or_not(first):
    """A fork server that has imported the paper's module has numba, a spawned process has not."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    code = WORKER.format(first=first)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=clean, check=False)
    assert ended.stdout.split() == ["42", "1", "1"], ended.stderr
