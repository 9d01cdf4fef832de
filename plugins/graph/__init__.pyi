"""Public names for graphs: layers and weights of PyTorch Geometric, and large graphs."""

from zoo.plugins.graph.pyg.edge_attention_conv import EdgeAttentionConv as EdgeAttentionConv
from zoo.plugins.graph.pyg.peers import from_pyg as from_pyg, to_pyg as to_pyg
from zoo.plugins.graph.scale.blockwise_inference import in_blocks as in_blocks
from zoo.plugins.graph.scale.neighbor_sampling import neighbours as neighbours
from zoo.plugins.graph.structure.edge_rules import EdgeRules as EdgeRules
from zoo.plugins.graph.structure.node_reordering import local_order as local_order
