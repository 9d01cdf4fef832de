"""`graph-small` in training on molecules, beside the same model of PyTorch Geometric's TransformerConv layers."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import partial
from random import Random
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

import zoo
from zoo.bench.work import Job, Work
from zoo.core.attention import Attention
from zoo.core.tokens import Tokens

NAME, MOLECULES = "graph-small", 128
"""The model, and molecules of a batch."""
ATOMS, RINGS, RING = (10, 36), 3, 6
"""Atoms from … to, rings of a molecule, and atoms of a ring: 23 atoms and 50 edges, as ZINC's in arXiv:2003.00982."""
STEPS_BACK = (1, 1, 1, 1, 2, 3)
"""To which of the atoms before a new one is bound: chains, now and then a branch."""


def molecules(count: int, config: Mapping[str, Any]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draw graphs like molecules: x, edge_index with each bond in both directions, edge_attr and batch.

    Args:
        count: molecules.
        config: says which categories atoms and bonds have.
    """
    random, generator = Random(0), torch.Generator().manual_seed(0)
    ends: list[tuple[int, int]] = []
    batch: list[int] = []
    for molecule in range(count):
        atoms, first = random.randint(*ATOMS), len(batch)
        bonds = {(max(0, atom - random.choice(STEPS_BACK)), atom) for atom in range(1, atoms)}
        bonds |= {(atom, atom + RING - 1) for atom in random.sample(range(atoms - RING + 1), RINGS)}
        ends += [(first + a, first + b) for a, b in sorted(bonds)]
        batch += [molecule] * atoms
    index = torch.tensor(ends).T

    def categories(kinds: Sequence[int], rows: int) -> Tensor:
        return torch.stack([torch.randint(kind, (rows,), generator=generator) for kind in kinds], dim=1)

    x, bonds_attr = categories(config["node_features"], len(batch)), categories(config["edge_features"], len(ends))
    return x, torch.cat([index, index.flip(0)], dim=1), bonds_attr.repeat(2, 1), torch.tensor(batch)


class ByTransformerConv(nn.Module):
    """Compute what an attention on edges computes by TransformerConv, and project what it read.

    Args:
        layer: the attention, which adds vectors of edges to keys and values.
    """

    def __init__(self, layer: Attention) -> None:
        from torch_geometric.nn import TransformerConv

        super().__init__()
        position: Any = layer.position
        of_edges = position.features.weight  # (categories, channels)
        dim, heads = layer.qkv.in_features, layer.num_heads
        self.conv = TransformerConv(dim, layer.head_dim, heads, edge_dim=len(of_edges), root_weight=False)
        weights, biases = layer.qkv.weight.chunk(3), layer.qkv.bias.chunk(3)
        state = self.conv.state_dict() | {"lin_edge.weight": of_edges.T}
        for name, weight, bias in zip(("lin_query", "lin_key", "lin_value"), weights, biases, strict=True):
            state |= {f"{name}.weight": weight, f"{name}.bias": bias}
        self.conv.load_state_dict(state)
        self.out = deepcopy(layer.out)

    def forward(self, tokens: Tokens) -> Float[Tensor, "1 n d"]:
        """Let nodes read along the edges that their tokens carry."""
        graph: Any = tokens.pattern
        return self.out(self.conv(tokens.x[0], graph.index, graph.features))[None]


def pair() -> tuple[nn.Module, nn.Module]:
    """Make our model and the same one of TransformerConv layers; they share no weights, but have the same."""
    torch.manual_seed(0)
    ours: Any = zoo.create(NAME, num_classes=1)
    theirs = deepcopy(ours)
    for block in theirs.encoder.blocks:
        block.attention = ByTransformerConv(block.attention)
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
    batch = molecules(MOLECULES, zoo.info(NAME).config)
    target = torch.randn(MOLECULES, 1, generator=torch.Generator().manual_seed(0))
    made = [partial(train, model, torch.optim.AdamW(model.parameters(), 1e-4), batch, target, new) for model in pair()]
    return made[0], made[1]


WORKS = [
    Work(
        f"{NAME} training step, {MOLECULES} molecules a batch, {what}",
        "the same model of PyG TransformerConv",
        0.6,
        build=partial(jobs, new),
        repeats=3,
    )
    for what, new in (("batches read again", False), ("batches never seen", True))
]
