"""Evaluation of models of graphs block by block of nodes."""

from typing import Any

import pytest
import torch
from torch import Tensor

import zoo
from zoo.bench.speed.memory import peak_bytes
from zoo.core import ConfigError, Window
from zoo.plugins.graph.scale.blockwise_inference import in_blocks

SIZES: dict[str, Any] = {"dim": 16, "depth": 2, "num_heads": 2, "mlp_dim": 32}


def graphs(nodes: int = 23, edges: int = 60) -> tuple[Tensor, Tensor, Tensor, None]:
    """Draw a graph with equal edges, self-loops, a hub, and a node that reads nothing."""
    generator = torch.Generator().manual_seed(0)
    index = torch.randint(nodes, (2, edges), generator=generator)
    index[1, ::4] = 3
    index[1, index[1] == nodes - 1] = 0
    return torch.randn(nodes, 5, generator=generator), index, torch.randn(edges, 2, generator=generator), None


MODELS: list[tuple[str, dict[str, Any]]] = [
    ("graph-tiny", {"task": "tag", "num_classes": 3, "position": "none", **SIZES}),
    ("graph-tiny", {"task": "classify", "num_classes": 3, "virtual_nodes": 2, "edges_as": "bias", **SIZES}),
    ("graph-tiny", {"task": "features", "direction": "both", "self_loops": "add", "global_nodes": [1], **SIZES}),
    ("gat-cora", {"num_classes": 3, "dim": 4, "num_heads": 2}),
    ("gatv2-cora", {"num_classes": 3, "dim": 4, "num_heads": 2}),
    ("graph-transformer-conv", {"num_classes": 3, "dim": 4}),
    ("gat-ppi", {"num_classes": 3, "dim": 4}),
]


@pytest.mark.parametrize("nodes", [1, 7, 100])
@pytest.mark.parametrize(("name", "options"), MODELS)
def test_the_answer_is_that_of_the_whole(name: str, options: dict[str, Any], nodes: int) -> None:
    torch.manual_seed(0)
    model = zoo.create(name, node_features=5, edge_features=2, **options).eval()
    given = graphs()
    with in_blocks(model, nodes):
        found = model(*given)
    torch.testing.assert_close(found, model(*given), atol=1e-5, rtol=0)
    assert not found.requires_grad


def test_packed_graphs_and_links_are_read_too() -> None:
    model = zoo.create("graph-tiny", node_features=3, edge_features=0, task="link", **SIZES).eval()
    given = zoo.example("graph-tiny", 3)
    batch = (torch.randn(len(given[0]), 3), given[1], None, given[3], torch.tensor([[0, 5], [1, 6]]))
    with in_blocks(model, 4):
        found = model(*batch)
    torch.testing.assert_close(found, model(*batch), atol=1e-5, rtol=0)


def test_edges_that_count_once_do_so_in_blocks() -> None:
    model = zoo.create("graph-tiny", node_features=5, edge_features=0, duplicates="once", task="tag", **SIZES).eval()
    x, index, *_ = graphs()
    index = torch.cat([index, index[:, :20]], 1)
    with in_blocks(model, 5):
        found = model(x, index)
    torch.testing.assert_close(found, model(x, index), atol=1e-5, rtol=0)


def test_memory_follows_the_block() -> None:
    model = zoo.create("graph-tiny", node_features=4, edge_features=0, position="none", task="tag", **SIZES).eval()
    nodes = 4000
    ring = torch.arange(nodes)
    x, index = torch.randn(nodes, 4), torch.stack([ring, ring.roll(1)])

    def peak(block: int) -> int:
        with in_blocks(model, block):
            model(x, index)  # what is worked out from the graph is kept
            return peak_bytes(lambda: model(x, index))

    vectors = 4 * nodes * 16
    with torch.no_grad():
        whole = peak_bytes(lambda: model(x, index))
    few, some = peak(100), peak(1000)
    assert few < 4.5 * vectors
    assert few < 0.5 * whole
    assert few + 0.5 * vectors < some < whole


@pytest.mark.parametrize(
    ("name", "options", "nodes", "told"),
    [
        ("gps-small", {"depth": 1}, 5, "a GpsBlock lets each node read its whole graph"),
        ("graph-tiny", {}, 0, "nodes=0: a block has at least one"),
    ],
)
def test_what_cannot_be_cut_is_told(name: str, options: dict[str, Any], nodes: int, told: str) -> None:
    model = zoo.create(name, node_features=5, edge_features=0, **options).eval()
    with pytest.raises(ConfigError, match=told), in_blocks(model, nodes):
        pass


def test_an_attention_that_reads_no_other_nodes_is_told() -> None:
    model = zoo.create("graph-tiny", node_features=5, edge_features=0, **SIZES).eval()
    model.encoder.blocks[1].attention = torch.nn.Identity()
    with pytest.raises(ConfigError, match="Identity knows no nodes that only read"), in_blocks(model):
        pass


def test_an_attention_that_counts_nodes_is_told() -> None:
    model = zoo.create("graph-tiny", node_features=5, edge_features=0, **SIZES).eval()
    model.encoder.blocks[1].attention.pattern = Window(2)
    with pytest.raises(ConfigError, match=r"Window\(.*\) counts the nodes of the whole graph"), in_blocks(model):
        pass


def test_no_nodes_have_no_answers_and_one_override_may_stand_in_another() -> None:
    model = zoo.create("gat-cora", node_features=5, num_classes=3).eval()
    with in_blocks(model, 4), in_blocks(model, 3):
        assert model(torch.zeros(0, 5), torch.zeros(2, 0, dtype=torch.long)).shape == (0, 3)
    assert not any("forward" in vars(part) for part in model.modules())


def test_training_is_refused_and_behind_the_block_the_model_is_whole() -> None:
    model = zoo.create("graph-tiny", node_features=5, edge_features=0, **SIZES)
    with pytest.raises(ConfigError, match=r"model\.eval"), in_blocks(model.train()):
        pass
    with in_blocks(model.eval()):
        assert "forward" in vars(model.encoder.blocks[0])
    assert not any("forward" in vars(block) for block in model.encoder.blocks)
    assert model(*graphs()[:2]).requires_grad


def test_a_model_without_graphs_is_refused() -> None:
    with (
        pytest.raises(ConfigError, match="Linear has no layer that reads along edges"),
        in_blocks(torch.nn.Linear(2, 2).eval()),
    ):
        pass
