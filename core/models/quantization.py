"""`quantize`: a copy of a model whose linear layers have int8 weights."""

from copy import deepcopy
from typing import Any, TypeVar

from torch import nn
from torch.nn.modules.linear import NonDynamicallyQuantizableLinear
from torch.nn.parameter import is_lazy

from zoo.core.errors import ConfigError
from zoo.core.layers.heads import NextToken
from zoo.core.ops.int8.int8_matrix import Int8Matrix
from zoo.core.ops.linear import Linear

Part = TypeVar("Part", bound=nn.Module)


def quantize(model: Part, dtype: str = "int8", embeddings: bool = False) -> Part:
    """Copy a model with int8 weights in its linear layers, symmetric by row (largest of a row / 127).

    Those are all `torch.nn.Linear` (also subclasses that multiply as it does), attention's projections among them, and
    heads that give a score for each token of a vocabulary; an embedding that is such a head's matrix too stays the
    same matrix. Convolutions, norms, biases, positions, recurrent layers and `torch.nn.MultiheadAttention` stay as they
    are. Parameters of the copy want no gradients: it answers, and is not trained.

    Args:
        model: on a CPU.
        dtype: `int8`.
        embeddings: whether embeddings that are only looked up are int8, too.

    Raises:
        ConfigError: If there is no such dtype, the model is quantised already, has no linear layers or weights that are
            not finite, or is not on a CPU.
    """
    if dtype != "int8":
        raise ConfigError(f"dtype={dtype!r}: weights can be 'int8', and nothing else")
    name = type(model).__name__
    if is_quantized(model):
        raise ConfigError(f"{name} has int8 weights already: quantise the model that it was made from")
    found = {id(weight): weight for weight in _matrices(model, embeddings)}
    if not found:
        raise ConfigError(f"{name} has no linear layers: there are no weights to make int8")
    if elsewhere := {weight.device.type for weight in found.values()} - {"cpu"}:
        raise ConfigError(
            f"{name} is on {', '.join(elsewhere)}: int8 weights are for CPUs, write zoo.quantize(model.to('cpu'), "
            "'int8'); on a GPU dtype='bfloat16' is as good"
        )
    made = deepcopy(model, dict(found))  # what is known is not copied: the copy reads the weights of the original
    matrices = {key: Int8Matrix.of(weight) for key, weight in found.items()}
    for part in list(made.modules()):
        for key, parameter in list(part._parameters.items()):
            if id(parameter) in matrices:
                del part._parameters[key]
                part.add_module(key, matrices[id(parameter)])
    made.requires_grad_(False)
    made.quantization = {"dtype": dtype, "embeddings": embeddings}  # type: ignore[assignment]
    return made


def is_quantized(model: nn.Module) -> bool:
    """Tell whether a model has int8 weights."""
    return any(isinstance(part, Int8Matrix) for part in model.modules())


def _matrices(model: nn.Module, embeddings: bool) -> list[nn.Parameter]:
    """List the parameters that are multiplied with vectors, or looked up."""
    found: list[Any] = []
    for part in model.modules():
        if _multiplies(part) or (embeddings and type(part) is nn.Embedding and part.max_norm is None):
            found.append(part._parameters.get("weight"))
        elif isinstance(part, NextToken):
            found.append(part.matrix)
    return [weight for weight in found if weight is not None and weight.is_floating_point() and not is_lazy(weight)]


def _multiplies(part: nn.Module) -> bool:
    """Tell whether a module is a linear layer, called as such: `MultiheadAttention` reads its own one's weights."""
    plain = type(part).forward in (nn.Linear.forward, Linear.forward)
    return isinstance(part, nn.Linear) and plain and not isinstance(part, NonDynamicallyQuantizableLinear)
