"""`content_digest`: what tells inputs of a model apart, by all that they hold."""

from hashlib import blake2b
from pickle import dumps
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves


def content_digest(inputs: Any) -> bytes:
    """Give 16 bytes that change with any tensor of some inputs, its type and shape included, or with anything else.

    Args:
        inputs: tensors and other values, in tuples, lists and dicts of any depth; what is no tensor is pickled.
    """
    digest = blake2b(digest_size=16)
    for leaf in tree_leaves(inputs):
        if isinstance(leaf, Tensor):
            digest.update(f"{leaf.dtype} {tuple(leaf.shape)}".encode())
            digest.update(leaf.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
        else:
            digest.update(dumps(leaf))
    return digest.digest()
