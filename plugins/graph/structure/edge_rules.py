"""`EdgeRules`: self-loops, direction and duplicate edges as explicit choices.

Axes: e edges as given, r edges that are read, n nodes, a features of an edge.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from zoo.core import ConfigError, Duplicates, Edges, InputError
from zoo.plugins.graph.structure.graph_inputs import check_ends
from zoo.plugins.graph.structure.tensor_cache import cached

SelfLoops = Literal["keep", "remove", "add", "replace"]
Direction = Literal["forward", "backward", "both"]
Fill = Literal["mean", "sum", "min", "max", "mul"]
REDUCTIONS = {"mean": "mean", "sum": "sum", "min": "amin", "max": "amax", "mul": "prod"}


@dataclass(frozen=True)
class EdgeRules:
    """Edge policy: self-loops, direction and duplicates of the edges that attention reads.

    Args:
        self_loops: `keep` those that are given; `remove` them; `add` one to each node that has none; or `replace` them
            by one for each node, as PyTorch Geometric's GATConv does. Where sources and targets differ, those nodes
            get one that are both.
        direction: a target reads its sources, `forward`; sources read targets, `backward`; or `both`, each the other,
            unless an edge back is there.
        duplicates: what two equal edges mean, see `zoo.core.Edges`; `each` counts, as in PyTorch Geometric.
        fill: features of added loops: a number for all, a tuple with a number for each feature, or the `mean`, `sum`,
            `min`, `max` or product (`mul`) of the features of the edges that otherwise lead to its node, as they were
            given; where there are none, 0, and 1 for the product.

    Raises:
        ConfigError: If a value is not one of those there are.
    """

    self_loops: SelfLoops = "keep"
    direction: Direction = "forward"
    duplicates: Duplicates = "each"
    fill: float | tuple[float, ...] | Fill = "mean"

    def __post_init__(self) -> None:
        for name, known in (("self_loops", SelfLoops), ("direction", Direction), ("duplicates", Duplicates)):
            if getattr(self, name) not in get_args(known):
                raise ConfigError(f"{name}={getattr(self, name)!r} is not one of {', '.join(get_args(known))}")
        if not isinstance(self.fill, int | float | tuple) and self.fill not in REDUCTIONS:
            raise ConfigError(
                f"fill={self.fill!r} is no number, no tuple of numbers, nor one of {', '.join(REDUCTIONS)}"
            )

    def read(self, edge_index: Int[Tensor, "2 e"], sources: int, targets: int) -> "ReadEdges":
        """Give the edges that are read, sorted once for each graph: they are kept as long as the tensor is.

        Args:
            edge_index: sources in row 0, targets in row 1.
            sources: nodes that are read.
            targets: nodes that read.

        Raises:
            InputError: If it is no integer (2, edges), or joins nodes that are not there.
        """
        return cached(edge_index, (self, sources, targets), lambda: self._read(edge_index.detach(), sources, targets))

    def _read(self, given: Tensor, sources: int, targets: int) -> "ReadEdges":
        if sources == targets:
            check_ends("edge_index", given, sources)
        elif self.direction == "both":
            raise InputError(f"direction='both' of {sources} sources and {targets} targets: they are the same nodes")
        else:
            forward = self.direction == "forward"
            check_ends("the source of edge_index", given[:1], sources if forward else targets)
            check_ends("the target of edge_index", given[1:], targets if forward else sources)
        index, places = self._directed(given.long(), max(sources, targets))
        loops = index[0] == index[1]
        both = torch.arange(min(sources, targets), device=index.device)
        added = both[:0]
        if self.self_loops == "add":
            added = both[~torch.isin(both, index[0, loops])]
        elif self.self_loops != "keep":
            index, places = index[:, ~loops], places[~loops]
            added = both if self.self_loops == "replace" else added
        whole = places.shape[0] == given.shape[1] == index.shape[1] and self.direction != "both"
        edges = Edges(torch.cat([index, added.expand(2, -1)], 1), self.duplicates)
        return ReadEdges(edges, None if whole else places, len(added), self.fill, int(self.direction != "backward"))

    def _directed(self, index: Tensor, nodes: int) -> tuple[Tensor, Tensor]:
        """Turn edges to whom reads whom, and say which of the given edges each is."""
        places, back = torch.arange(index.shape[1], device=index.device), index.flip(0)
        if self.direction == "both":
            new = ~torch.isin(back[0] * nodes + back[1], index[0] * nodes + index[1])
            return torch.cat([index, back[:, new]], 1), torch.cat([places, places[new]])
        return (index if self.direction == "forward" else back), places


@dataclass(frozen=True, eq=False)
class ReadEdges:
    """Hold the edges that are read.

    Args:
        edges: for the engine; added loops stand behind the others.
        places: which of the given edges each is, without the added loops; None if they are all, as given.
        loops: how many were added.
        fill: see `EdgeRules`.
        head: row of the edges in which stands what they lead to, as they were given.
    """

    edges: Edges
    places: Int[Tensor, " r"] | None
    loops: int
    fill: float | tuple[float, ...] | Fill
    head: int

    def of_given(self, x: Shaped[Tensor, "e ..."]) -> Shaped[Tensor, "r ..."]:
        """Give what belongs to the given edges for those that are read, without the added loops."""
        return x if self.places is None else x.index_select(0, self.places)

    def features(self, edge_attr: Float[Tensor, "e a"]) -> Float[Tensor, "r a"]:
        """Give the features of the edges that are read.

        Raises:
            InputError: If added loops are to have more or fewer features than the edges.
        """
        given = self.of_given(edge_attr)
        if not self.loops:
            return given
        target = self.edges.index[self.head]
        loops, others = target[len(given) :], target[: len(given)]
        if not isinstance(self.fill, str):
            fill = given.new_tensor(self.fill)
            if fill.numel() not in (1, given.shape[1]):
                raise InputError(f"fill={self.fill} for edges of {given.shape[1]} features: give one number for each")
            return torch.cat([given, fill.expand(self.loops, given.shape[1])])
        nodes = int(target.max()) + 1
        filled = given.new_full((nodes, given.shape[1]), float(self.fill == "mul")).scatter_reduce(
            0, others[:, None].expand_as(given), given, REDUCTIONS[self.fill], include_self=False
        )
        return torch.cat([given, filled.index_select(0, loops)])
