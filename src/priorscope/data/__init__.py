"""D, the data of a learning system: data sets, readers, fetchers, synthetic inputs, group actions on inputs."""

from . import groups
from ._arrays import from_arrays, from_torch
from ._cifar2 import cifar2
from ._cifar_binary import read_cifar_binary
from ._dataset import Dataset, Split
from ._digits import digits
from ._directions import circles, directional, linear_plus_circle
from ._fetch import FetchError, cache_folder
from ._idx import read_idx
from ._labels import encode_labels
from ._load import load
from ._local_features import local_features
from ._published import cifar10, fashion_mnist, get, mnist
from ._random_labels import flip_spectrum, random_labels
from ._synthetic import cube, from_function, gaussian, hypercube, product_of_spheres, sphere

__all__ = [
    "Dataset",
    "FetchError",
    "Split",
    "cache_folder",
    "cifar10",
    "cifar2",
    "circles",
    "cube",
    "digits",
    "directional",
    "encode_labels",
    "fashion_mnist",
    "flip_spectrum",
    "from_arrays",
    "from_function",
    "from_torch",
    "gaussian",
    "groups",
    "local_features",
    "get",
    "hypercube",
    "linear_plus_circle",
    "load",
    "mnist",
    "product_of_spheres",
    "random_labels",
    "read_cifar_binary",
    "read_idx",
    "sphere",
]
