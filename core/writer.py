"""`Writer`, what the compositions that write tokens have in common."""

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.attention import attention_maps


class Writer(nn.Module):
    """Hold what is asked of every model that writes tokens, whatever the order in which it writes them."""

    spec: Any = None
    """The resolved `ModelSpec` of a model that was made by name."""
    head: Any
    """`Tokens` to a score for each token."""

    def attention_maps(self, *inputs: Any) -> list[Float[Tensor, "b h q k"]]:
        """Give the attention weights of each layer in the order of use; rows sum to 1, or to 0 with nothing to read."""
        return attention_maps(self, *inputs)

    def reset_classifier(self, num_classes: int) -> None:
        """Refuse another vocabulary than the model has."""
        self.head.reset(num_classes)

    @property
    def num_features(self) -> int:
        """Channels of the vectors before the head."""
        return self.head.dim

    @property
    def num_classes(self) -> int:
        """Tokens of the vocabulary."""
        return self.head.num_classes
