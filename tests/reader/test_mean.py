"""The mean of several readers, which is what is shipped."""

from __future__ import annotations

import doctest

import pytest

from models.reader import mean
from models.reader.mean import mean_of


class Weights(list[float]):
    """As many numbers as a tensor has, of which NumPy takes the same mean."""

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    def __add__(self, other: list[float]) -> Weights:  # type: ignore[override]
        return Weights(a + b for a, b in zip(self, other, strict=True))

    def __truediv__(self, by: int) -> Weights:
        return Weights(value / by for value in self)


def test_the_examples_of_its_docstrings_are_right() -> None:
    assert doctest.testmod(mean).failed == 0


def test_the_mean_is_taken_of_each_number_of_each_weight() -> None:
    first = {"words": Weights([1.0, 2.0]), "bias": Weights([0.0])}
    second = {"words": Weights([3.0, 5.0]), "bias": Weights([1.0])}

    assert mean_of([first, second]) == {"words": [2.0, 3.5], "bias": [0.5]}
    assert mean_of([first]) == first


def test_a_network_with_other_layers_has_no_mean_with_the_first() -> None:
    with pytest.raises(ValueError, match=r"network 2 has other weights than network 1: layers\.6"):
        mean_of([{"layers.0": 1.0}, {"layers.0": 1.0, "layers.6": 1.0}])


def test_a_weight_of_another_shape_has_no_mean_with_the_first() -> None:
    with pytest.raises(ValueError, match=r"network 3 .*: words"):
        mean_of([{"words": Weights([1.0])}, {"words": Weights([1.0])}, {"words": Weights([1.0, 2.0])}])
