"""The layer for PyTorch Geometric: equal to its peers, a citizen of its library, and strict about what it is given."""

import copy
import gc
import pickle
import random
import subprocess
import sys
import weakref
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.core import ConfigError, Edges, InputError
from zoo.plugins.graph.structure import edge_rules
from zoo.plugins.graph.structure.edge_rules import EdgeRules

pyg = pytest.importorskip("torch_geometric.nn")
from zoo.plugins.graph.pyg.edge_attention_conv import EdgeAttentionConv  # noqa: E402
from zoo.plugins.graph.pyg.peers import from_pyg, to_pyg  # noqa: E402

pytestmark = pytest.mark.usefixtures("float64")
on_device = pytest.mark.usefixtures("on_device")

NODES = 7
INDEX = torch.tensor([[0, 1, 2, 2, 0, 4, 4, 1], [1, 0, 1, 2, 1, 4, 3, 0]])
"""With equal edges, self-loops, nodes that read nothing (5, 6) and such that nobody reads (3, 5, 6)."""
EMPTY = torch.empty(2, 0, dtype=torch.long)
SCORES = ("scaled_dot", "gat", "gatv2")
PEERS = {"scaled_dot": "TransformerConv", "gat": "GATConv", "gatv2": "GATv2Conv"}


def placed(x: Tensor) -> Tensor:
    """Move what was made on the CPU to the device of the test."""
    return x.to(torch.get_default_device())


def vectors(count: int = NODES, channels: int = 5, seed: int = 0) -> Tensor:
    return placed(torch.randn(count, channels, generator=torch.Generator().manual_seed(seed), device="cpu"))


def peer(score: str, channels: Any = 5, **options: Any) -> Any:
    torch.manual_seed(0)
    options = {name: placed(value) if isinstance(value, Tensor) else value for name, value in options.items()}
    conv = getattr(pyg, PEERS[score])(channels, 4, **options)
    with torch.no_grad():
        for parameter in conv.parameters():  # biases too
            parameter.copy_(torch.randn_like(parameter))
    return conv


def equal(theirs: Any, x: Any, *others: Any) -> None:
    """Compare answers, and gradients of vectors and features of edges, in float64; also of the way back to the peer."""
    theirs = theirs.double()
    ours = from_pyg(theirs)
    assert isinstance(ours, EdgeAttentionConv)
    results = []
    for conv in (theirs, ours, to_pyg(ours)):
        leaves: list[Tensor] = []

        def leaf(part: Any, leaves: list[Tensor] = leaves) -> Any:
            if not isinstance(part, Tensor):
                return part
            if not part.is_floating_point():
                return placed(part)
            leaves.append(placed(part).double().detach().clone().requires_grad_())
            return leaves[-1]

        y = conv(tuple(map(leaf, x)) if isinstance(x, tuple) else leaf(x), *map(leaf, others))
        loss = (y * torch.linspace(-1, 1, y.numel(), dtype=torch.float64).view_as(y)).sum()
        results.append([y, *torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)])
    for result in results[1:]:
        torch.testing.assert_close(result, results[0], atol=1e-9, rtol=1e-9)


@on_device
@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("concat", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("score", SCORES)
def test_equals_its_peer_with_equal_edges_self_loops_and_isolated_nodes(
    score: str, heads: int, concat: bool, bias: bool
) -> None:
    equal(peer(score, heads=heads, concat=concat, bias=bias), vectors(), INDEX)


@on_device
@pytest.mark.parametrize("score", SCORES)
def test_equals_its_peer_with_features_of_edges(score: str) -> None:
    equal(peer(score, heads=2, edge_dim=3), vectors(), INDEX, vectors(8, 3, 1))


FILLS = ("mean", "add", "min", "max", "mul", 0.5, None, torch.tensor(0.7), torch.tensor([[0.1, -2.0, 3.0]]))


@on_device
@pytest.mark.parametrize("fill", FILLS, ids=str)
@pytest.mark.parametrize("flow", ["source_to_target", "target_to_source"])
@pytest.mark.parametrize("score", ["gat", "gatv2"])
def test_added_loops_are_filled_as_the_peer_fills_them(score: str, flow: str, fill: Any) -> None:
    equal(peer(score, heads=2, edge_dim=3, fill_value=fill, flow=flow), vectors(), INDEX, vectors(8, 3, 1))


@on_device
@pytest.mark.parametrize("seed", range(40))
def test_equals_its_peer_in_any_combination_of_options_and_inputs(seed: int) -> None:
    pick, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    score, edge_dim = pick.choice(SCORES), pick.choice((None, 1, 3))
    targets = pick.choice((0, 1, 3, 7))
    sources = targets + pick.choice(
        (0, 0, 2)
    )  # with fewer sources the peer loses loops, and targets that read backward
    channels = pick.choice((5, (5, 5), (5, 2))) if sources == targets else (5, 2)
    half = score == "gat" and pick.random() < 0.3
    pair = half or channels == (5, 2) or pick.random() < 0.5
    options: dict[str, Any] = {"heads": pick.choice((1, 3)), "edge_dim": edge_dim, "concat": pick.random() < 0.5,
                               "bias": pick.random() < 0.5}  # fmt: skip
    if sources == targets:
        options["flow"] = pick.choice(("source_to_target", "target_to_source"))
    if score == "scaled_dot":
        options |= {"beta": pick.random() < 0.3, "root_weight": pick.random() < 0.7}
    else:
        fills = (*FILLS[:-1], torch.randn(edge_dim or 1, generator=generator, device="cpu"))
        options |= {"residual": pick.random() < 0.4, "add_self_loops": pick.random() < 0.6,
                    "fill_value": pick.choice(fills)}  # fmt: skip
    x = torch.randn(sources, 5, generator=generator, device="cpu")
    width = channels[1] if isinstance(channels, tuple) else 5
    other = None if half else torch.randn(targets, width, generator=generator, device="cpu")
    edges = pick.choice((0, 1, 4, 12)) if targets else 0
    drawn = [torch.randint(max(1, most), (edges,), generator=generator, device="cpu") for most in (sources, targets)]
    index = torch.stack(drawn)
    attr = () if edge_dim is None else (torch.randn(edges, edge_dim, generator=generator, device="cpu"),)
    sized: tuple[Any, ...] = (*(attr or (None,)), (sources, targets)) if score == "gat" else attr
    if half and sources == targets:
        sized = pick.choice((attr, sized))
    equal(peer(score, channels, **options), (x, other) if pair else x, index, *sized)


@on_device
def test_backward_between_nodes_of_two_kinds_there_is_a_row_for_each_that_reads() -> None:
    theirs = peer("gat", (5, 2), flow="target_to_source", add_self_loops=False)
    given = (vectors(), vectors(4, 2, 1)), torch.tensor([[1, 1, 0, 2], [0, 6, 3, 3]])
    y, others = from_pyg(theirs)(*given), theirs(*given)
    assert (len(y), len(others)) == (4, 7)  # the peer gives one for each that is read
    torch.testing.assert_close(y, others[:4])


@on_device
@pytest.mark.parametrize("score", ["gat", "gatv2"])
@pytest.mark.parametrize("options", [{"add_self_loops": False}, {"residual": True}, {"negative_slope": 0.6}])
def test_equals_its_peer_with_other_options(score: str, options: dict[str, Any]) -> None:
    equal(peer(score, heads=2, **options), vectors(), INDEX)


@on_device
@pytest.mark.parametrize("options", [{"beta": True}, {"beta": True, "concat": False}, {"root_weight": False}])
def test_equals_transformer_conv_with_other_roots(options: dict[str, Any]) -> None:
    equal(peer("scaled_dot", heads=2, **options), vectors(), INDEX)


@on_device
@pytest.mark.parametrize("score", SCORES)
def test_equals_its_peer_between_nodes_of_two_kinds(score: str) -> None:
    loops = {} if score == "scaled_dot" else {"add_self_loops": False}
    index = torch.tensor([[0, 6, 3, 3], [1, 1, 0, 2]])
    equal(peer(score, (5, 2), heads=2, **loops), (vectors(), vectors(4, 2, 1)), index)
    if score != "scaled_dot":  # loops are added to nodes that are both
        equal(peer(score, (5, 2), heads=2), (vectors(), vectors(4, 2, 1)), index)


@on_device
def test_equals_gat_conv_with_shared_projections_and_without_vectors_of_targets() -> None:
    index = torch.tensor([[0, 6, 3, 3], [1, 1, 0, 2]])
    equal(peer("gat", 5, heads=2, add_self_loops=False), (vectors(), vectors(4)), index)
    for options in ({"add_self_loops": False}, {}, {"residual": True}):
        equal(peer("gat", 5, heads=2, **options), (vectors(), None), index, None, (7, 4))
        equal(peer("gat", 5, heads=2, **options), (vectors(), None), index)  # as many targets as sources


@on_device
@pytest.mark.parametrize("score", SCORES)
def test_equals_its_peer_against_the_direction_of_edges(score: str) -> None:
    equal(peer(score, heads=2, flow="target_to_source", edge_dim=3), vectors(), INDEX, vectors(8, 3, 1))


@on_device
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(("nodes", "index"), [(3, EMPTY), (1, EMPTY), (0, EMPTY), (1, torch.tensor([[0], [0]]))])
def test_equals_its_peer_without_edges_with_one_node_and_with_none(score: str, nodes: int, index: Tensor) -> None:
    equal(peer(score, heads=2), vectors(nodes), index)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("edge_dim", [None, 3])
def test_back_to_the_peer_gives_the_same_weights(score: str, edge_dim: int | None) -> None:
    theirs = peer(score, heads=2, edge_dim=edge_dim)
    again = to_pyg(from_pyg(theirs))
    assert type(again) is type(theirs)
    torch.testing.assert_close(dict(again.state_dict()), dict(theirs.state_dict()))


def test_layers_that_ours_are_not_are_refused() -> None:
    for theirs, text in (
        (pyg.GCNConv(5, 4), "is no GATConv, GATv2Conv or TransformerConv"),
        (peer("gat", aggr="max"), "aggr='max' of GATConv"),
        (peer("gatv2", share_weights=True), "share_weights=True of GATv2Conv"),
        (peer("gat", edge_dim=3, fill_value=torch.ones(7, 3)), "all loops are filled alike"),
        (peer("gat", edge_dim=3, fill_value=torch.ones(3).requires_grad_()), "with fixed numbers"),
    ):
        with pytest.raises(ConfigError, match=text):
            from_pyg(theirs)


@pytest.mark.parametrize(
    ("ours", "text"),
    [
        ({"rules": EdgeRules("add")}, "has self_loops=keep"),
        ({"rules": EdgeRules(direction="both")}, "direction='both'"),
        ({"rules": EdgeRules(duplicates="once")}, "duplicates='once'"),
        ({"score": "gat", "root": "gate"}, "root='gate' of a layer of score 'gat'"),
    ],
)
def test_what_no_layer_of_pyg_does_is_refused_on_the_way_back(ours: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        to_pyg(EdgeAttentionConv(5, 4, **ours))


@pytest.mark.parametrize("score", SCORES)
def test_dropout_drops_weights_in_training_and_scales_the_others(score: str) -> None:
    conv = EdgeAttentionConv(5, 1, 64, score=score, dropout=0.5, root="none", bias=False, rules=EdgeRules())
    index = torch.tensor([[0], [1]])  # one weight, of 1
    x = vectors(2)
    (value,) = conv.eval()(x, index)[1:]
    torch.manual_seed(0)
    ratio = conv.train()(x, index)[1] / value
    assert set(ratio.round().tolist()) == {0.0, 2.0}


@pytest.mark.parametrize("score", SCORES)
def test_a_node_that_reads_nothing_gets_exactly_zero_with_gradient_zero(score: str) -> None:
    conv = EdgeAttentionConv(5, 4, 2, score=score, bias=False, root="none", rules=EdgeRules())
    x = vectors().requires_grad_()
    y = conv(x, INDEX)
    assert not y[5:].any()
    assert y[:3].any()
    assert not torch.autograd.grad(y.sum(), x)[0][5:].any()


@on_device
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("bipartite", [False, True])
@pytest.mark.parametrize("flow", ["source_to_target", "target_to_source"])
def test_weights_of_edges_are_given_as_the_peer_gives_them(score: str, bipartite: bool, flow: str) -> None:
    if bipartite and flow == "target_to_source":
        pytest.skip("the peer refuses it")
    loops = {} if score == "scaled_dot" else {"add_self_loops": False}
    theirs = peer(score, (5, 5) if bipartite else 5, heads=3, flow=flow, **loops)
    x, given = (vectors(), vectors(5)) if bipartite else vectors(), placed(INDEX)
    y, (index, weights) = from_pyg(theirs)(x, given, return_attention_weights=True)
    wanted, (their_index, their_weights) = theirs(x, given, return_attention_weights=True)
    torch.testing.assert_close((y, weights), (wanted, their_weights))
    assert torch.equal(index, their_index)


# Edges are sorted once


class Net(nn.Module):
    """Layers one behind the other."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, edge_index).relu()
        return x


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """Every edge index that is sorted."""
    seen: list[Tensor] = []

    class Counted(Edges):
        def __post_init__(self) -> None:
            seen.append(self.index)
            super().__post_init__()

    monkeypatch.setattr(edge_rules, "Edges", Counted)
    return seen


def test_all_layers_and_calls_share_one_sorted_graph(made: list[Tensor]) -> None:
    net, index = Net(*(EdgeAttentionConv(5, 5, score=score, rules=EdgeRules()) for score in SCORES)), INDEX.clone()
    net(vectors(), index)
    net(vectors(seed=1), index)
    assert len(made) == 1


def test_a_graph_that_is_written_to_is_sorted_again(made: list[Tensor]) -> None:
    conv, index = EdgeAttentionConv(5, 4), INDEX.clone()
    before = conv(vectors(), index)
    index[0, 0] = 6
    after = conv(vectors(), index)
    assert len(made) == 2
    assert not torch.equal(before, after)
    torch.testing.assert_close(after, conv(vectors(), index.clone()))


def test_a_graph_is_forgotten_with_its_tensor() -> None:
    conv, index = EdgeAttentionConv(5, 4), INDEX.clone()
    read = weakref.ref(conv.rules.read(index, NODES, NODES))
    conv(vectors(), index)
    assert read() is not None
    del index
    gc.collect()
    assert read() is None


def test_graphs_of_other_sizes_and_rules_are_others() -> None:
    index = torch.tensor([[0, 1], [1, 1]])
    one, other = EdgeAttentionConv(5, 4), EdgeAttentionConv(5, 4, rules=EdgeRules("remove"))
    other.load_state_dict(one.state_dict())
    assert not torch.allclose(one(vectors(2), index), other(vectors(2), index))
    assert len(one(vectors(3), index)) == 3


# A citizen of its library


def test_it_stands_in_a_sequential() -> None:
    torch.manual_seed(0)
    conv = EdgeAttentionConv(5, 4, 2, edge_dim=3)
    net = pyg.Sequential("x, index, attr", [(conv, "x, index, attr -> x"), nn.ReLU(), nn.Linear(8, 2)])
    x, attr = vectors(), vectors(8, 3)
    torch.testing.assert_close(net(x, INDEX, attr), net[2](conv(x, INDEX, attr).relu()))


def test_it_reads_what_a_loader_of_neighbours_gives() -> None:
    conv = EdgeAttentionConv(5, 4, 2)
    x = vectors()
    index = INDEX[:, INDEX[1] < 2]
    y = conv((x, x[:2]), index, size=(NODES, 2))
    torch.testing.assert_close(y, conv(x, INDEX)[:2])


METADATA = (
    ["author", "paper"],
    [("author", "writes", "paper"), ("paper", "by", "author"), ("paper", "cites", "paper")],
)


@pytest.mark.parametrize("score", SCORES)
def test_to_hetero_makes_a_layer_for_each_kind_of_edge(score: str) -> None:
    make = [EdgeAttentionConv((-1, -1), 4, score=score, rules=EdgeRules()) for _ in range(2)]
    net = pyg.to_hetero(Net(*make), METADATA)
    x = {"author": vectors(3), "paper": vectors(4, 2)}
    index = {
        METADATA[1][0]: torch.tensor([[0, 2], [1, 1]]),
        METADATA[1][1]: torch.tensor([[1, 3], [0, 2]]),
        METADATA[1][2]: torch.tensor([[1, 3], [0, 2]]),
    }
    y = net(x, index)
    assert {kind: tuple(each.shape) for kind, each in y.items()} == {"author": (3, 4), "paper": (4, 4)}
    first = net.layers[0]
    wanted = first["author__writes__paper"]((x["author"], x["paper"]), index[METADATA[1][0]])
    wanted = (wanted + first["paper__cites__paper"](x["paper"], index[METADATA[1][2]])).relu()
    hidden = {"paper": wanted, "author": first["paper__by__author"]((x["paper"], x["author"]), index[METADATA[1][1]])}
    second = net.layers[1]["paper__by__author"]((wanted, hidden["author"].relu()), index[METADATA[1][1]]).relu()
    torch.testing.assert_close(y["author"], second)


def test_to_hetero_refuses_self_loops_between_kinds() -> None:
    with pytest.raises(ValueError, match="add_self_loops"):
        pyg.to_hetero(Net(EdgeAttentionConv((-1, -1), 4, score="gat")), METADATA)


def test_a_hetero_conv_takes_it() -> None:
    convs = {kind: EdgeAttentionConv((-1, -1), 4) for kind in METADATA[1][:2]}
    x = {"author": vectors(3), "paper": vectors(4, 2)}
    index = {METADATA[1][0]: torch.tensor([[0, 2], [1, 1]]), METADATA[1][1]: torch.tensor([[1, 3], [0, 2]])}
    y = pyg.HeteroConv(convs)(x, index)
    kind = METADATA[1][0]
    torch.testing.assert_close(y["paper"], convs[kind]((x["author"], x["paper"]), index[kind]))


@on_device
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("edge_dim", [None, 3])
def test_an_explainer_s_mask_weighs_messages_as_in_the_peer(score: str, edge_dim: int | None) -> None:
    from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

    theirs = peer(score, heads=2, edge_dim=edge_dim)
    ours = from_pyg(theirs)
    attr = None if edge_dim is None else vectors(8, 3, 1)
    mask = torch.linspace(0, 1, 8)
    index = placed(INDEX)
    plain = ours(vectors(), index, attr)
    for sigmoid in (True, False):
        for conv in (ours, theirs):
            set_masks(conv, mask, index, apply_sigmoid=sigmoid)
        masked = ours(vectors(), index, attr)
        torch.testing.assert_close(masked, theirs(vectors(), index, attr))
        assert not torch.allclose(masked, plain)
    clear_masks(ours)
    torch.testing.assert_close(ours(vectors(), index, attr), plain)


def test_a_gnn_explainer_finds_the_edge_that_decides() -> None:
    from torch_geometric.explain import Explainer, GNNExplainer

    torch.manual_seed(0)
    conv = EdgeAttentionConv(2, 2, root="none", bias=False)
    with torch.no_grad():
        for layer in (conv.layer.score.query, conv.layer.score.key):
            layer.weight.zero_()
        conv.layer.score.value.weight.copy_(torch.eye(2))
    x = torch.tensor([[0.0, 0.0], [8.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    index = torch.tensor([[1, 2, 3, 0], [0, 0, 0, 2]])  # node 0 reads 1, which says something, and 2 and 3
    explainer = Explainer(
        conv,
        GNNExplainer(epochs=60, lr=0.1),
        explanation_type="model",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    )
    found = explainer(x, index, index=0).edge_mask
    assert found.argmax() == 0
    assert not found[3]  # it does not reach node 0


@pytest.mark.parametrize("score", SCORES)
def test_an_attention_explainer_sees_the_weights(score: str) -> None:
    from torch_geometric.explain import AttentionExplainer, Explainer

    conv = EdgeAttentionConv(5, 4, 2, score=score, rules=EdgeRules())
    config = {"mode": "regression", "task_level": "node", "return_type": "raw"}
    explainer = Explainer(conv, AttentionExplainer(), "model", edge_mask_type="object", model_config=config)
    weights = conv(vectors(), INDEX, return_attention_weights=True)[1][1]
    torch.testing.assert_close(explainer(vectors(), INDEX).edge_mask, weights.amax(1))


def test_hooks_on_messages_are_called() -> None:
    conv = EdgeAttentionConv(5, 4, 2)
    plain = conv(vectors(), INDEX)
    handle = conv.register_message_forward_hook(lambda module, inputs, message: message * 0)
    hooked = conv(vectors(), INDEX)
    handle.remove()
    assert conv.layer.skip is not None
    torch.testing.assert_close(hooked, conv.layer.skip(vectors()))
    torch.testing.assert_close(conv(vectors(), INDEX), plain)


def test_copies_and_pickles_answer_alike() -> None:
    conv = EdgeAttentionConv(5, 4, 2, score="gatv2")
    y = conv(vectors(), INDEX)
    torch.testing.assert_close(copy.deepcopy(conv)(vectors(), INDEX), y)
    torch.testing.assert_close(pickle.loads(pickle.dumps(conv))(vectors(), INDEX), y)


@pytest.mark.parametrize("score", SCORES)
def test_the_same_numbers_again_where_determinism_is_asked_for(score: str) -> None:
    generator = torch.Generator().manual_seed(0)
    index = torch.randint(50, (2, 2000), generator=generator)
    conv, x = EdgeAttentionConv(5, 4, 2, score=score, edge_dim=3), vectors(50).requires_grad_()
    attr = vectors(2000, 3)
    torch.use_deterministic_algorithms(True)
    try:
        runs = []
        for _ in range(2):
            y = conv(x, index.clone(), attr)
            runs.append([y, *torch.autograd.grad(y.square().sum(), [x, *conv.parameters()])])
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(one, other) for one, other in zip(*runs, strict=True))


# Bad input


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (torch.tensor([[0, 1], [1, 7]]), r"edge_index\[:, 1\] is \(1, 7\), and there are 7 nodes, 0 … 6"),
        (torch.tensor([[0, -1], [1, 2]]), r"edge_index\[:, 1\] is \(-1, 2\)"),
        (torch.tensor([[0.0, 1.0], [1.0, 0.0]]), r"edge_index is torch.float32, .*edge_index.long\(\)"),
        (INDEX.T.contiguous(), r"edge_index of shape \(8, 2\) is not \(2, edges\).*transpose it, edge_index.t\(\)"),
        (INDEX[0], r"edge_index of shape \(8,\) is not \(2, edges\)"),
        (torch.eye(7).to_sparse(), r"edge_index is a Tensor of layout torch.sparse_coo: give \(2, edges\)"),
    ],
)
def test_an_edge_index_that_is_none_is_refused(index: Tensor, text: str) -> None:
    with pytest.raises(InputError, match=text):
        EdgeAttentionConv(5, 4)(vectors(), index)


def test_an_edge_between_two_kinds_that_leads_nowhere_is_refused() -> None:
    conv = EdgeAttentionConv(5, 4)
    with pytest.raises(InputError, match=r"the target of edge_index\[:, 0\] is \(2,\), and there are 2 nodes"):
        conv((vectors(), vectors(2)), torch.tensor([[6], [2]]))
    with pytest.raises(InputError, match=r"the source of edge_index\[:, 0\] is \(7,\), and there are 7 nodes"):
        conv((vectors(), vectors(2)), torch.tensor([[7], [1]]))


def test_other_inputs_that_do_not_fit_are_refused() -> None:
    conv = EdgeAttentionConv(5, 4, edge_dim=3)
    plain = EdgeAttentionConv(5, 4)
    with pytest.raises(InputError, match=r"edge_attr of shape \(7, 3\) for 8 edges"):
        conv(vectors(), INDEX, vectors(7, 3))
    with pytest.raises(InputError, match=r"made with edge_dim=3, and edge_attr is of shape \(8, 2\)"):
        conv(vectors(), INDEX, vectors(8, 2))
    with pytest.raises(InputError, match="made with edge_dim=3, and no edge_attr is given"):
        conv(vectors(), INDEX)
    with pytest.raises(InputError, match=r"made with edge_dim=None, and edge_attr is of shape \(8, 1\)"):
        plain(vectors(), INDEX, torch.ones(8))
    with pytest.raises(InputError, match=r"edge_attr is torch.int64 and x is torch.float64: edge_attr.to"):
        conv(vectors(), INDEX, torch.ones(8, 3, dtype=torch.long))
    loops = EdgeAttentionConv(5, 4, score="gat", edge_dim=3)
    with pytest.raises(InputError, match=r"made with edge_dim=3, and edge_attr is of shape \(8, 2\)"):
        loops(vectors(), INDEX, vectors(8, 2))
    with pytest.raises(InputError, match=r"size=\(7, 3\) for 7 vectors that are read and 2 that read"):
        plain((vectors(), vectors(2)), EMPTY, size=(7, 3))
    with pytest.raises(InputError, match="targets without vectors: only score='gat'"):
        plain((vectors(), None), EMPTY)
    with pytest.raises(InputError, match="targets without vectors, and the layer gates by them"):
        EdgeAttentionConv(5, 4, score="gat", root="gate")((vectors(), None), EMPTY)
    with pytest.raises(InputError, match=r"fill=\(1.0, 2.0\) for edges of 3 features: give one number for each"):
        EdgeAttentionConv(5, 4, score="gat", edge_dim=3, rules=EdgeRules("replace", fill=(1.0, 2.0)))(
            vectors(), INDEX, vectors(8, 3)
        )
    with pytest.raises(InputError, match=r"x is torch.int64: vectors are numbers, x.float\(\)"):
        plain(vectors().long(), INDEX)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"score": "cosine"}, "score='cosine' is not one of scaled_dot, gat, gatv2"),
        ({"root": "keep"}, "root='keep' is not one of none, add, gate"),
        ({"heads": 0}, "heads=0, dim=4: both must be at least 1"),
        ({"dropout": 1.0}, r"dropout=1.0 is not in \[0, 1\)"),
    ],
)
def test_options_that_there_are_not_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        EdgeAttentionConv(5, 4, **options)


COMPILED = """
import torch
from zoo.plugins.graph.pyg.edge_attention_conv import EdgeAttentionConv

torch.set_default_dtype(torch.float64)
index = torch.tensor([[0, 1, 2, 2, 0, 4, 4, 1], [1, 0, 1, 2, 1, 4, 3, 0]])
for score in ("scaled_dot", "gat", "gatv2"):
    torch.manual_seed(0)
    conv, x, attr = EdgeAttentionConv(5, 4, 2, score=score, edge_dim=3), torch.randn(7, 5), torch.randn(8, 3)
    x.requires_grad_()
    results = []
    for each in (conv, torch.compile(conv, backend="aot_eager")):
        y = each(x, index, attr)
        results.append([y, *torch.autograd.grad(y.square().sum(), [x, *conv.parameters()])])
    torch.testing.assert_close(*results)
"""


@pytest.mark.slow
def test_compiled_it_gives_the_same() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", COMPILED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("score", SCORES)
def test_it_runs_in_half_precision_and_under_autocast(score: str) -> None:
    torch.manual_seed(0)
    conv, x, attr = (
        EdgeAttentionConv(5, 4, 2, score=score, edge_dim=3).float(),
        vectors().float(),
        vectors(8, 3).float(),
    )
    wanted = conv(x, INDEX, attr)
    with torch.autocast("cpu", torch.bfloat16):
        y = conv(x, INDEX, attr)
    torch.testing.assert_close(y.float(), wanted, atol=0.1, rtol=0.1)
    half = copy.deepcopy(conv).bfloat16()(x.bfloat16(), INDEX, attr.bfloat16())
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), wanted, atol=0.1, rtol=0.1)
