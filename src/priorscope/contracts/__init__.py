"""The protocols on which the rooms meet: what data, models, inference and results must offer, and the checks at the door.

A class of the user's needs no base class of ours: it has the methods of a protocol or it does not. Whoever takes such an
object asks here once (:func:`require`, or one of the ``is_…`` questions); behind the door the types say the rest.
"""

from priorscope.contracts._asking import (
    kernel_matrices,
    kernel_matrix,
    name_of,
    settled,
)
from priorscope.contracts._data import (
    CountedSamples,
    FiniteGroup,
    LabelledData,
    MovableData,
    Samples,
    Shape,
)
from priorscope.contracts._door import (
    missing,
    own,
    require,
)
from priorscope.contracts._fields import Field, Fields
from priorscope.contracts._guarded import HOLED, guarded
from priorscope.contracts._inference import (
    Fitted,
    GradientPredictor,
    Inference,
    Needs,
    Predictor,
    Trajectory,
)
from priorscope.contracts._models import (
    FeatureKernel,
    GradientContext,
    KernelModel,
    KernelPair,
    Member,
    Model,
    NetworkEnsemble,
    NetworkFamily,
    NetworkMaker,
    NetworkOptions,
    NetworkStack,
)
from priorscope.contracts._questions import (
    is_kernel_model,
    is_network_family,
    is_network_maker,
    is_network_stack,
    is_triple,
    needs_of,
)
from priorscope.contracts._systems import (
    Result,
    TaskExecutor,
    Triple,
)

__all__ = [
    "HOLED",
    "CountedSamples",
    "FeatureKernel",
    "Field",
    "Fields",
    "FiniteGroup",
    "Fitted",
    "GradientContext",
    "GradientPredictor",
    "Inference",
    "KernelModel",
    "KernelPair",
    "LabelledData",
    "Member",
    "Model",
    "MovableData",
    "Needs",
    "NetworkEnsemble",
    "NetworkFamily",
    "NetworkMaker",
    "NetworkOptions",
    "NetworkStack",
    "Predictor",
    "Result",
    "Samples",
    "Shape",
    "TaskExecutor",
    "Trajectory",
    "Triple",
    "guarded",
    "is_kernel_model",
    "is_network_family",
    "is_network_maker",
    "is_network_stack",
    "is_triple",
    "kernel_matrices",
    "kernel_matrix",
    "missing",
    "name_of",
    "needs_of",
    "own",
    "require",
    "settled",
]
