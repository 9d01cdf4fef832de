"""`Generator`, the composition that writes: a decoder, perhaps behind an encoder, and a head for the next token."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core.attention import attention_maps
from zoo.core.embed import There
from zoo.core.errors import InputError
from zoo.core.model import take
from zoo.core.state import DecoderState
from zoo.core.tokens import Tokens


class Symbols(NamedTuple):
    """Name the tokens that mean something to the search."""

    pad: int = 0
    bos: int = 1
    eos: int = 2


SYMBOLS = Symbols()


class Generator(nn.Module):
    """Compose a model that writes sequences of its own length; inputs are the source's, then the ids written so far.

    Without an encoder the inputs are the ids, and perhaps which of them are there.

    Args:
        target: ids to `Tokens`, as `TokenEmbed`; it reads the source too where an encoder has no `stem`.
        decoder: `Tokens` to `Tokens`.
        head: `Tokens` to a score for each token.
        encoder: `Tokens` to `Tokens` that the decoder reads; None for a decoder alone.
        stem: the source's raw input to `Tokens`; None where source and target share their vocabulary.
        symbols: padding, begin and end.
        max_len: the most tokens it can write, with the prompt; None for any number.
    """

    spec: Any = None
    """The resolved `ModelSpec` of a model that was made by name."""

    def __init__(
        self,
        target: nn.Module,
        decoder: nn.Module,
        head: nn.Module,
        *,
        encoder: nn.Module | None = None,
        stem: nn.Module | None = None,
        symbols: Symbols = SYMBOLS,
        max_len: int | None = None,
    ) -> None:
        super().__init__()
        self.stem: Any = stem
        self.encoder: Any = encoder
        self.target: Any = target
        self.decoder: Any = decoder
        self.head: Any = head
        self.symbols = symbols
        self.max_len = max_len

    def forward(self, *inputs: Any) -> Float[Tensor, "b n vocab"]:
        """Give, for each place of the target, the scores of the token that follows (teacher forcing)."""
        return self.head(self._decoded(inputs))

    def forward_features(self, *inputs: Any) -> Float[Tensor, "b n d"]:
        """Give the decoder's vectors before the head."""
        return self._decoded(inputs).x

    def forward_intermediates(
        self, *inputs: Any, indices: int | Sequence[int] | None = None
    ) -> tuple[Float[Tensor, "b n d"], list[Float[Tensor, "b n d"]]]:
        """Give the vectors before the head, and those after each block of the decoder; indices as in `Model`."""
        tokens, context = self.read(*inputs)
        states = [each.x for each in self.decoder.states(tokens, context)]
        return states[-1], [states[i] for i in take(indices, len(states))]

    def attention_maps(self, *inputs: Any) -> list[Float[Tensor, "b h q k"]]:
        """Give the attention weights of each layer in the order of use; rows sum to 1, or to 0 with nothing to read."""
        return attention_maps(self, *inputs)

    def read(self, *inputs: Any) -> tuple[Tokens, Tokens | None]:
        """Give the target's tokens, and the encoder's of the source if there is one.

        Raises:
            InputError: If there are no inputs for one of them.
        """
        if self.encoder is None:
            return self.target(*inputs), None
        if len(inputs) < 2:
            raise InputError(
                f"{len(inputs)} inputs of a model with an encoder: give the source's, then the target's ids"
            )
        return self.target(inputs[-1]), self.encode(*inputs[:-1])

    def encode(self, *source: Any) -> Tokens:
        """Give the encoder's vectors of a source, as the decoder reads them."""
        encoded: Tokens = self.encoder((self.target if self.stem is None else self.stem)(*source))
        return Tokens(encoded.x, None, encoded.keys, encoded.position)

    def follow(
        self,
        ids: Int[Tensor, "b n"],
        state: DecoderState,
        context: Tokens | None = None,
        there: There = None,
        position: Int[Tensor, "#b n"] | None = None,
    ) -> Float[Tensor, "b vocab"]:
        """Give the scores of what follows on ids that follow on what a state keeps.

        Args:
            ids: tokens, the last of each row at the end.
            state: what was read; it changes.
            context: the encoder's vectors; needed the first time only.
            there: which of the ids are there; all if None.
            position: where they stand; needed wherever the state holds any.
        """
        tokens = self.decoder(self.target(ids, there, position), context, state)
        return self.head(tokens.with_x(tokens.x[:, -1:]))[:, 0]

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

    def _decoded(self, inputs: tuple[Any, ...]) -> Tokens:
        tokens, context = self.read(*inputs)
        return self.decoder(tokens, context)
