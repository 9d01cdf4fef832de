"""One graph whose nodes are trained, validated and tested by masks, as node classification in PyG gives it."""

import hashlib
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from zoo import DataError, ModelSpec
from zoo.core import IGNORED
from zoo.data import DatasetInfo, Pairs, described_item, fingerprint, for_training
from zoo.plugins.graph.data.corpus import GraphsCorpus, GraphTask
from zoo.plugins.graph.data.examples import Example
from zoo.plugins.graph.data.trained_labels import check_trained
from zoo.plugins.graph.structure.graph_inputs import read

MASKS = {"train": "train_mask", "validation": "val_mask", "test": "test_mask"}
"""Masks of nodes of PyG's `Data`, by part."""


def is_masked(item: Any) -> bool:
    """Tell whether an item is a graph with a mask of the nodes to train on."""
    return getattr(item, MASKS["train"], None) is not None and hasattr(item, "edge_index")


def open_masked_nodes(pairs: Pairs, spec: ModelSpec) -> GraphsCorpus:
    """Make a corpus of one graph, a `Data` with `y`, `train_mask`, `val_mask` and `test_mask`, all of its nodes (n).

    The whole graph is read in each part, as usual (transductive); only the nodes of the part have a target. A run is
    judged on those of `test_mask`.

    Args:
        pairs: with the graph, and nothing else.
        spec: of the model.

    Raises:
        DataError: If there are other graphs or parts, a mask lacks or does not fit, a part has no nodes, a node to
            train on is one to judge by, `y` is no class of a node in a mask, or a label is in no training example.
    """
    data = pairs.first()[0]
    every = [item for part in (pairs.parts if for_training() else ["train"]) for item in pairs.parts[part]]
    if len(every) > 1:  # where a run is judged, each part is all that was given
        raise DataError(
            f"{pairs.name}: train[0] has train_mask, which parts the nodes of one graph: give it alone, without "
            "others, validation= and test="
        )
    graph = read((data,))
    masks = {part: _mask(data, name, len(graph.x)) for part, name in MASKS.items()}
    if for_training():
        _check_apart(masks)
    target = _target(data, masks)
    found = {part: target[mask].unique().tolist() for part, mask in masks.items()}
    values = sorted(found["train"] if for_training() else {value for some in found.values() for value in some})
    labels = [*map(str, values)]
    if for_training() and len(labels) < 2:
        raise DataError(f"{pairs.name}: all nodes of train_mask are of class {labels[0]}: mark nodes of at least two")
    check_trained({part: [*map(str, some)] for part, some in found.items()} | {"train": labels}, pairs.name)
    classes = torch.searchsorted(torch.tensor(values), target)  # exact in the masks; other nodes are ignored below
    parts = {part: [Example(graph, classes.where(mask, IGNORED))] for part, mask in masks.items()}
    attr = graph.edge_attr
    widths = graph.x.shape[1], 0 if attr is None else attr.reshape(len(attr), -1).shape[1]
    counts = {part: int(mask.sum()) for part, mask in masks.items()}
    told = (
        f"`{pairs.name}` is one graph of {len(target):,} nodes, with the labels of {counts['train']:,} to train on, "
        f"{counts['validation']:,} to validate and {counts['test']:,} to test."
    )
    held = [each for each in (*graph, target, *masks.values()) if isinstance(each, Tensor)]
    about = DatasetInfo(pairs.name, told, fingerprint(map(_digest, held)))
    return GraphsCorpus(about, spec, GraphTask("tag", "class", labels, *widths), parts)


def _digest(tensor: Tensor) -> str:
    return hashlib.blake2b(tensor.detach().cpu().contiguous().numpy().tobytes(), digest_size=8).hexdigest()


def _mask(data: Any, name: str, nodes: int) -> Tensor:
    mask = getattr(data, name, None)
    if mask is None:
        raise DataError(
            f"train[0] has train_mask and no {name}: give train_mask, val_mask and test_mask, as "
            "torch_geometric.transforms.RandomNodeSplit makes them"
        )
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.shape != (nodes,):
        kind = f" of {mask.dtype}" if isinstance(mask, Tensor) else ""
        raise DataError(
            f"{name} is {described_item(mask)}{kind}: {nodes:,} truth values are wanted, one for each node; of several "
            f"splits take one, data.{name} = data.{name}[:, 0]"
        )
    if not mask.any():
        raise DataError(f"{name} has no node: mark at least one")
    return mask.cpu()


def _check_apart(masks: Mapping[str, Tensor]) -> None:
    """Check that no node to train on is one to judge by."""
    for part in ("validation", "test"):
        if both := int((masks["train"] & masks[part]).sum()):
            raise DataError(
                f"{both:,} node{' is' if both == 1 else 's are'} in {MASKS['train']} and {MASKS[part]}: a node that is "
                "trained on cannot judge the model"
            )


def _target(data: Any, masks: Mapping[str, Tensor]) -> Tensor:
    """Give the class of each node; of nodes in no mask whatever `y` has, such as -1."""
    nodes = len(masks["train"])
    target = getattr(data, "y", None)
    whole = isinstance(target, Tensor) and not target.is_floating_point() and not target.is_complex()
    if not isinstance(target, Tensor) or not whole or target.numel() != nodes:
        kind = f" of {target.dtype}" if isinstance(target, Tensor) else ""
        raise DataError(
            f"y is {described_item(target)}{kind}: a class, 0 or more, is wanted for each of {nodes:,} nodes"
        )
    target = target.reshape(-1).long().cpu()
    wrong = (torch.stack([*masks.values()]).any(0) & (target < 0)).nonzero()
    if len(wrong):
        node = int(wrong[0])
        names = " or ".join(name for part, name in MASKS.items() if masks[part][node])
        raise DataError(f"y of node {node} is {int(target[node])}: a class, 0 or more, is wanted of a node in {names}")
    return target
