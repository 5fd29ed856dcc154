"""The lab: many runs, none lost. Papers, claims, the run store, sweeps and the ledger of verdicts."""

from priorscope.lab._claim import VERDICTS, Claim, Verdict
from priorscope.lab._executors import SerialExecutor, available_cores, dask_executor, process_executor
from priorscope.lab._ledger import Record, judge_paper, read_ledger, record_ledger
from priorscope.lab._paper import SCALES, Paper
from priorscope.lab._salvage import salvage
from priorscope.lab._store import Store, StoreError, default_store_path
from priorscope.lab._sweep import Interrupted, SweepSummary, sweep

__all__ = [
    "Paper",
    "Claim",
    "Verdict",
    "VERDICTS",
    "SCALES",
    "Store",
    "StoreError",
    "default_store_path",
    "salvage",
    "sweep",
    "SweepSummary",
    "Interrupted",
    "SerialExecutor",
    "process_executor",
    "dask_executor",
    "available_cores",
    "Record",
    "judge_paper",
    "read_ledger",
    "record_ledger",
]
