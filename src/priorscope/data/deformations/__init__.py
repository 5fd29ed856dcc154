"""Smooth random deformations of images: fields of maximum entropy, their size and folding, interpolation, augmentation."""

from priorscope.data.deformations._admissible import highest_temperature, is_admissible, lowest_temperature
from priorscope.data.deformations._amplitude import Displacement, mean_displacement, temperature_for
from priorscope.data.deformations._deform import FoldWarning, deform, image_side
from priorscope.data.deformations._fields import Fields, sample_fields
from priorscope.data.deformations._folding import FoldTemperatures, fold_temperatures, jacobian, stretch
from priorscope.data.deformations._interpolation import Interpolation, displaced, participation_ratio
from priorscope.data.deformations._modes import ModeRule, kept_modes, mean_square_gradient, mode_sum
from priorscope.data.deformations._one_pixel import one_pixel
from priorscope.data.deformations._phases import phase_grid
from priorscope.data.deformations._rigid import RigidMove, Shift, Turn, Zoom
from priorscope.data.deformations._transform import Deform, Deformed

__all__ = [
    # fields
    "Fields",
    "ModeRule",
    "kept_modes",
    "mean_square_gradient",
    "mode_sum",
    "sample_fields",
    # how far pixels move, and when images fold
    "Displacement",
    "FoldTemperatures",
    "fold_temperatures",
    "highest_temperature",
    "is_admissible",
    "jacobian",
    "lowest_temperature",
    "mean_displacement",
    "phase_grid",
    "stretch",
    "temperature_for",
    # images
    "Deform",
    "Deformed",
    "FoldWarning",
    "Interpolation",
    "RigidMove",
    "Shift",
    "Turn",
    "Zoom",
    "deform",
    "displaced",
    "image_side",
    "one_pixel",
    "participation_ratio",
]
