"""`Objective`: the loss of a training, as a function."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from zoo.data.corpus import Batch

Objective = Callable[[Any, Batch, int], Tensor]
"""Model, batch and step to the loss: the mean over the targets of the batch. The model is wrapped by Fabric."""
