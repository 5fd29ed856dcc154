"""The lab: many runs, none lost. Papers, claims, the run store, sweeps and the ledger of verdicts."""

from priorscope.lab._claim import Check, Claim, Measured, NotMeasured
from priorscope.lab._executors import SerialExecutor, available_cores, dask_executor, process_executor
from priorscope.lab._expect import (
    Expectation,
    above,
    at_least,
    at_most,
    below,
    between,
    falling,
    near,
    rising,
)
from priorscope.lab._ledger import Record, judge_paper, read_ledger, record_ledger
from priorscope.lab._paper import SCALES, Paper
from priorscope.lab._salvage import salvage
from priorscope.lab._store import Store, StoreError, default_store_path
from priorscope.lab._sweep import Interrupted, SweepSummary, sweep
from priorscope.lab._verdict import VERDICTS, CheckVerdict, Verdict, judge_claim, judge_interval

__all__ = [
    "Paper",
    "Claim",
    "Check",
    "Measured",
    "NotMeasured",
    "Expectation",
    "near",
    "between",
    "below",
    "above",
    "at_most",
    "at_least",
    "rising",
    "falling",
    "Verdict",
    "CheckVerdict",
    "VERDICTS",
    "judge_claim",
    "judge_interval",
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
