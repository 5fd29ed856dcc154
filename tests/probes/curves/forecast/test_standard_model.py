"""Which inputs the convolutional candidates of a profile take: images and signals, not rows of features."""

import pytest

from priorscope.probes.curves.forecast._forecast import standard_model


@pytest.mark.parametrize("shape", [(1, 8, 8), (2, 40)])
def test_images_and_signals_are_taken(shape):
    assert standard_model("vec", 2, shape).name == "vec"


def test_rows_of_features_are_not():
    with pytest.raises(ValueError, match="flat features"):
        standard_model("vec", 2, (12,))
