"""The entries of `zoo.preprocess`, `zoo.postprocess` and `zoo.example`.

Nothing heavy is imported before a library that is missing was named.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zoo.plugins.graph.requirements import PYG
from zoo.registry import require

if TYPE_CHECKING:
    from zoo.plugins.graph.io.postprocess import Postprocess
    from zoo.plugins.graph.io.preprocess import Preprocess


def preprocess(config: Mapping[str, Any], train: bool) -> "Preprocess":
    """Make what turns graphs of PyTorch Geometric or networkx, tensors and SMILES into the tensors of one batch."""
    require("preprocessing graphs", (PYG,))
    from zoo.plugins.graph.io.preprocess import Preprocess

    return Preprocess(config)


def postprocess(config: Mapping[str, Any]) -> "Postprocess":
    """Make what turns a model's answer into labels or numbers, of graphs, nodes or links."""
    from zoo.plugins.graph.io.postprocess import Postprocess

    return Postprocess(config)


def example(config: Mapping[str, Any], batch_size: int, seed: int) -> tuple[Any, ...]:
    """Draw graphs of unequal size from a seed; see `zoo.plugins.graph.io.examples.example`."""
    from zoo.plugins.graph.io.examples import example

    return example(config, batch_size, seed)
