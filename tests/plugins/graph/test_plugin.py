"""The conformance kit over every model of graphs."""

from typing import Any

from zoo.plugins.graph import plugin as graph
from zoo.testing import PluginConformance

SMALL: dict[str, Any] = {
    "depth": 2,
    "dim": 16,
    "num_heads": 2,
    "mlp_dim": 24,
    "node_features": [5, 3],
    "edge_features": [3],
}
NUMBERS: dict[str, Any] = {**SMALL, "node_features": 3, "edge_features": 2}


class TestGraph(PluginConformance):
    plugin = graph
    small = {  # noqa: RUF012
        "graph-tiny": SMALL | {"num_classes": 5},
        "graph-small": NUMBERS | {"num_classes": 4, "task": "tag", "virtual_nodes": 1, "edges_as": "bias"},
        "graph-base": NUMBERS | {"task": "link", "edge_features": 0, "position": "degree"},
        "gcn-micro": {"depth": 2, "dim": 16, "node_features": [5, 3], "edge_features": [3], "num_classes": 3},
        "gps-micro": SMALL | {"num_classes": 2},
        "gps-small": SMALL | {"num_classes": 3, "wide": "linear"},
        "gat-cora": {},
        "gatv2-pubmed": {},
        "graph-transformer-conv": {},
    }
    budget = 0  # the other names differ in sizes only: they are built, and their parameters counted
