"""The lab: many runs, none lost. Papers, claims, the run store, sweeps and the ledger of verdicts."""

from priorscope.lab._claim import Check, Claim, Measured, NotMeasured
from priorscope.lab._cluster import dask_executor
from priorscope.lab._evidence import Evidence, evidence_from, read_evidence, take_up_evidence, write_evidence
from priorscope.lab._executors import SerialExecutor, available_cores, process_executor
from priorscope.lab._expect import (
    Expectation,
    above,
    at_least,
    at_most,
    below,
    between,
    claimed,
    falling,
    near,
    rising,
)
from priorscope.lab._judging import complete_scale, judge_evidence, judge_paper
from priorscope.lab._ledger import ledger_path, read_ledger, record_ledger, runs_folder, standing
from priorscope.lab._paper import SCALES, Paper
from priorscope.lab._point import Metrics, Point, finite_or_none
from priorscope.lab._power import more_draws, power
from priorscope.lab._queue import Waiting, waiting, work_off
from priorscope.lab._record import Record, natural_order
from priorscope.lab._runs import Runs, TakenUp, read_runs, stored_runs, take_up, write_runs
from priorscope.lab._salvage import Salvaged, salvage
from priorscope.lab._store import Store, default_store_path
from priorscope.lab._store_file import StoreError
from priorscope.lab._sweep import Interrupted, SweepSummary, sweep
from priorscope.lab._unfinished import keep_unfinished, read_unfinished, unfinished_file
from priorscope.lab._verdict import VERDICTS, CheckVerdict, Verdict, judge_claim, judge_interval

__all__ = [
    "Paper",
    "Point",
    "Metrics",
    "finite_or_none",
    "Claim",
    "Check",
    "Measured",
    "NotMeasured",
    "Expectation",
    "near",
    "claimed",
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
    "power",
    "more_draws",
    "SCALES",
    "Store",
    "StoreError",
    "default_store_path",
    "salvage",
    "Salvaged",
    "sweep",
    "SweepSummary",
    "Interrupted",
    "SerialExecutor",
    "Waiting",
    "waiting",
    "work_off",
    "process_executor",
    "dask_executor",
    "available_cores",
    "Record",
    "judge_paper",
    "judge_evidence",
    "complete_scale",
    "Evidence",
    "evidence_from",
    "write_evidence",
    "read_evidence",
    "Runs",
    "TakenUp",
    "stored_runs",
    "write_runs",
    "read_runs",
    "take_up",
    "take_up_evidence",
    "unfinished_file",
    "read_unfinished",
    "keep_unfinished",
    "ledger_path",
    "runs_folder",
    "read_ledger",
    "record_ledger",
    "standing",
    "natural_order",
]
