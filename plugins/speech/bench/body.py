"""The body of `conformer-small`, without its stem, beside torchaudio's Conformer of the same sizes.

torchaudio's knows no positions: without them both compute the same function; with its own, ours does more.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

import zoo
from zoo.bench import Case, Job
from zoo.core import Lengths, Tokens

NAME = "conformer-small"
KERNEL, ROWS, FRAMES = 31, 4, 400
"""Frames that a convolution reads, odd as torchaudio's are; sounds of a batch; frames of the longest."""
LENGTHS = (400, 300, 200, 100)
"""Frames of the sounds where they are unequal."""


def pair(position: str = "none") -> tuple[nn.Module, nn.Module]:
    """Make both, with weights of their own and without dropout, which the peer also has inside attention.

    Args:
        position: of ours.
    """
    from torchaudio.models import Conformer

    torch.manual_seed(0)
    model: Any = zoo.create(NAME, kernel_size=KERNEL, position=position, dropout=0.0)
    sizes = (model.spec.config[key] for key in ("dim", "num_heads", "mlp_dim", "depth"))
    return OwnEncoder(model.encoder), PeerEncoder(Conformer(*sizes, KERNEL))


class OwnEncoder(nn.Module):
    """Let our encoder take frames and lengths.

    Args:
        encoder: of a Conformer.
    """

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        """Give a vector for each frame."""
        return self.encoder(Tokens(x, keys=None if lengths is None else Lengths(lengths))).x


class PeerEncoder(nn.Module):
    """Let torchaudio's encoder give vectors alone.

    Args:
        encoder: `torchaudio.models.Conformer`, which always wants lengths.
    """

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        """Give a vector for each frame."""
        return self.encoder(x, torch.full((len(x),), x.shape[1]) if lengths is None else lengths)[0]


@torch.no_grad()
def run(model: nn.Module, x: Tensor, lengths: Tensor | None) -> None:
    """Read a batch."""
    model(x, lengths)


def train(model: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor, lengths: Tensor | None) -> None:
    """Take one step: forward, loss of the frames that are there, backward, AdamW; stems want a gradient too."""
    y = model(x.requires_grad_(), lengths)
    if lengths is not None:
        y = y[torch.arange(y.shape[1]) < lengths[:, None]]
    y.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    x.grad = None


def jobs(step: bool, unequal: bool, position: str = "none") -> tuple[Job, Job]:
    """Make our job and the peer's.

    Args:
        step: whether to train.
        unequal: whether the sounds are of many lengths.
        position: of ours.
    """
    x = torch.randn(ROWS, FRAMES, zoo.info(NAME).config["dim"], generator=torch.Generator().manual_seed(0))
    lengths = torch.tensor(LENGTHS) if unequal else None
    made: list[Job] = []
    for model in pair(position):
        model.train(step)
        if step:
            made.append(partial(train, model, torch.optim.AdamW(model.parameters(), 1e-4), x.clone(), lengths))
        else:
            made.append(partial(run, model, x, lengths))
    return made[0], made[1]


CASES = [
    Case(
        f"{NAME} body, kernel {KERNEL}, {ROWS} x {what}, {'training step' if step else 'forward'}, {how}",
        "torchaudio Conformer",
        target,
        build=partial(jobs, step, unequal, position),
    )
    for how, position in (("no positions", "none"), ("Transformer-XL positions", "transformer-xl"))
    for what, unequal, target in (
        (f"{FRAMES} frames", False, 0.85),
        (f"{min(LENGTHS)} to {max(LENGTHS)} frames", True, 0.7),
    )
    for step in (False, True)
]
