"""`graph-small` in training on molecules, beside the same model of PyTorch Geometric's TransformerConv layers."""

from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from random import Random
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import one_hot
from torch.utils.weak import WeakTensorKeyDictionary

import zoo
from zoo.bench import Case, Job
from zoo.core import Attention, Tokens
from zoo.data import open_corpus

NAME, DATA, MOLECULES = "graph-small", "molecules:logp", 128
"""The model, its data, and molecules of a batch."""
SPELLED: Any = WeakTensorKeyDictionary()
"""The peer's features of edges, spelled out once, as ours are looked through once."""


def molecules(count: int) -> tuple[Sequence[Tensor], Tensor]:
    """Give a batch of well-known molecules, drawn by lot: x, edge_index, edge_attr and batch; and their numbers.

    Args:
        count: molecules.
    """
    corpus: Any = open_corpus(DATA, zoo.info(NAME))
    batch = corpus.examples("train", Random(0).sample(range(len(corpus.parts["train"])), count), None)
    return batch.inputs, batch.target


class ByTransformerConv(nn.Module):
    """Compute what an attention on edges computes by TransformerConv, and project what it read.

    Args:
        layer: the attention, which adds vectors of edges to keys and values.
    """

    def __init__(self, layer: Attention) -> None:
        from torch_geometric.nn import TransformerConv

        super().__init__()
        position: Any = layer.position
        of_edges, self.kinds = position.features.weight, position.features.kinds  # (categories, channels)
        dim, heads = layer.qkv.in_features, layer.num_heads
        self.conv = TransformerConv(dim, layer.head_dim, heads, edge_dim=len(of_edges), root_weight=False)
        weights, biases = layer.qkv.weight.chunk(3), layer.qkv.bias.chunk(3)
        state = self.conv.state_dict() | {"lin_edge.weight": of_edges.T}
        for name, weight, bias in zip(("lin_query", "lin_key", "lin_value"), weights, biases, strict=True):
            state |= {f"{name}.weight": weight, f"{name}.bias": bias}
        self.conv.load_state_dict(state)
        self.out = plain(layer.out)

    def forward(self, x: Float[Tensor, "n d"], graph: Any) -> Float[Tensor, "n d"]:
        """Let nodes read along the edges of a graph with features."""
        if graph.features not in SPELLED:
            SPELLED[graph.features] = self._one_hot(graph.features)
        return self.out(self.conv(x, graph.index, SPELLED[graph.features]))

    def _one_hot(self, features: Int[Tensor, "e f"]) -> Float[Tensor, "e c"]:
        """Give a number for each category, 1 where it is there."""
        columns = [one_hot(column, kinds) for column, kinds in zip(features.T, self.kinds, strict=True)]
        return torch.cat(columns, dim=1).float()


def plain(layer: nn.Linear) -> nn.Linear:
    """Give PyTorch's own linear layer with the same weights."""
    made = nn.Linear(layer.in_features, layer.out_features)
    made.load_state_dict(layer.state_dict())
    return made


class PlainBlock(nn.Module):
    """Compute what a `PreNormBlock` computes by PyTorch Geometric's and PyTorch's own layers.

    Args:
        block: ours, whose weights are copied.
    """

    def __init__(self, block: Any) -> None:
        super().__init__()
        self.norm1, self.norm2 = deepcopy(block.norm1), deepcopy(block.norm2)
        self.attention = ByTransformerConv(block.attention)
        self.mlp = nn.Sequential(plain(block.mlp.up), nn.GELU(), plain(block.mlp.down))

    def forward(self, tokens: Tokens) -> Tokens:
        """Apply both branches to the vectors of all nodes."""
        x = tokens.x[0]
        x = x + self.attention(self.norm1(x), tokens.pattern)
        return tokens.with_x((x + self.mlp(self.norm2(x)))[None])


def pair() -> tuple[nn.Module, nn.Module]:
    """Make our model and the same one of TransformerConv layers; they share no weights, but have the same.

    Stem and head of the peer are ours, so that it looks up equal atoms once, too.
    """
    torch.manual_seed(0)
    ours: Any = zoo.create(NAME, num_classes=1)
    theirs = deepcopy(ours)
    theirs.encoder.blocks = nn.ModuleList(map(PlainBlock, theirs.encoder.blocks))
    return ours, theirs


def train(
    model: nn.Module, optimizer: torch.optim.Optimizer, batch: Sequence[Tensor], target: Tensor, new: bool
) -> None:
    """Take one step: forward, squared error of a number for each molecule, backward, AdamW.

    Args:
        model: with one answer.
        optimizer: of its weights.
        batch: x, edge_index, edge_attr and batch.
        target: the numbers.
        new: whether edges are never seen before, so that nothing that was worked out from them is there.
    """
    x, index, attr, graph = batch
    answer = model(x, index.clone() if new else index, attr, graph)
    (answer - target).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def jobs(new: bool) -> tuple[Job, Job]:
    """Make our job and the peer's; see `train`."""
    batch, target = molecules(MOLECULES)
    models = pair()
    steps = [torch.optim.AdamW(model.parameters(), 1e-4, fused=True) for model in models]  # as `zoo.train`
    made = [partial(train, model, step, batch, target, new) for model, step in zip(models, steps, strict=True)]
    return made[0], made[1]


CASES = [
    Case(
        f"{NAME} training step, {MOLECULES} molecules a batch, {what}",
        "the same model of PyG TransformerConv",
        0.75,
        build=partial(jobs, new),
        repeats=3,
    )
    for what, new in (("batches read again", False), ("batches never seen", True))
]
