"""Decoding whose step is recorded once as a CUDA graph and replayed, against steps that are launched one by one."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from zoo.bench.gpu.models import pair
from zoo.bench.speed.case import Case, Job
from zoo.core.cache.decoder import DecoderState, LayerState
from zoo.core.cache.state import KeyValues, Read
from zoo.core.patterns.padding import Valid

NAME = "gpt2-small"
PROMPT, NEW = 16, 64
"""Tokens of the prompt, and tokens that are written behind it."""


class Preallocated(KeyValues):
    """Keep keys and values in tensors that neither move nor grow, at a length that is a number on the device.

    A step makes the same calls with the same addresses at each length, as a CUDA graph asks. All slots are read, and a
    mask leaves out those that are not written yet.

    Args:
        batch: rows.
        capacity: slots of a row.
        length: tokens of each row (b,), shared by all layers, set before a step.
    """

    def __init__(self, batch: int, capacity: int, length: Tensor) -> None:
        super().__init__(batch)
        self.capacity, self.next = capacity, length

    def append(self, k: Tensor, v: Tensor, valid: Tensor | None = None, position: Tensor | None = None) -> Read:
        assert isinstance(self.next, Tensor)
        self.last = where = self.placed(k.shape[1], position, k.device)
        for name, new in (("k", k), ("v", v)):
            if name not in self.tensors:
                self.tensors[name] = new.new_zeros(self.batch, self.capacity, *new.shape[2:])
            index = where[:, :, None, None].expand(self.batch, -1, *new.shape[2:])
            self.tensors[name].scatter_(1, index, new)
        written = torch.arange(self.capacity, device=k.device) <= where[:, -1:]
        return Read(self.tensors["k"], self.tensors["v"], Valid(written), None)

    def crop(self, length: int | Tensor) -> None:
        assert isinstance(self.next, Tensor)
        self.next.clamp_(max=length)


class Writer:
    """Write greedily with a state whose addresses stay.

    Args:
        model: a decoder alone.
        prompt: ids (b, n) on the model's device.
        new: tokens to write.
    """

    def __init__(self, model: Any, prompt: Tensor, new: int) -> None:
        self.model, self.prompt, self.new = model, prompt, new
        batch, n = prompt.shape
        self.length = torch.zeros(batch, dtype=torch.long, device=prompt.device)
        self.token = prompt[:, :1].clone()
        layers = [LayerState(Preallocated(batch, n + new, self.length)) for _ in model.decoder.blocks]
        self.state = DecoderState(layers)

    @torch.no_grad()
    def step(self) -> None:
        """Read the last token, and put the next one in its place."""
        scores = self.model.follow(self.token, self.state)
        self.length.add_(1)
        self.token.copy_(scores.argmax(-1, keepdim=True))

    def write(self, step: Callable[[], object]) -> Tensor:
        """Read the prompt and write behind it; give what was written (b, new), on the device."""
        with torch.no_grad():
            self.length.zero_()
            self.token.copy_(self.model.follow(self.prompt, self.state).argmax(-1, keepdim=True))
            self.length.add_(self.prompt.shape[1])
            written = [self.token.clone()]
            for _ in range(self.new - 1):
                step()
                written.append(self.token.clone())
        return torch.cat(written, 1)


def recorded(writer: Writer) -> Callable[[], object]:
    """Record a step as a CUDA graph and give what replays it; without a GPU, give the step itself."""
    writer.write(writer.step)
    if not writer.token.is_cuda:
        return writer.step
    writer.length.fill_(writer.prompt.shape[1])
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):  # what is made at first use is not recorded
        writer.step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    writer.length.fill_(writer.prompt.shape[1])
    with torch.cuda.graph(graph):
        writer.step()
    return graph.replay


def prompt_of(rows: int) -> Tensor:
    """Draw tokens on the default device."""
    ids = torch.randint(10, 50_000, (rows, PROMPT), generator=torch.Generator().manual_seed(0), device="cpu")
    return ids.to(torch.get_default_device())


def beside_steps(rows: int) -> tuple[Job, Job]:
    """Make the job that replays, and that of `generate`."""
    ours, _ = pair(NAME)
    ours.symbols = ours.symbols._replace(eos=-1)
    prompt = prompt_of(rows)
    writer = Writer(ours, prompt, NEW)
    return partial(writer.write, recorded(writer)), partial(ours.generate, prompt, max_len=NEW)


def beside_peer(rows: int) -> tuple[Job, Job]:
    """Make the job that replays, and that of the peer's `generate`."""
    ours, theirs = pair(NAME)
    prompt = prompt_of(rows)
    writer = Writer(ours, prompt, NEW)
    options = {"max_new_tokens": NEW, "min_new_tokens": NEW, "do_sample": False}
    return partial(writer.write, recorded(writer)), partial(
        theirs.net.generate, prompt, attention_mask=torch.ones_like(prompt), **options
    )


CASES = [
    Case(f"{NAME}, {NEW} tokens, batch {rows}, bf16, by CUDA graph", peer, target, partial(build, rows))
    for rows in (1, 8)
    for peer, target, build in (
        ("itself, step by step", 0.5, beside_steps),
        ("transformers generate", 0.3, beside_peer),
    )
]
