"""What the layouts of other libraries differ in from ours, whatever the model: projections apart, or joined."""

import re
from collections.abc import Mapping

import torch
from torch import Tensor


def join_qkv(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Join the projections of queries, keys and values, `.q.`, `.k.` and `.v.`, to `.qkv.` where they come apart."""
    together = dict(state)
    for key in state:
        parts = [re.sub(r"\.q\.(weight|bias)$", rf".{part}.\1", key) for part in "qkv"]
        if parts[0] != parts[1] and all(part in state for part in parts):
            together[re.sub(r"\.q\.(weight|bias)$", r".qkv.\1", key)] = torch.cat([together.pop(p) for p in parts])
    return together


def split_qkv(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Take the joined projections apart, which are of one size each."""
    apart: dict[str, Tensor] = {}
    for key, value in state.items():
        if ".qkv." in key:
            apart |= {key.replace(".qkv.", f".{part}."): x for part, x in zip("qkv", value.chunk(3), strict=True)}
        else:
            apart[key] = value
    return apart
