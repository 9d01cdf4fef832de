"""`CopyingGenerator`: an encoder and a recurrent decoder that may copy tokens of the source."""

from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core.cache.decoder import DecoderState
from zoo.core.errors import ConfigError
from zoo.core.layers.pooling import last
from zoo.core.layers.token_embedding import ValidMask
from zoo.core.mechanisms.alignment.copying import CopyHead, SourceTokens
from zoo.core.models.generator import Generator
from zoo.core.tokens import Tokens


class CopyingGenerator(Generator):
    """Compose a model of an encoder, an `AttentiveDecoder` and perhaps a `CopyHead`, which gets the source's tokens.

    The first input of the source is its ids.
    """

    def behind(self, source: nn.Module) -> Generator:
        """See `Composition.behind`.

        Raises:
            ConfigError: If it copies tokens of its source.
        """
        if isinstance(self.head, CopyHead):
            raise ConfigError("a decoder that copies tokens of its source, behind an encoder: make it with copy=False")
        return super().behind(source)

    def encode(self, *source: Any) -> Tokens:
        """Give the encoder's vectors with the ids of the source."""
        found = super().encode(*source)
        return SourceTokens(found.x, found.pattern, found.keys, found.position, source[0])

    def follow(
        self,
        ids: Int[Tensor, "b n"],
        state: DecoderState | None,
        context: Tokens | None = None,
        valid: ValidMask = None,
    ) -> Float[Tensor, "b vocab"]:
        tokens = self.decoded(ids, state, context, valid)
        return last(tokens.with_x(self.head(tokens)))[:, 0]
