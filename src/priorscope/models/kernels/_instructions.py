"""What a fused program is made of: kinds of steps, of expectations and of stage ends, and the records that hold them."""

from __future__ import annotations

import numpy as np

__all__ = [
    "ADD", "AFFINE", "CIRCULAR", "CONV", "COPY", "EQUAL_PIXELS", "ERF", "EXPECT", "EXPONENTIAL", "GAUSSIAN", "GELU",
    "NORM", "N_FLOATS", "POOL", "RECTIFIER", "SIGN", "SINE", "STAGE", "STEP", "TOTAL", "ZEROS",
]  # fmt: skip

# kinds of steps
AFFINE = 0  # floats: weight variance, bias variance
CONV = 1  # floats as AFFINE
COPY = 2  # register to other
ADD = 3  # other to register
EXPECT = 4  # floats: p0..p3 of the nonlinearity
EQUAL_PIXELS = 5  # covariances of unequal pixels vanish: weights are not shared

# kinds of expectations
RECTIFIER = 0  # p0 x on x < 0, p1 x on x > 0
ERF = 1
SIGN = 2
GELU = 3
SINE = 4  # p0 sin(p1 x + phase), p2 and p3 the squares of the phase's sine and cosine
GAUSSIAN = 5  # p0 exp(-p1 x²)
EXPONENTIAL = 6  # p0 exp(p1 x)
NORM = 7  # LayerNorm over channels: K / sqrt((q1 + p0)(q2 + p0))

# padding of a filter
CIRCULAR = 0  # wraps round the frame; also serves padding="valid", whose outer pixels are never read
ZEROS = 1  # a tap counts only when both pixels lie inside

# how a stage ends
TOTAL = 0  # sum over the pixels inside and all displacements of the stage
POOL = 1

N_FLOATS = 4


def _integers(names: str) -> np.dtype:
    return np.dtype([(name, np.int64) for name in names.split()])


# One step on a register. ``height, width``: the frame before it. ``other``: the second register of COPY and ADD.
# ``kind, variances``: of EXPECT, and where its variances begin in the tables. The rest but the last two belongs to CONV: taps,
# how many of them lie before the pixel, stride, which pixel of a stride is kept, padding, and the inside of the frame.
# ``sub_y, sub_x``: subsampling since the stage began; the step's displacement is the stage's divided by them.
STEP = _integers(
    "code register height width other kind variances taps_y low_y taps_x low_x stride_y stride_x offset_y offset_x "
    "padding top bottom left right sub_y sub_x"
)

# One stage: its steps; the frame at its start and at its end; the inside of the latter; the subsampling between them; how it
# ends; window and stride of the pool; the next frame; the pooled pixels in it; where its start lies in the tile and its
# displacements in the map. Displacements are in units of the stage's first frame.
STAGE = _integers(
    "start stop height width end_height end_width top bottom left right sub_y sub_x ends window_y window_x step_y step_x "
    "next_height next_width n_y n_x tile where"
)
