"""`RecurrentAttention`: causal attention as a linear recurrence, S_t = A_t S_{t-1} + k_t v_tᵀ and o_t = S_tᵀ q_t.

A mechanism says in `steps` how tokens decay and write; all else is here. Time is linear in the length, and the state of
decoding and streaming has a constant size.
Axes: b rows, n tokens, h heads, d channels of a head.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import silu

from zoo.core.cache.recurrent_state import RecurrentState
from zoo.core.cache.state import State
from zoo.core.errors import ConfigError, InputError
from zoo.core.layers.attention import Attention
from zoo.core.mechanisms.abilities import Abilities, Cost
from zoo.core.ops.autocast import autocast_off
from zoo.core.ops.linear import Linear
from zoo.core.ops.recurrence.forms import CHUNK, chunked, matrix
from zoo.core.ops.recurrence.steps import Steps
from zoo.core.patterns.basic import Causal
from zoo.core.patterns.canonical import canonical
from zoo.core.patterns.padding import Segments
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.positions.attention_position import AttentionPosition, HeadSizes
from zoo.core.scoring.normalizers import upcast
from zoo.core.streaming.state_stage import StateStage
from zoo.core.tokens import Tokens, tokens_of

HEAD_NORM_EPS = 1e-5


class RecurrentAttention(Attention):
    """Multi-head attention whose weights come from a linear recurrence, normed head by head.

    It reads forwards in every model, an encoder's too: what stands behind a token cannot change it. No softmax bounds
    the answers, so each head is normed. That norm has no weights: a factor of a channel is one of the projection out.
    Numbers of half precision are summed in float32.

    Args:
        dim: channels in and out.
        num_heads: heads.
        head_norm: kind of norm of the answers, without weights.
        gate: whether each channel of the answers is multiplied by silu of a projection of its token.
        position: what positions do to queries and keys, such as `Rotary`; None for nothing.

    Raises:
        ConfigError: If `dim` is not a multiple of `num_heads`, or the position adds to scores.
    """

    abilities: ClassVar[Abilities] = Abilities(
        causal=True, padding_exact=True, any_length=True, streams=True, weights=True
    )

    def __init__(
        self,
        dim: int,
        num_heads: int,
        *,
        head_norm: type[nn.RMSNorm] | type[nn.LayerNorm] = nn.RMSNorm,
        gate: bool = True,
        position: AttentionPosition | None = None,
    ) -> None:
        super().__init__(dim, num_heads, pattern=Causal(), position=position)
        self.head_norm = head_norm(self.value_dim, eps=HEAD_NORM_EPS, elementwise_affine=False)
        self.gate = Linear(dim, num_heads * self.value_dim) if gate else None

    @abstractmethod
    def steps(
        self,
        x: Float[Tensor, "b n dim"],
        q: Float[Tensor, "b h n d"],
        k: Float[Tensor, "b h n d"],
        v: Float[Tensor, "b h n d"],
    ) -> Steps:
        """Say how tokens decay and write.

        Args:
            x: the tokens.
            q: their queries, in float32 where the layer is of half precision, as are keys and values.
            k: their keys.
            v: their values.
        """

    def forward(
        self, tokens: Tokens, context: Tokens | None = None, state: State | None = None
    ) -> Float[Tensor, "b n dim"]:
        """Let each token read itself and those before it, and those that a state keeps.

        Raises:
            ConfigError: If there is a context, or the tokens allow less than all that came before.
            InputError: If several sets are packed in a row, or the state is another layer's.
        """
        steps = self._steps(tokens, context, state)
        with autocast_off(tokens.x.device):
            if isinstance(state, RecurrentState):
                y = state.step(steps, tokens.valid(), tokens.position)
            else:
                y = chunked(steps)[0]
            y = self.head_norm(y.transpose(1, 2)).flatten(2).to(tokens.x.dtype)
        return self.out(y if self.gate is None else y * silu(self.gate(tokens.x)))

    def weights(
        self, tokens: Tokens, context: Tokens | None = None, state: State | None = None
    ) -> Float[Tensor, "b h n n"]:
        """Give the matrix that is multiplied with the values; rows sum to any number, and may be negative.

        Raises:
            ConfigError: If there is a state, which keeps sums and not the keys; and see `forward`.
        """
        if state is not None:
            raise ConfigError("the state of a recurrence keeps sums of keys, so each key's weight is not known")
        with autocast_off(tokens.x.device):
            return matrix(self._steps(tokens, context, None))

    def state(self, batch: int, pattern: Pattern = Full(), *, capacity: int = 16, spare: int = 0) -> RecurrentState:
        self.check_pattern(pattern)
        return RecurrentState(batch)

    def stream(self, pattern: Pattern | None = None) -> StateStage:
        self.check_pattern(pattern)
        return StateStage(self, self.pattern)

    def set_position(self, make: Callable[[HeadSizes], AttentionPosition], wanted: str) -> None:
        position = make(HeadSizes(self.qkv.in_features, self.num_heads, self.head_dim, self.value_dim))
        if position.acts_on != "vectors":
            raise ConfigError(
                f"{wanted} adds to scores, and the recurrence of {type(self).__name__} makes none: rotary, or "
                "positions added to the tokens, go with it"
            )
        super().set_position(lambda sizes: position, wanted)

    def packs(self) -> bool:
        return False

    def cost(self, length: int) -> Cost:
        """Count products inside of chunks and with the state."""
        size = min(length, CHUNK)
        d, e = self.head_dim, self.value_dim
        each = size * (d + e) + 2 * d * e
        return Cost(self.num_heads * length * each, self.num_heads * (length * size + -(-length // CHUNK) * d * e))

    def _steps(self, tokens: Tokens, context: Tokens | None, state: State | None) -> Steps:
        self._check_read(tokens_of(tokens), context, state)
        q, k, v = self.project(tokens, None)
        if self.position is not None:
            n, x = tokens.x.shape[1], tokens.x
            where = tokens.positions if state is None else state.placed(n, tokens.position, x.device)
            q, k = self.position.turn(where, q, k)
        steps = self.steps(tokens.x, *(upcast(x).transpose(1, 2) for x in (q, k, v)))
        valid = tokens.valid()
        return steps if valid is None else steps.masked(valid[:, None])

    def _check_read(self, tokens: Tokens, context: Tokens | None, state: State | None) -> None:
        kind = type(self).__name__
        if context is not None:
            raise ConfigError(f"{kind} reads its own past in order, so it cannot read another set of vectors")
        self.check_pattern(tokens.pattern)
        if isinstance(tokens.keys, Segments):
            raise InputError(f"{kind} keeps one state for each row: it does not read sets that are packed in one row")
        if state is not None and not isinstance(state, RecurrentState):
            raise InputError(f"a {type(state).__name__} given to {kind}, which keeps sums: see `state`")

    def check_pattern(self, pattern: Pattern | None) -> None:
        """Refuse what a sum over all that came before cannot leave out again.

        Raises:
            ConfigError: If the pattern leaves something out.
        """
        if pattern is not None and canonical(pattern & self.pattern) != Causal():
            raise ConfigError(
                f"{type(self).__name__} with {pattern!r}: its state sums up all tokens before, so it cannot choose "
                "which of them to read; full and causal go with it"
            )
