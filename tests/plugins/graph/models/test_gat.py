"""Networks of attention on edges: counts of the papers, equal to networks of PyTorch Geometric's layers."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import zoo
from zoo.core import ConfigError, InputError
from zoo.core.models.model import Model
from zoo.plugins.graph.gat_sizes import GAT_MODELS
from zoo.plugins.graph.models.gat import gat

pyg = pytest.importorskip("torch_geometric.nn")
from zoo.plugins.graph.pyg.peers import peer  # noqa: E402

pytestmark = pytest.mark.usefixtures("float64")
on_device = pytest.mark.usefixtures("on_device")

INDEX = torch.tensor([[0, 1, 2, 2, 0, 4, 4], [1, 0, 1, 2, 1, 4, 3]])
NAMES = [spec.name for spec in GAT_MODELS]
SMALL: dict[str, Any] = {"node_features": 5, "num_classes": 3, "dim": 4, "num_heads": 2}


def vectors(count: int = 6, channels: int = 5) -> Tensor:
    drawn = torch.randn(count, channels, generator=torch.Generator().manual_seed(0), device="cpu")
    return drawn.to(torch.get_default_device())


def model(**options: Any) -> Any:
    torch.manual_seed(0)
    return gat(**{**SMALL, **options}).eval()


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("gat-cora", 92_373), ("gat-citeseer", 237_586), ("gat-pubmed", 33_779), ("gat-ppi", 1_850_917)],
)
def test_they_have_the_parameters_of_the_paper(name: str, parameters: int) -> None:
    made = zoo.create(name, device="meta")
    assert sum(p.numel() for p in made.parameters()) == parameters


@on_device
@pytest.mark.parametrize("name", NAMES)
def test_every_network_equals_its_peer(name: str) -> None:
    torch.manual_seed(0)
    ours: Any = zoo.create(name).eval()
    with torch.device("cpu"):  # its numbers are drawn there
        drawn = zoo.example(name, batch_size=2)
    inputs: list[Any] = [x if x is None else x.to(torch.get_default_device()) for x in drawn]
    y = ours(*inputs)
    assert y.shape == (len(drawn[0]), ours.num_classes)
    torch.testing.assert_close(peer(ours)(*inputs), y)


@on_device
@pytest.mark.parametrize("score", ["gat", "gatv2", "scaled_dot"])
@pytest.mark.parametrize("task", ["tag", "classify", "features"])
def test_networks_with_features_of_edges_equal_their_peers(score: str, task: str) -> None:
    options = {"edge_features": 2, "depth": 3, "norm": "layer", "out_heads": 2, "num_classes": 3 * (task != "features")}
    ours = model(score=score, task=task, self_loops="keep" if score == "scaled_dot" else "replace", **options)
    batch = torch.tensor([0, 0, 0, 1, 1, 1])
    index = torch.tensor([[0, 1, 2, 2, 5, 4], [1, 0, 1, 2, 3, 4]])
    inputs = (vectors(), index, vectors(6, 2), batch)
    torch.testing.assert_close(peer(ours)(*inputs), ours(*inputs))


class Citation(nn.Module):
    """GAT as a user of PyTorch Geometric writes it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = pyg.GATConv(5, 4, heads=2, dropout=0.6)
        self.conv2 = pyg.GATConv(8, 3, heads=1, concat=False, dropout=0.6)

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        return self.conv2(self.conv1(x, index).relu(), index)


@on_device
def test_weights_of_a_network_of_pyg_s_layers_are_recognised(tmp_path: Any) -> None:
    torch.manual_seed(0)
    theirs = Citation().eval()
    ours = zoo.create("gat-cora", weights=theirs.state_dict(), **SMALL, activation="relu").eval()
    index = INDEX.to(torch.get_default_device())
    torch.testing.assert_close(ours(vectors(), index), theirs(vectors(), index))


def test_weights_of_a_network_of_other_depth_are_refused() -> None:
    with pytest.raises(ConfigError, match="weights of 2 layers, conv1, conv2, for a model of 3"):
        zoo.create("gat-cora", weights=Citation().state_dict(), depth=3, **SMALL)


def test_graphs_of_a_batch_answer_as_alone() -> None:
    ours = model(task="classify")
    x, index = vectors(), torch.tensor([[0, 1, 4, 5], [1, 0, 3, 3]])
    together = ours(x, index, None, torch.tensor([0, 0, 0, 1, 1, 1]))
    torch.testing.assert_close(together[:1], ours(x[:3], index[:, :2]))
    torch.testing.assert_close(together[1:], ours(x[3:], index[:, 2:] - 3))


def test_maps_are_the_weights_of_each_layer() -> None:
    ours = model()
    maps = ours.attention_maps(vectors(), INDEX)
    assert [tuple(each.shape) for each in maps] == [(1, 2, 6, 6), (1, 1, 6, 6)]
    for each in maps:
        torch.testing.assert_close(each.sum(-1), torch.ones(each.shape[:3]))
    assert not maps[0][0, :, 5, :5].any()  # it reads itself only


def test_the_labels_can_be_others_or_none() -> None:
    ours = model()
    ours.reset_classifier(11)
    assert ours(vectors(), INDEX).shape == (6, 11)
    ours.reset_classifier(0)
    torch.testing.assert_close(ours(vectors(), INDEX), ours.forward_features(vectors(), INDEX)[0])


def test_dropout_acts_on_vectors_alone_where_weights_keep_theirs() -> None:
    ours = model(dropout=0.5).train()
    first = ours.encoder.blocks[0]
    first.attention.layer.dropout = 0.0
    seen: list[Tensor] = []
    first.attention.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].x))
    ours(vectors(), INDEX)
    assert set((seen[0][0] / vectors()).round().flatten().tolist()) == {0.0, 2.0}


def test_dropout_acts_on_vectors_and_weights_in_training_only() -> None:
    ours: Model = model(dropout=0.5)
    torch.testing.assert_close(ours(vectors(), INDEX), ours(vectors(), INDEX))
    ours.train()
    assert not torch.allclose(ours(vectors(), INDEX), ours(vectors(), INDEX))


def test_features_that_do_not_fit_are_refused() -> None:
    x = vectors()
    x[3, 1] = torch.nan
    with pytest.raises(InputError, match=r"x\[3, 1\] is nan"):
        model()(x, INDEX)
    with pytest.raises(InputError, match=r"x of shape \(6, 4\)"):
        model()(vectors(6, 4), INDEX)
    with pytest.raises(InputError, match=r"x is torch.float32, the model is torch.float64"):
        model()(vectors().float(), INDEX)
    with pytest.raises(InputError, match="no edge_attr for a model made with edge_features=2"):
        model(edge_features=2)(vectors(), INDEX)
    with pytest.raises(InputError, match="batch is not sorted"):
        model()(vectors(), INDEX, None, torch.tensor([0, 0, 1, 0, 0, 0]))


@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_graphs_without_edges_or_nodes_have_answers(nodes: int) -> None:
    gat, none = model(), torch.empty(2, 0, dtype=torch.long)
    y = gat(vectors(nodes), none)
    assert y.shape == (nodes, 3)
    alone = [gat(vectors(nodes)[n : n + 1], none) for n in range(nodes)]
    torch.testing.assert_close(y, torch.cat([y[:0], *alone]))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"depth": 1}, "depth=1: there are at least two layers"),
        ({"norm": "batch"}, "norm='batch' is not one of layer, none"),
        ({"activation": "tanh"}, "activation='tanh' is not one of elu, relu, none"),
        ({"task": "generate"}, "task='generate' is not one of"),
        ({"node_features": 0}, "node_features=0, edge_features=0: nodes have at least one"),
        ({"node_features": [3, 4]}, r"node_features=\[3, 4\], edge_features=0: these networks read numbers"),
    ],
)
def test_options_that_there_are_not_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        model(**options)
