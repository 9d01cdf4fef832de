"""`FixedState`: what is kept of all tokens together, in constant size."""

from jaxtyping import Int
from torch import Tensor

from zoo.core.cache.state import State
from zoo.core.errors import ConfigError


class FixedState(State):
    """Base of states whose size does not grow: they hold no single tokens, so that none can be taken out again.

    Args:
        batch: rows.
    """

    def check_crop(self, length: int | Int[Tensor, " b"]) -> None:
        """Raise an error.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(
            f"crop({length}): a state of constant size holds no single tokens; copy it before, or read again"
        )

    def crop(self, length: int | Int[Tensor, " b"]) -> None:
        """Raise the error of `check_crop`."""
        self.check_crop(length)
