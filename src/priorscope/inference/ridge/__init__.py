"""Ridge regression with kernels, once for all: solutions, what is left out row by row or block by block, landmarks, one grid."""

from priorscope.inference.ridge._blocks import block_rows, solve_blocks
from priorscope.inference.ridge._grid import RIDGES, downhill
from priorscope.inference.ridge._landmarks import Landmarks
from priorscope.inference.ridge._path import RidgePath
from priorscope.inference.ridge._solution import RidgeSolution, inverse_of, mean_eigenvalue, solved

__all__ = [
    "RIDGES",
    "Landmarks",
    "RidgePath",
    "RidgeSolution",
    "block_rows",
    "downhill",
    "inverse_of",
    "mean_eigenvalue",
    "solve_blocks",
    "solved",
]
