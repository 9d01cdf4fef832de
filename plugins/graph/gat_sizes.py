"""Model names of GAT, GATv2 and the like: one table of sizes, with its source. Nothing heavy is imported."""

from zoo import ModelSpec

# name: (channels of nodes, labels, heads of the last layer, parameters of GAT, of GATv2); arXiv:1710.10903 sec. 3.3: 8
# heads of 8 channels, dropout 0.6
CITATIONS = {
    "cora": (1433, 7, 1, 92_373, 184_604),
    "citeseer": (3703, 6, 1, 237_586, 475_032),
    "pubmed": (500, 3, 8, 33_779, 67_403),
}
SCORES = {"gat": "arXiv:1710.10903", "gatv2": "arXiv:2105.14491"}
FILES = {
    "modality": "graph",
    "tasks": ("tag", "classify", "link", "features"),
    "task": "tag",
    "claims": ("permutation-equivariant",),
    "example": "zoo.plugins.graph.io.examples:example",
    "preprocess": "zoo.plugins.graph.io.preprocess:Preprocess",
    "postprocess": "zoo.plugins.graph.io.postprocess:Postprocess",
    "convert": "zoo.plugins.graph.pyg.convert:to_zoo",
    "classifier": ("head.classifier.",),
    "peer": "zoo.plugins.graph.pyg.peers:peer",
}


def _citation(score: str, data: str) -> ModelSpec:
    channels, classes, out_heads, *parameters = CITATIONS[data]
    config = {"node_features": channels, "edge_features": 0, "dim": 8, "depth": 2, "num_heads": 8,
              "out_heads": out_heads, "num_classes": classes, "score": score, "activation": "elu",
              "direction": "forward", "self_loops": "replace", "duplicates": "each", "dropout": 0.6}  # fmt: skip
    return ModelSpec(
        name=f"{score}-{data}",
        entry="zoo.plugins.graph.models.gat:gat",
        config=config,
        parameters=parameters[list(SCORES).index(score)],
        source=SCORES[score],
        description=f"The network of the paper for {data.capitalize()}.",
        **FILES,  # type: ignore[arg-type]
    )


GAT_MODELS = (
    *(_citation(score, data) for score in SCORES for data in CITATIONS),
    ModelSpec(
        name="gat-ppi",
        entry="zoo.plugins.graph.models.gat:gat",
        config={"node_features": 50, "edge_features": 0, "dim": 256, "depth": 3, "num_heads": 4, "out_heads": 6,
                "num_classes": 121, "target": "labels", "score": "gat", "skip": True, "activation": "elu",
                "direction": "forward", "self_loops": "replace", "duplicates": "each", "dropout": 0.0},
        parameters=1_850_917,
        source="arXiv:1710.10903 sec. 3.3",
        description="The network of the paper for proteins, any of whose labels may be right.",
        **FILES,  # type: ignore[arg-type]
    ),
    ModelSpec(
        name="graph-transformer-conv",
        entry="zoo.plugins.graph.models.gat:gat",
        config={"node_features": 128, "edge_features": 0, "dim": 64, "depth": 3, "num_heads": 2, "out_heads": 2,
                "num_classes": 40, "score": "scaled_dot", "root": "gate", "norm": "layer", "activation": "relu",
                "direction": "forward", "self_loops": "keep", "duplicates": "each", "dropout": 0.3},
        parameters=169_616,
        source="arXiv:2009.03509",
        description="Layers as PyTorch Geometric's TransformerConv, gated, for graphs like ogbn-arxiv.",
        **FILES,  # type: ignore[arg-type]
    ),
)  # fmt: skip
"""For the plugin's `zoo_models`."""
