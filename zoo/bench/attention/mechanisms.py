"""The mechanisms that `zoo bench attention` compares: from their text to a model, all of about the same size."""

from bisect import bisect_left
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from zoo.core import Causal, Tokens
from zoo.errors import UnknownModelError
from zoo.factory.attention_argument import attention
from zoo.factory.create import create, info

FULL = "full"
DEFAULT = (
    FULL, "window:16", "linear", "performer:64", "nystrom:16", "reformer:8,1,8", "gla", "ssd", "delta", "lstm-micro",
)  # fmt: skip
"""Softmax, local, kernel, random features, low rank, hashing, and recurrences of the linear and the older kind."""
HOST = "bert-micro"
"""The encoder around an attention: width 64, two layers."""
POSITION = "sinusoidal"
"""Of every attention: the only encoding that goes with all of them and is defined at any length."""
SCALE = 2**-0.5
"""Deviation of the token embeddings: as large as sinusoids are. BERT's .02 would leave tokens in their shadow."""
BOUNDED = ("linformer", "synthesizer", "sinkhorn")
"""Mechanisms whose weights have a place for each token, so that they are made for a length."""
SIZES = range(4, 1025, 4)
"""Widths among which the one is searched that gives a model its number of parameters."""


class ShiftedStem(nn.Module):
    """Embed tokens, and add to each the one before it, weighted in each channel: a causal convolution of two tokens.

    Attention and linear recurrences alike recall a value by its key only once the value knows the key before it, which
    costs a layer and most of the training. So all of them have this part, as H3 (arXiv:2212.14052), Mamba and the delta
    rules have short convolutions. It can be learned away.

    Args:
        stem: gives the vectors.
        dim: channels.
        causal: whether no layer behind it may read what comes later.
    """

    def __init__(self, stem: nn.Module, dim: int, causal: bool) -> None:
        super().__init__()
        self.stem, self.causal = stem, causal
        self.shift = nn.Conv1d(dim, dim, 2, groups=dim)

    def forward(self, *inputs: Tensor) -> Tokens:
        """Give the vectors; padding stands behind the tokens, so that none of them reads it."""
        tokens: Tokens = self.stem(*inputs)
        tokens = tokens.with_x(tokens.x + self.shift(pad(tokens.x.mT, (1, 0))).mT)
        return replace(tokens, pattern=Causal()) if self.causal else tokens


def build(
    mechanism: str,
    *,
    vocab_size: int,
    num_classes: int,
    length: int,
    heads: int,
    task: str = "tag",
    depth: int = 2,
    causal: bool = False,
) -> nn.Module:
    """Make the model of a mechanism, of about as many parameters as with full attention.

    Where a mechanism draws more or fewer weights, the width of the MLPs makes up for it; that of all layers in a model
    that is named itself, such as `lstm-micro`.

    Args:
        mechanism: as `attention=` takes it, or the name of a model.
        vocab_size: tokens there are.
        num_classes: of a token, or of the sequence.
        length: of the longest sequence.
        heads: of an attention; a model that is named itself has its own.
        task: `tag` or `classify`.
        depth: layers of attention.
        causal: whether no attention may read what comes later; a model that is named itself reads as it does.

    Raises:
        ConfigError: If there is no such mechanism, or its arguments do not fit.
    """
    sizes: dict[str, Any] = {"vocab_size": vocab_size, "num_classes": num_classes, "task": task}
    shape = length, heads, depth
    width = _width(mechanism, vocab_size, num_classes, task, *shape)
    return _made(mechanism, sizes, *shape, width, causal=causal)


def parameters(model: nn.Module) -> int:
    """Count the parameters of a model."""
    return sum(parameter.numel() for parameter in model.parameters())


def check(mechanism: str) -> None:
    """Refuse what is neither an attention nor a model.

    Raises:
        ConfigError: If it is neither, or its arguments do not fit.
    """
    if not is_model(mechanism):
        attention(mechanism)


def is_model(mechanism: str) -> bool:
    """Tell whether a mechanism is a whole model rather than an attention."""
    try:
        info(mechanism)
    except UnknownModelError:
        return False
    return True


def _made(
    mechanism: str, sizes: dict[str, Any], length: int, heads: int, depth: int, width: int, *, causal: bool = False
) -> nn.Module:
    if is_model(mechanism):
        return create(mechanism, **sizes, dim=width)
    own: dict[str, Any] = {
        "attention": _of_length(mechanism, length),
        "num_heads": heads,
        "position": POSITION,
        "max_len": length,
        "dropout": 0.0,
    }
    model: Any = create(HOST, **sizes, **own, depth=depth, mlp_dim=width)
    embed = model.stem.tokens.embed
    nn.init.normal_(embed.weight, std=SCALE)
    model.stem = ShiftedStem(model.stem, embed.embedding_dim, causal)
    return model


def _of_length(mechanism: str, length: int) -> str:
    """Add the length to a mechanism that is made for one, where the user gave none."""
    name, _, arguments = mechanism.partition(":")
    return f"{mechanism},{length}" if name in BOUNDED and "," not in arguments else mechanism


@cache
def _width(mechanism: str, vocab_size: int, num_classes: int, task: str, length: int, heads: int, depth: int) -> int:
    """Find the width that comes nearest to the parameters of full attention; whatever is drawn is drawn apart."""
    sizes: dict[str, Any] = {"vocab_size": vocab_size, "num_classes": num_classes, "task": task}

    def count(width: int) -> int:
        return parameters(_made(mechanism, sizes, length, heads, depth, width))

    with torch.random.fork_rng(devices=[]):
        goal = parameters(_made(FULL, sizes, length, heads, depth, info(HOST).config["mlp_dim"]))
        above = bisect_left(SIZES, goal, hi=len(SIZES) - 1, key=count)
        return min(SIZES[max(0, above - 1) : above + 1], key=lambda width: abs(count(width) - goal))
