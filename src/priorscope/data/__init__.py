"""D, the data of a learning system: data sets, readers, fetchers, synthetic inputs, group actions on inputs."""

from ._arrays import from_arrays, from_torch
from ._dataset import Dataset, Split
from ._digits import digits
from ._labels import encode_labels
from ._synthetic import cube, from_function, gaussian, hypercube, product_of_spheres, sphere

__all__ = [
    "Dataset",
    "Split",
    "cube",
    "digits",
    "encode_labels",
    "from_arrays",
    "from_function",
    "from_torch",
    "gaussian",
    "hypercube",
    "product_of_spheres",
    "sphere",
]
