"""Names of the nodes of a graph, such as the elements of a molecule's atoms."""

from typing import Any


def names_of_nodes(preprocess: Any, raw: Any) -> list[str]:
    """Give the names of the nodes of a raw input by the preprocessing that read it; none where they have none."""
    return list(preprocess.names_of_nodes(raw)) if hasattr(preprocess, "names_of_nodes") else []
