"""State dicts with int8 weights: `KEY.int8` and `KEY.scale` in place of `KEY`."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from zoo.core import Int8Matrix
from zoo.errors import WeightsError

_VALUES, _SCALE = ".int8", ".scale"


def holds_int8(state: Mapping[str, Tensor]) -> bool:
    """Tell whether a state dict has int8 weights."""
    return any(key.endswith(_VALUES) and key.removesuffix(_VALUES) + _SCALE in state for key in state)


def dequantized(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Give the floats that int8 weights stand for; quantised again they are the same int8 weights."""
    names = [key.removesuffix(_VALUES) for key in state if key.endswith(_VALUES)]
    made = {name + end for name in names for end in (_VALUES, _SCALE)}
    floats = {name: Int8Matrix(state[name + _VALUES], state[name + _SCALE]).dequantized() for name in names}
    return {key: value for key, value in state.items() if key not in made} | floats


def as_floats(state: Mapping[str, Tensor], label: str, quantization: Mapping[str, Any] | None) -> Mapping[str, Tensor]:
    """Give the floats of a checkpoint whose `config.json` says how it is quantised; others as they are.

    Args:
        state: of the checkpoint.
        label: its origin.
        quantization: what `config.json` says; None if nothing.

    Raises:
        WeightsError: If there are int8 weights and nothing says so, or it is another quantisation.
    """
    if quantization is None:
        if holds_int8(state):
            raise WeightsError(
                f"{label} holds int8 weights, and no config.json was read with them: give the folder that "
                "zoo.weights.save wrote, zoo.create('local-dir:FOLDER')"
            )
        return state
    if quantization.get("dtype") != "int8":
        raise WeightsError(
            f"{label}: config.json has quantization={dict(quantization)!r}; 'int8' is the only dtype here"
        )
    return dequantized(state)
