"""Text to speech: a decoder that generates frames, several at each step, and predicts the end.

Axes: b texts, c characters, s steps, r frames of a step, m bands, n frames.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, pad

from zoo.core import (
    IGNORED,
    Attention,
    Composition,
    ConfigError,
    Decoder,
    Encoder,
    InputError,
    Linear,
    Sinusoidal,
    SourceTarget,
    TokenEmbed,
    Tokens,
    check_tensor,
    configured,
    count_targets,
    evaluating,
    init_weights,
    relu,
)
from zoo.plugins.shared.audio.config import StackConfig

MEAN, DEVIATION = -7.0, 4.0
"""Of log-mel energies of speech, about: the model writes numbers around 0."""
STEP = 0.01
"""Seconds from frame to frame."""
ENDS = 5.0
"""Weight of a step that ends, arXiv:1809.08895 sec. 3.7: there is one for each text."""


class SpeechOutput(NamedTuple):
    """Frames that text to speech generated.

    Args:
        frames: log-mel energies as `LogMel` gives them; what lies behind the length of a text is no speech.
        lengths: frames of each text.
    """

    frames: Float[Tensor, "b n m"]
    lengths: Int[Tensor, " b"]


class FrameEmbed(nn.Module):
    """Give a vector for each step: two layers of the frames before it, with dropout, and its position.

    The bottleneck of arXiv:1703.10135 sec. 3.2: what it drops has to be heard from the text.

    Args:
        reduction: frames of a step.
        bands: numbers of a frame.
        dim: channels.
        dropout: probability in [0, 1), after each layer.
    """

    def __init__(self, reduction: int, bands: int, dim: int, dropout: float) -> None:
        super().__init__()
        self.spacing = (reduction * STEP, "s")
        """From step to step."""
        self.first = Linear(reduction * bands, dim)
        self.second = Linear(dim, dim)
        self.position = Sinusoidal(dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, before: Float[Tensor, "b s r m"], start: int = 0) -> Tokens:
        """Give the vectors.

        Args:
            before: frames of the step before each, 0 before the first.
            start: steps that were embedded earlier.
        """
        x = self.dropout(relu(self.first(before.flatten(2))))
        x = self.dropout(relu(self.second(x)))
        places = torch.arange(start, start + x.shape[1], device=x.device)
        return Tokens(x + self.position.at(places).to(x.dtype))


class FrameHead(nn.Module):
    """Give the frames of each step and, last, the score of the end.

    Args:
        dim: channels of the vectors.
        numbers: of the frames of a step.
    """

    def __init__(self, dim: int, numbers: int) -> None:
        super().__init__()
        self.dim = dim
        self.num_classes = numbers + 1
        self.linear = Linear(dim, numbers + 1)

    def forward(self, tokens: Tokens) -> Float[Tensor, "b s f"]:
        """Give the numbers."""
        return self.linear(tokens.x)

    def reset(self, num_classes: int) -> None:
        """Refuse to be a classifier.

        Raises:
            ConfigError: If it is asked for other numbers.
        """
        if num_classes != self.num_classes:
            raise ConfigError(f"num_classes={num_classes} of a model that writes {self.num_classes - 1} numbers a step")


@dataclass(frozen=True, kw_only=True)
class SynthesiserConfig(StackConfig):
    """Sizes and options of `Synthesiser`; `depth` is that of the encoder, and of the decoder.

    Args:
        vocab_size: characters, or other tokens, there are.
        bands: log-mel features of a frame.
        reduction: frames of a step.
        max_steps: the most steps of a text.
        before_dropout: probability in [0, 1), of the frames that a step is given.
    """

    dim: int = 128
    depth: int = 3
    mlp_dim: int = 512
    vocab_size: int = 260
    bands: int = 80
    reduction: int = 4
    max_steps: int = 500
    before_dropout: float = 0.5


class Synthesiser(Composition):
    """Text-to-speech Transformer: characters to log-mel frames, until its end probability says stop: arXiv:1809.08895.

    Inputs are ids, which of them are there, and the frames of all steps (b, s, r, m); a step is given the frames of the
    one before. We leave out the paper's convolutions before the text and behind the frames.

    Args:
        config: its fields are the keywords, see `StackConfig` and `SynthesiserConfig`.
    """

    @configured(SynthesiserConfig)
    def __init__(self, config: SynthesiserConfig) -> None:
        super().__init__()
        dim, dropout = config.dim, config.dropout
        shape = (dim, config.depth, config.num_heads, config.mlp_dim)
        self.stem: Any = TokenEmbed(config.vocab_size, dim, scaled=True, dropout=dropout)
        self.encoder: Any = Encoder(*shape, dropout=dropout)
        self.step = (config.reduction, config.bands)
        """Frames of a step, and numbers of a frame."""
        self.target = FrameEmbed(*self.step, dim, config.before_dropout)
        self.decoder = Decoder(*shape, cross=Attention, dropout=dropout)
        self.head = FrameHead(dim, config.reduction * config.bands)
        self.max_steps = config.max_steps
        init_weights(self)
        nn.init.normal_(self.stem.embed.weight, std=dim**-0.5)

    def behind(self, source: nn.Module) -> "Synthesiser":
        """See `Composition.behind`; it is this model itself, changed."""
        self.stem, self.encoder = source, nn.Identity()
        return self

    def split(self, inputs: tuple[Any, ...]) -> SourceTarget:
        """Split the inputs: the last are the frames.

        Raises:
            InputError: If the frames are not those of steps.
        """
        *text, frames = inputs or (None,)
        check_tensor(frames, "frames")
        if not text or frames.ndim != 4 or tuple(frames.shape[2:]) != self.step:
            raise InputError(
                f"{len(inputs)} inputs, the last of shape {tuple(frames.shape)}: give ids, which are there, and frames "
                f"(batch, steps, {self.step[0]}, {self.step[1]})"
            )
        return SourceTarget(tuple(text), (frames,))

    def input_names(self) -> list[str]:
        """See `Composition.input_names`; the frames are the last."""
        return [*super().input_names(), "frames"]

    def last_stack(self, *inputs: Any) -> tuple[Any, tuple[Any, ...]]:
        """Give the decoder; the vectors of the steps, each of the frames before it; and those of the text."""
        text, (frames,) = self.split(inputs)
        return self.decoder, (self.target(pad(frames[:, :-1], (0, 0, 0, 0, 1, 0))), self.encode(*text))

    def with_answer(self, *inputs: Any, max_len: int | None = None) -> tuple[Any, ...]:
        """See `Composition.with_answer`; the steps of the longest text."""
        frames = self.generate(*inputs, max_steps=max_len).frames
        return *inputs, ((frames - MEAN) / DEVIATION).unflatten(1, (-1, self.step[0]))

    def training_loss(
        self, inputs: tuple[Any, ...], target: Int[Tensor, "b s"], smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """Give the mean distance of the frames, and the cross-entropy of the end.

        Args:
            inputs: as for the model.
            target: 1 for the last step of each text, 0 before it, -100 behind it.
            smoothing: share of the right answer, ended or not, that is given to the other.
        """
        valid = target != IGNORED
        frames = inputs[-1].masked_fill(~valid[..., None, None], 0)  # NaN there would be NaN times 0 in the loss
        y = self(*inputs[:-1], frames).float()
        count = count_targets(target).clamp(min=1)
        far = (y[..., :-1] - frames.flatten(2).float()).abs().mean(-1)
        last = target.clamp(min=0).to(y.dtype)
        wanted = last * (1 - smoothing) + (1 - last) * smoothing
        ends = binary_cross_entropy_with_logits(y[..., -1], wanted, reduction="none") * (1 + (ENDS - 1) * last)
        return ((far + ends) * valid).sum() / count

    def generate(self, *text: Any, max_steps: int | None = None) -> SpeechOutput:
        """Speak texts, in evaluation mode and without gradients; each ends on its own.

        Args:
            text: ids of characters, and which of them are there, all if left out; or what else the source reads.
            max_steps: the most steps, at most as many as the model holds.

        Raises:
            ConfigError: If there can be no such number of steps.
        """
        most = self.max_steps if max_steps is None else max_steps
        if not 1 <= most <= self.max_steps:
            raise ConfigError(f"max_steps={most}: a number from 1 to {self.max_steps}, the model's own")
        with evaluating(self.modules()):
            steps, counts = self._write(self.encode(*text), most)
        frames = steps.flatten(1, 2) * DEVIATION + MEAN
        return SpeechOutput(frames, counts * self.step[0])

    def _write(self, context: Tokens, most: int) -> tuple[Float[Tensor, "b s r m"], Int[Tensor, " b"]]:
        b, device = len(context.x), context.x.device
        state = self.decoder.state(b)
        before = context.x.new_zeros(b, 1, *self.step)
        written = []
        counts = torch.zeros(b, dtype=torch.long, device=device)
        speaks = torch.ones(b, dtype=torch.bool, device=device)
        for step in range(most):
            y = self.head(self.decoder(self.target(before, step), None if step else context, state))
            before = y[..., :-1].unflatten(2, self.step)
            written.append(before)
            counts += speaks
            speaks = speaks & (y[:, 0, -1] <= 0)
            if not bool(speaks.any()):
                break
        return torch.cat(written, dim=1), counts


def steps_of(frames: Float[Tensor, "n m"], reduction: int) -> Float[Tensor, "s r m"]:
    """Give the frames of a sound as a model reads them: around 0, and several to a step; the last is filled up.

    Args:
        frames: log-mel energies as `LogMel` gives them.
        reduction: frames of a step.
    """
    missing = -len(frames) % reduction
    filled = torch.cat([frames, frames[-1:].expand(missing, -1)]) if missing else frames
    return ((filled - MEAN) / DEVIATION).unflatten(0, (-1, reduction))
